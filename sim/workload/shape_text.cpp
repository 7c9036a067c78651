#include "workload/shape_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

/// Reads "n128 c64 ..." from left to right; `ok`: everything so far was as expected.
class Scanner {
public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::string_view before, int at_least) {
    skip(before);
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    // "+1" and "007" would not be written back in the same form
    ok_ = ok_ && error == std::errc() && value >= at_least && (value == 0 || rest_.front() != '0');
    if (ok_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  bool letter(char yes, char no) {
    const bool is_yes = !rest_.empty() && rest_.front() == yes;
    ok_ = ok_ && (is_yes || (!rest_.empty() && rest_.front() == no));
    if (ok_) rest_.remove_prefix(1);
    return is_yes;
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

/// Names and sizes in turn: {"n", 128}, {" c", 64} is "n128 c64". Only the standard library here: sim/cuda is
/// built where nothing else is installed.
std::string sizes(std::initializer_list<std::pair<const char*, int>> named) {
  std::string text;
  for (const auto& [name, size] : named) text.append(name).append(std::to_string(size));
  return text;
}

std::string text_of(const ConvShape& s) {
  const std::string text = sizes({{"n", s.batch},
                                  {" c", s.in_channels},
                                  {" h", s.height},
                                  {" w", s.width},
                                  {" k", s.out_channels},
                                  {" r", s.kernel_h},
                                  {"x", s.kernel_w},
                                  {" s", s.stride},
                                  {" p", s.pad_h},
                                  {"x", s.pad_w}});
  return s.groups == 1 ? text : text + sizes({{" g", s.groups}});
}

std::string text_of(const GemmShape& s) {
  std::string text = s.batch == 1 ? "" : sizes({{"b", s.batch}}) + ' ';
  text += sizes({{"m", s.m}, {" n", s.n}, {" k", s.k}}) + ' ';
  text += s.transpose_a ? 't' : 'n';
  text += s.transpose_b ? 't' : 'n';
  return text;
}

std::string text_of(const VectorShape& s) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), s.elements).ptr;
  const std::string values = "e" + std::string(digits.begin(), end);
  return s.row == 0 ? values : values + " w" + std::to_string(s.row);
}

std::string text_of(std::monostate) { return {}; }

std::optional<Shape> parse_conv(std::string_view text) {
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
  return scan.done() ? std::optional<Shape>(s) : std::nullopt;
}

std::optional<Shape> parse_gemm(std::string_view text) {
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
  s.transpose_a = scan.letter('t', 'n');
  s.transpose_b = scan.letter('t', 'n');
  return scan.done() ? std::optional<Shape>(s) : std::nullopt;
}

/// A positive number without sign and superfluous zeros in front; empty if `text` is anything else.
std::optional<double> positive(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  if (text.empty() || digits.find(text[0]) == std::string_view::npos) return std::nullopt;
  if (text.size() > 1 && text[0] == '0' && text[1] != '.') return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::optional<Shape> parse_vector(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::optional<double> elements = positive(text.substr(1, blank - 1));
  if (!elements) return std::nullopt;
  if (blank == text.size()) return VectorShape{*elements};
  Scanner scan(text.substr(blank));
  const int row = scan.number(" w", 1);
  return scan.done() ? std::optional<Shape>(VectorShape{*elements, row}) : std::nullopt;
}

}  // namespace

std::string to_string(const Shape& shape) {
  return std::visit([](const auto& s) { return text_of(s); }, shape);
}

std::optional<Shape> parse_shape(std::string_view text) {
  if (text.empty()) return Shape();
  switch (text.front()) {
    case 'n':
      return parse_conv(text);
    case 'b':
    case 'm':
      return parse_gemm(text);
    case 'e':
      return parse_vector(text);
    default:
      return std::nullopt;
  }
}

}  // namespace trainyard
