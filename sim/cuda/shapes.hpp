#pragma once
// The shapes of the plan as numbers. The text is the one of the simulator's traces and kernel tables; this
// program reads it by itself because it must build where nothing of the simulator does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::cuda {

/// C[m x n] = A[m x k] B[k x n], row-major; `batch` such products, each right behind the one before.
struct GemmShape {
  int batch = 1;
  int m = 1;
  int n = 1;
  int k = 1;
  bool transpose_a = false;  ///< A is stored as [k x m]
  bool transpose_b = false;  ///< B is stored as [n x k]

  bool operator==(const GemmShape&) const = default;
};

struct ConvShape {
  int batch = 1;
  int in_channels = 1;
  int height = 1;
  int width = 1;
  int out_channels = 1;
  int kernel_h = 1;
  int kernel_w = 1;
  int stride = 1;
  int pad_h = 0;
  int pad_w = 0;
  int groups = 1;

  bool operator==(const ConvShape&) const = default;
};

/// Rows and columns of the output image: floor((size + 2 pad - kernel) / stride) + 1.
int out_height(const ConvShape& shape);
int out_width(const ConvShape& shape);

/// "m128 n1000 k2048 nt", "b16 m128 n128 k64 nn". Nothing if the text is no such shape.
std::optional<GemmShape> parse_gemm_shape(std::string_view text);

/// "n128 c64 h56 w56 k256 r1x1 s1 p0x0", " g32" may follow. Nothing if the text is no such shape, the groups
/// do not divide the channels, or the window does not fit the padded image.
std::optional<ConvShape> parse_conv_shape(std::string_view text);

/// "e1048576" or "e1e+09": values, a whole number of at least 1. Nothing if the text is no such shape.
std::optional<std::int64_t> parse_elements(std::string_view text);

/// The variants "nchw c64", "forward w1024": a word, a letter and a number. Nothing if the text has another
/// form or another letter.
struct WordAndSize {
  std::string word;
  int size = 0;
};
std::optional<WordAndSize> parse_word_and_size(std::string_view text, char letter);

}  // namespace trainyard::cuda
