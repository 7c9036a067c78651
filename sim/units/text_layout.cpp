#include "units/text_layout.hpp"

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

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string whole_percent(double ratio) {
  const double percent = std::round(100 * ratio);
  return percent == 0 ? "0" : fmt::format("{:+.0f}", percent);
}

std::string percent_cell(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.1f}", 100 * *ratio) : std::string("-");
}

std::string signed_cell(std::optional<double> ratio) {
  if (!ratio) return "-";
  const std::string number = fmt::format("{:+.1f}", 100 * *ratio);
  // "+0.0" as before, never "-0.0"
  return number == "-0.0" ? "+0.0" : number;
}

std::string takes_longer(Seconds time, Seconds than) {
  const double more = time / than - 1;
  return more < 0.0005 ? "takes as long" : fmt::format("takes {} longer", percent(more));
}

}  // namespace trainyard
