#pragma once
// The shapes of the plan as numbers: the simulator's own, read by its own reader, with additional checks for
// GPUs.

#include "workload/shape.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::cuda {

/// "m128 n1000 k2048 nt", "b16 m128 n128 k64 nn". Nothing if the text has another form.
std::optional<GemmShape> parse_gemm_shape(std::string_view text);

/// "n128 c64 h56 w56 k256 r1x1 s1 p0x0", " g32" may follow. Nothing if the text has another form, the groups
/// do not divide the channels, or the window does not fit the padded image.
std::optional<ConvShape> parse_conv_shape(std::string_view text);

/// "e1048576" or "e1e+09": values, a whole number of at least 1. Nothing if the text has another form.
std::optional<std::int64_t> parse_elements(std::string_view text);

/// The variants "nchw c64", "forward w1024": a word, a letter and a number. Nothing if the text has another
/// form or another letter.
struct WordAndSize {
  std::string word;
  int size = 0;
};
std::optional<WordAndSize> parse_word_and_size(std::string_view text, char letter);

}  // namespace trainyard::cuda
