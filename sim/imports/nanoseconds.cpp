#include "imports/nanoseconds.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace trainyard {
namespace {

constexpr double latest_ns = 4.6e18;

std::optional<std::int64_t> rounded_double(std::string_view text) {
  double us = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (problem != std::errc() || end != text.data() + text.size() || !(std::abs(us) < latest_ns / 1000))
    return std::nullopt;
  return std::llround(us * 1000);
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of_us(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const bool is_negative = text.starts_with('-');
  std::string_view digits = text.substr(is_negative ? 1 : 0);
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return std::nullopt;
  if (digits.find_first_of("eE") != std::string_view::npos) return rounded_double(text);
  const std::size_t point = digits.find('.');
  std::int64_t whole = 0;
  const std::string_view integer = digits.substr(0, point);
  const auto [end, problem] = std::from_chars(integer.data(), integer.data() + integer.size(), whole);
  if (problem != std::errc() || end != integer.data() + integer.size()) return std::nullopt;
  constexpr std::int64_t most_whole = 4'600'000'000'000'000;
  if (whole > most_whole) return std::nullopt;
  std::int64_t ns = whole * 1000;
  if (point != std::string_view::npos) {
    std::int64_t weight = 100;
    bool is_first_beyond = true;
    for (const char c : digits.substr(point + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
      if (weight > 0) {
        ns += (c - '0') * weight;
        weight /= 10;
      } else if (is_first_beyond) {
        is_first_beyond = false;
        if (c >= '5') ++ns;
      }
    }
  }
  return is_negative ? -ns : ns;
}

}  // namespace trainyard
