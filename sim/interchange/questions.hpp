#pragma once
// The questions of `trainyard init platform` on a terminal: each has a default, and its answer is that of an
// option.

#include "interchange/make_platform.hpp"
#include "interchange/platform_text.hpp"

#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

namespace trainyard {

/// The options about a GPU, and about one without a profile.
struct GpuAnswers {
  std::string profile;
  std::optional<Bytes> memory;
  std::optional<Bandwidth> bandwidth;
  std::optional<Watts> tdp;
  std::vector<std::pair<std::string, FlopRate>> peaks;
  std::string like;

  [[nodiscard]] bool is_data_sheet() const { return memory || !peaks.empty(); }
};

/// "fp32=82.6 TFLOP/s", or "165 TFLOP/s" for fp16 with sums in fp32. Throws InputError.
std::pair<std::string, FlopRate> peak_in(std::string_view text);

/// Asks for everything that `answers` and `gpu` lack. `is_profile`: whether a name is a GPU profile.
/// `has_layout`: a file describes the node, so only the GPU and the network are asked for. A wrong answer is
/// asked for again; the end of the input is an InputError.
void ask(std::istream& in, std::ostream& out, bool has_layout,
         const std::function<bool(const std::string&)>& is_profile, PlatformAnswers& answers,
         GpuAnswers& gpu);

}  // namespace trainyard
