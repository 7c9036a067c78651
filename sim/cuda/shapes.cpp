#include "shapes.hpp"

#include "csv_line.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace trainyard::cuda {
namespace {

/// Reads a text from left to right; `ok` tells whether everything so far was as expected.
class Scanner {
public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::string_view before, int at_least) {
    skip(before);
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    // "007" would be another text for the same shape, and rows are told apart by their text
    ok_ = ok_ && error == std::errc() && value >= at_least && (value == 0 || rest_.front() != '0');
    if (ok_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return ok_ ? value : at_least;
  }

  /// 't' is true, 'n' is false.
  bool transposed() {
    const bool is_t = rest_.starts_with('t');
    ok_ = ok_ && (is_t || rest_.starts_with('n'));
    if (ok_) rest_.remove_prefix(1);
    return is_t;
  }

  void skip(std::string_view expected) {
    ok_ = ok_ && rest_.starts_with(expected);
    if (ok_) rest_.remove_prefix(expected.size());
  }

  [[nodiscard]] bool at(std::string_view expected) const { return rest_.starts_with(expected); }
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

private:
  std::string_view rest_;
  bool ok_ = true;
};

int out_size(int size, int pad, int kernel, int stride) { return (size + 2 * pad - kernel) / stride + 1; }

bool possible(const ConvShape& s) {
  return s.in_channels % s.groups == 0 && s.out_channels % s.groups == 0 &&
         s.kernel_h <= s.height + 2 * s.pad_h && s.kernel_w <= s.width + 2 * s.pad_w;
}

}  // namespace

int out_height(const ConvShape& shape) {
  return out_size(shape.height, shape.pad_h, shape.kernel_h, shape.stride);
}

int out_width(const ConvShape& shape) {
  return out_size(shape.width, shape.pad_w, shape.kernel_w, shape.stride);
}

std::optional<GemmShape> parse_gemm_shape(std::string_view text) {
  Scanner scan(text);
  GemmShape s;
  if (scan.at("b")) {
    s.batch = scan.number("b", 2);
    scan.skip(" ");
  }
  s.m = scan.number("m", 1);
  s.n = scan.number(" n", 1);
  s.k = scan.number(" k", 1);
  scan.skip(" ");
  s.transpose_a = scan.transposed();
  s.transpose_b = scan.transposed();
  return scan.done() ? std::optional<GemmShape>(s) : std::nullopt;
}

std::optional<ConvShape> parse_conv_shape(std::string_view text) {
  Scanner scan(text);
  ConvShape s;
  s.batch = scan.number("n", 1);
  s.in_channels = scan.number(" c", 1);
  s.height = scan.number(" h", 1);
  s.width = scan.number(" w", 1);
  s.out_channels = scan.number(" k", 1);
  s.kernel_h = scan.number(" r", 1);
  s.kernel_w = scan.number("x", 1);
  s.stride = scan.number(" s", 1);
  s.pad_h = scan.number(" p", 0);
  s.pad_w = scan.number("x", 0);
  if (scan.at(" g")) s.groups = scan.number(" g", 2);
  return scan.done() && possible(s) ? std::optional<ConvShape>(s) : std::nullopt;
}

std::optional<std::int64_t> parse_elements(std::string_view text) {
  if (!text.starts_with('e')) return std::nullopt;
  // the simulator counts values in doubles and may write 1000000000 as 1e+09
  const auto value = parse_number(text.substr(1));
  if (!value || *value < 1 || *value > 0x1p53 || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<WordAndSize> parse_word_and_size(std::string_view text, char letter) {
  const std::size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  Scanner scan(text.substr(space + 1));
  const int size = scan.number(std::string_view(&letter, 1), 1);
  if (!scan.done()) return std::nullopt;
  return WordAndSize{std::string(text.substr(0, space)), size};
}

}  // namespace trainyard::cuda
