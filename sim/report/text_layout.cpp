#include "report/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// Significant digits of predictions.
constexpr int prediction_digits = 3;

/// Puts commas into the whole part of a plain decimal number.
std::string separated(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  std::size_t end = std::min(digits.find('.'), digits.size());
  while (end > first + 3) {
    end -= 3;
    digits.insert(end, 1, ',');
  }
  return digits;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t end_of_word(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(" \n", at), text.size());
}

/// A number whose unit follows, also "(33.5", "+3.1" and "39.4-39.8".
bool is_number(std::string_view word) {
  return word.find_first_not_of("(+-<0123456789.,") == std::string_view::npos;
}

/// Length in bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    do ++at;
    while (at < text.size() && is_continuation(text[at]));
    --count;
  }
  return at;
}

}  // namespace

std::string rounded(double number) { return rounded_like(number, number); }

std::string rounded_like(double number, double largest) {
  if (!std::isfinite(number) || !std::isfinite(largest)) return fmt::format("{}", number);
  const std::string scientific = fmt::format("{:.{}e}", largest, prediction_digits - 1);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  const double value = std::strtod(fmt::format("{:.{}e}", number, prediction_digits - 1).c_str(), nullptr);
  return separated(
      fmt::format("{:.{}f}", value, largest == 0 ? 0 : std::max(0, prediction_digits - 1 - exponent)));
}

std::string with_sign(std::string number) {
  const bool is_zero = number.find_first_of("123456789") == std::string::npos;
  if (number.starts_with('-')) return is_zero ? number.substr(1) : number;
  return is_zero ? number : '+' + number;
}

std::string percent(double ratio) {
  if (std::abs(ratio) < 0.0005) return ratio > 0 ? "< 0.1 %" : "0.0 %";
  return fmt::format("{:.1f} %", 100 * ratio);
}

std::string signed_percent(double ratio) { return with_sign(fmt::format("{:.1f} %", 100 * ratio)); }

std::string count_text(double number) { return grouped(std::llround(number)); }

std::string percent_cell(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.1f}", 100 * *ratio) : std::string("-");
}

std::string signed_cell(std::optional<double> ratio) {
  return ratio ? fmt::format("{:+.1f}", 100 * *ratio) : std::string("-");
}

std::string takes_longer(Seconds time, Seconds than) {
  const double more = time / than - 1;
  return more < 0.0005 ? "takes as long" : fmt::format("takes {} longer", percent(more));
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string elide(std::string_view text, std::size_t width) {
  const std::size_t length = columns(text);
  if (length <= width) return std::string(text);
  const std::size_t tail = (width - 3) / 2;
  const std::size_t head = width - 3 - tail;
  return std::string(text.substr(0, bytes_of(text, head))) + "..." +
         std::string(text.substr(bytes_of(text, length - tail)));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \n", at)) != std::string_view::npos) {
    std::size_t end = end_of_word(text, at);
    // A number stays with its unit.
    if (is_number(text.substr(at, end - at)) && end < text.size()) end = end_of_word(text, end + 1);
    const std::string word = elide(text.substr(at, end - at), width);
    if (lines.empty() || columns(lines.back()) + 1 + columns(word) > width) {
      lines.push_back(word);
    } else {
      lines.back() += ' ' + word;
    }
    at = end;
  }
  return lines;
}

std::string hanging(std::string_view label, std::string_view text) {
  constexpr std::size_t width = 100;
  std::string lines;
  std::string before(label);
  for (const std::string& line : wrap(text, width - columns(label))) {
    lines += before + line + '\n';
    before.assign(columns(label), ' ');
  }
  return lines;
}

}  // namespace trainyard
