#include "units/text.hpp"

#include "units/control_characters.hpp"
#include "units/decimal.hpp"
#include "units/dimension.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace trainyard {

namespace {

template <class Q>
const Dimension& dimension_of();
// clang-format off
template <> const Dimension& dimension_of<Seconds>() { return time_dimension; }
template <> const Dimension& dimension_of<Bytes>() { return size_dimension; }
template <> const Dimension& dimension_of<Bandwidth>() { return bandwidth_dimension; }
template <> const Dimension& dimension_of<Flops>() { return flops_dimension; }
template <> const Dimension& dimension_of<FlopRate>() { return flop_rate_dimension; }
template <> const Dimension& dimension_of<Joules>() { return energy_dimension; }
template <> const Dimension& dimension_of<Watts>() { return power_dimension; }
template <> const Dimension& dimension_of<Dollars>() { return money_dimension; }
// clang-format on

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string with_article(const Dimension& dimension) {
  return std::string(dimension.article) + " " + std::string(dimension.name);
}

std::string example_hint(const Dimension& dimension) {
  return "for example " + std::string(dimension.example);
}

const Unit* find_unit(const Dimension& dimension, std::string_view text) {
  const auto unit = std::find_if(dimension.units.begin(), dimension.units.end(),
                                 [&](const Unit& candidate) { return candidate.text == text; });
  return unit == dimension.units.end() ? nullptr : &*unit;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

/// The units that differ from `text` only in capitals: "gb/s" may mean GB/s or Gb/s.
std::string spelling_hint(const Dimension& dimension, std::string_view number, std::string_view text) {
  std::string bits;
  std::string bytes;
  const bool has_ps = text == "GBps" || text == "MBps";
  const std::string wanted = lower(has_ps ? text.substr(0, 2) : text);
  for (const Unit& unit : dimension.units) {
    const std::string known = lower(unit.text);
    if (known != wanted && known != wanted + "/s") continue;  // "25Gb" too
    std::string& place = unit.twos == -3 ? bits : bytes;
    if (place.empty()) place = std::string(number) + " " + std::string(unit.text);
  }
  if (!bits.empty() && !bytes.empty()) return bytes + " (bytes) or " + bits + " (bits)?";
  if (!bits.empty() || !bytes.empty()) return "did you mean " + bits + bytes + "?";
  std::string known;
  for (const Unit& unit : dimension.shown) known += (known.empty() ? "" : ", ") + std::string(unit.text);
  return "units: " + known;
}

UnitError missing_unit(const Dimension& dimension, std::string_view number) {
  std::string hint;
  for (const char c : dimension.unit_hint) {
    if (c == '#') {
      hint += number;
    } else {
      hint += c;
    }
  }
  return {std::string(dimension.name) + " needs a unit", hint};
}

UnitError unknown_unit(const Dimension& dimension, std::string_view text, std::string_view number,
                       std::string_view unit) {
  for (const Dimension* other : all_dimensions()) {
    if (find_unit(*other, unit) == nullptr) continue;
    return {in_quotes(text) + " is " + with_article(*other) + ", not " + with_article(dimension),
            example_hint(dimension)};
  }
  return {"unknown unit " + in_quotes(unit), spelling_hint(dimension, number, unit)};
}

Parsed<double> parse(const Dimension& dimension, std::string_view raw) {
  const std::string_view text = trim(raw);
  const auto number = leading_decimal(text);
  const bool broken = number.has_value() && !number->rest.empty() &&
                      std::string_view("0123456789._,xXoO+-").find(number->rest[0]) != std::string_view::npos;
  if (!number.has_value() || broken) {
    // "1,000 GB/s": the error is in the number, before the first blank
    if (const auto mistake = number_mistake(text.substr(0, text.find(' ')))) return tl::unexpected(*mistake);
    return tl::unexpected(
        UnitError{in_quotes(text) + " is not " + with_article(dimension), example_hint(dimension)});
  }
  const std::string_view digits = text.substr(0, text.size() - number->rest.size());
  const std::string_view unit_text = trim(number->rest);
  if (unit_text.empty()) return tl::unexpected(missing_unit(dimension, digits));
  const Unit* unit = find_unit(dimension, unit_text);
  if (unit == nullptr) return tl::unexpected(unknown_unit(dimension, text, digits, unit_text));
  const auto scaled = to_double(number->decimal, unit->tens, text);
  if (!scaled) return scaled;
  const double value = std::ldexp(*scaled * unit->times, unit->twos);
  if (!std::isfinite(value))
    return tl::unexpected(UnitError{in_quotes(text) + " is too large for a number", ""});
  return value;
}

/// The largest of `units` not above a number with `point` digits before its decimal point.
const Unit& fitting_unit(std::span<const Unit> units, long point) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (unit.tens < point) best = &unit;
  }
  return *best;
}

const Unit& base_unit(const Dimension& dimension) {
  return *std::find_if(dimension.shown.begin(), dimension.shown.end(),
                       [](const Unit& unit) { return unit.tens == 0; });
}

std::string print(const Dimension& dimension, double value) {
  if (!std::isfinite(value)) return shortest(value) + " " + std::string(base_unit(dimension).text);
  const Decimal decimal = shortest_decimal(value);
  const Unit& unit =
      decimal.digits.empty() ? base_unit(dimension) : fitting_unit(dimension.shown, decimal.exponent);
  return to_text(decimal, unit.tens) + " " + std::string(unit.text);
}

/// `value` rounded to this number of significant digits.
double to_digits(double value, int digits) {
  std::array<char, 40> buffer{};
  const auto end =
      std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific, digits - 1).ptr;
  double rounded = 0;
  // Numbers that would exceed the largest one stay as they are.
  return std::from_chars(buffer.begin(), end, rounded).ec == std::errc() ? rounded : value;
}

/// Fills a decimal number with zeros to at least this number of decimals.
std::string with_decimals(std::string number, long decimals) {
  if (decimals <= 0 || number.find('e') != std::string::npos) return number;
  std::size_t point = number.find('.');
  if (point == std::string::npos) {
    point = number.size();
    number += '.';
  }
  const std::size_t wanted = point + 1 + static_cast<std::size_t>(decimals);
  if (number.size() < wanted) number.append(wanted - number.size(), '0');
  return number;
}

constexpr double long_from = 60;  // seconds
constexpr double very_long_from = 3600;

/// "2 h 05 min", "24 min 05 s", "40 s"; for at least ten seconds.
std::string in_minutes_or_hours(double seconds) {
  const bool is_hours = std::round(std::abs(seconds)) >= very_long_from;
  const std::int64_t units = std::llround(std::abs(seconds) / (is_hours ? 60 : 1));
  const std::string sign = seconds < 0 ? "-" : "";
  const std::string small_unit = is_hours ? " min" : " s";
  if (units < 60) return sign + std::to_string(units) + small_unit;
  std::string big = std::to_string(units / 60);
  for (std::size_t at = big.size(); at > 3; at -= 3) big.insert(at - 3, 1, ',');
  const std::string small = std::to_string(units % 60);
  return sign + big + (is_hours ? " h " : " min ") + (small.size() < 2 ? "0" : "") + small + small_unit;
}

bool is_long(const Dimension& dimension, double value) {
  constexpr double absurd = 1e12;
  return &dimension == &time_dimension && std::round(std::abs(value)) >= long_from &&
         std::abs(value) < absurd;
}

/// With at most `digits` significant digits; with all of them if `has_zeros`.
std::string print_rounded(const Dimension& dimension, double value, int digits, bool has_zeros) {
  if (is_long(dimension, value)) return in_minutes_or_hours(value);
  if (!std::isfinite(value) || value == 0) return print(dimension, value);
  const Decimal decimal = shortest_decimal(to_digits(value, digits));
  const Unit& unit = fitting_unit(dimension.shown, decimal.exponent);
  const long decimals = has_zeros ? digits - (decimal.exponent - unit.tens) : 0;
  return with_decimals(to_text(decimal, unit.tens), decimals) + " " + std::string(unit.text);
}

/// With this number of decimals; never "-0.0".
std::string in_fixed(double value, int decimals) {
  const bool is_zero = std::abs(value) < 0.5 * std::pow(10.0, -decimals);
  std::array<char, 400> buffer{};
  const auto end =
      std::to_chars(buffer.begin(), buffer.end(), is_zero ? 0 : value, std::chars_format::fixed, decimals)
          .ptr;
  return {buffer.begin(), end};
}

/// A time in a column with minutes or hours. Below ten seconds whole seconds would have less than two digits.
std::string in_long_column(const Dimension& dimension, double value, double largest) {
  constexpr double rounding = 1e-9;  // smaller parts of the largest are errors of sums
  if (std::round(std::abs(value)) >= 10) return in_minutes_or_hours(value);
  return print_rounded(dimension, std::abs(value) < rounding * std::abs(largest) ? 0 : value, 3, true);
}

std::string print_like(const Dimension& dimension, double value, double largest) {
  if (is_long(dimension, largest)) return in_long_column(dimension, value, largest);
  if (!std::isfinite(value) || !std::isfinite(largest) || largest == 0)
    return print_rounded(dimension, value, 4, false);
  const Decimal decimal = shortest_decimal(to_digits(largest, 4));
  const Unit& unit = fitting_unit(dimension.shown, decimal.exponent);
  const int decimals = static_cast<int>(std::clamp(4 - (decimal.exponent - unit.tens), 0L, 4L));
  return in_fixed(value * std::pow(10.0, -unit.tens), decimals) + " " + std::string(unit.text);
}

/// "16 GiB" for a whole number of the largest binary unit that gives one; empty if there is none.
std::string in_binary_units(double bytes) {
  constexpr std::array<std::pair<int, std::string_view>, 3> units{{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}}};
  for (const auto& [twos, name] : units) {
    const double count = std::ldexp(bytes, -twos);
    if (count >= 1 && count < 1e6 && count == std::floor(count))
      return shortest(count) + " " + std::string(name);
  }
  return {};
}

}  // namespace

double four_digits(double value) { return to_digits(value, 4); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };  // UTF-8
  std::size_t characters = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if (!continues(text[end]) && ++characters > longest) break;
  std::string shown = without_controls(text.substr(0, end));
  std::ranges::replace_if(
      shown, [](char c) { return c == '\n' || c == '\t'; }, '?');
  return "'" + shown + (end < text.size() ? "...'" : "'");
}

template <class Q>
Parsed<Q> parse_quantity(std::string_view text) {
  return parse(dimension_of<Q>(), text).map([](double value) { return Q(value); });
}

Parsed<SampleRate> parse_sample_rate(std::string_view text) {
  return parse(sample_rate_dimension, text).map([&](double rate) {
    return SampleRate{.per_second = rate, .is_of_tokens = trim(text).ends_with("tokens/s")};
  });
}

template <class Q>
std::string_view quantity_name() {
  return dimension_of<Q>().name;
}

template <class Q>
std::string_view quantity_example() {
  return dimension_of<Q>().example;
}

template <class Q>
std::string quantity_pattern() {
  std::string units;
  for (const Unit& unit : dimension_of<Q>().units) {
    if (!units.empty()) units += '|';
    units += unit.text;
  }
  return R"(^ *[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *()" + units + ") *$";
}

template <class Q>
std::string human(Q quantity) {
  return print_rounded(dimension_of<Q>(), quantity.si(), 4, false);
}

template <class Q>
std::string estimate(Q quantity) {
  return print_rounded(dimension_of<Q>(), quantity.si(), 3, true);
}

template <class Q>
std::string human_like(Q quantity, Q largest) {
  return print_like(dimension_of<Q>(), quantity.si(), largest.si());
}

template <class Q>
std::string exact(Q quantity) {
  std::string text = print(dimension_of<Q>(), quantity.si());
  if constexpr (std::is_same_v<Q, Bytes>) {
    std::string binary = in_binary_units(quantity.si());
    if (!binary.empty() && binary.size() < text.size()) return binary;
  }
  return text;
}

#define TRAINYARD_QUANTITY_TEXT(Q)                        \
  template Parsed<Q> parse_quantity<Q>(std::string_view); \
  template std::string_view quantity_name<Q>();           \
  template std::string_view quantity_example<Q>();        \
  template std::string quantity_pattern<Q>();             \
  template std::string human<Q>(Q);                       \
  template std::string estimate<Q>(Q);                    \
  template std::string human_like<Q>(Q, Q);               \
  template std::string exact<Q>(Q)

TRAINYARD_QUANTITY_TEXT(Seconds);
TRAINYARD_QUANTITY_TEXT(Bytes);
TRAINYARD_QUANTITY_TEXT(Bandwidth);
TRAINYARD_QUANTITY_TEXT(Flops);
TRAINYARD_QUANTITY_TEXT(FlopRate);
TRAINYARD_QUANTITY_TEXT(Joules);
TRAINYARD_QUANTITY_TEXT(Watts);
TRAINYARD_QUANTITY_TEXT(Dollars);

#undef TRAINYARD_QUANTITY_TEXT

std::string gpu_memory(Bytes bytes) {
  const double gigabytes = std::ldexp(bytes.si(), -30);
  if (gigabytes == std::round(gigabytes)) return shortest(gigabytes) + " GB";
  if (std::abs(gigabytes) < 1) return gpu_memory_in_column(bytes);
  const Decimal decimal = shortest_decimal(to_digits(gigabytes, 3));
  return with_decimals(to_text(decimal, 0), 3 - decimal.exponent) + " GB";
}

std::string gpu_memory_in_column(Bytes bytes) { return in_fixed(std::ldexp(bytes.si(), -30), 2) + " GB"; }

}  // namespace trainyard
