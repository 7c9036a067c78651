#include "units/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>

namespace trainyard {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// All exponents beyond this are out of range.
constexpr long exponent_limit = 1'000'000;

/// Removes "e-12" from the front; leaves `text` unchanged if there is no complete exponent ("5 EFLOP").
long take_exponent(std::string_view& text) {
  std::string_view after = text;
  if (after.empty() || (after[0] != 'e' && after[0] != 'E')) return 0;
  after.remove_prefix(1);
  const bool negative = !after.empty() && after[0] == '-';
  if (!after.empty() && (after[0] == '-' || after[0] == '+')) after.remove_prefix(1);
  const std::string_view digits = take_digits(after);
  if (digits.empty()) return 0;
  long value = 0;
  for (const char digit : digits) value = std::min(value * 10 + (digit - '0'), exponent_limit);
  text = after;
  return negative ? -value : value;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

}  // namespace

std::optional<LeadingDecimal> leading_decimal(std::string_view text) {
  Decimal decimal;
  decimal.negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (!text.empty() && text[0] == '.') {
    std::string_view after = text.substr(1);
    fraction = take_digits(after);
    if (whole.empty() && fraction.empty()) return std::nullopt;
    text = after;
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;
  decimal.exponent = static_cast<long>(whole.size()) + take_exponent(text);
  decimal.digits.append(whole).append(fraction);
  const std::size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.exponent -= static_cast<long>(zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return LeadingDecimal{std::move(decimal), text};
}

std::optional<UnitError> number_mistake(std::string_view text) {
  std::string_view body = text;
  if (!body.empty() && (body[0] == '-' || body[0] == '+')) body.remove_prefix(1);
  std::string_view word = body;
  if (!word.empty() && word[0] == '.') word.remove_prefix(1);
  for (const std::string_view name : {"inf", "nan", "infinity"}) {
    if (equal_ignoring_case(word, name)) return UnitError{in_quotes(text) + " is not a finite number", ""};
  }
  if (body.size() > 2 && body[0] == '0' &&
      std::string_view("xXoObB").find(body[1]) != std::string_view::npos) {
    return UnitError{in_quotes(text) + " is not a decimal number", "decimal digits only"};
  }
  if (body.size() > 1 && body[0] == '0' && is_digit(body[1])) {
    const std::size_t first = std::min(body.find_first_not_of('0'), body.size() - 1);
    return UnitError{in_quotes(text) + " starts with a zero",
                     "write " + std::string(body.substr(first)) + " (decimal; octal is not read)"};
  }
  if (body.empty() || !is_digit(body[0])) return std::nullopt;
  const std::size_t separator = body.find_first_not_of("0123456789");
  if (separator + 1 < body.size() && (body[separator] == '_' || body[separator] == ',') &&
      is_digit(body[separator + 1])) {
    // "1,000", "1_000"; "4,8" is a list.
    const std::size_t end = std::min(body.find_first_not_of("0123456789", separator + 1), body.size());
    if (body[separator] == ',' && end - separator != 4) {
      return UnitError{in_quotes(text) + " is not one number",
                       "one number, with a decimal point; 'trainyard sweep' takes lists of values"};
    }
    std::string without(text);
    std::erase_if(without, [](char c) { return c == '_' || c == ','; });
    return UnitError{in_quotes(text) + " has a digit separator",
                     "write " + without + " (a decimal fraction takes a point)"};
  }
  return std::nullopt;
}

Parsed<double> to_double(const Decimal& decimal, int shift, std::string_view text) {
  double value = 0;
  if (!decimal.digits.empty()) {
    const std::string normal = "0." + decimal.digits + "e" + std::to_string(decimal.exponent + shift);
    const auto [end, error] = std::from_chars(normal.data(), normal.data() + normal.size(), value);
    const bool out_of_range = error != std::errc{} || value == 0 || std::isinf(value);
    if (out_of_range && decimal.exponent + shift > 0) {
      return tl::unexpected(
          UnitError{in_quotes(text) + " is too large for a number", "at most 1.7e308 in base units"});
    }
    if (out_of_range)
      return tl::unexpected(UnitError{in_quotes(text) + " is too small to tell from 0", "write 0"});
  }
  return decimal.negative ? -value : value;
}

Decimal shortest_decimal(double number) {
  if (!std::isfinite(number)) throw std::invalid_argument("an infinite number has no decimals");
  // Scientific form is "-d.ddde-07": the digits and the exponent of the same shortest decimal.
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  return leading_decimal(std::string_view(buffer, static_cast<std::size_t>(end - buffer)))->decimal;
}

std::string to_text(const Decimal& decimal, int shift) {
  const std::string sign = decimal.negative ? "-" : "";
  if (decimal.digits.empty()) return sign + "0";
  const std::string& digits = decimal.digits;
  const long point = decimal.exponent - shift;  // digits before the decimal point
  const auto count = static_cast<long>(digits.size());
  if (point > 15 || point < -5) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    const long exponent = point - 1;
    return sign + digits[0] + fraction + (exponent < 0 ? "e-" : "e+") + std::to_string(std::abs(exponent));
  }
  if (point <= 0) return sign + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (point >= count) return sign + digits + std::string(static_cast<std::size_t>(point - count), '0');
  const auto split = static_cast<std::size_t>(point);
  return sign + digits.substr(0, split) + "." + digits.substr(split);
}

std::string shortest(double number) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  return {buffer, end};
}

std::string digits12(double number) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, 12).ptr;
  return {buffer, end};
}

Parsed<double> parse_number(std::string_view text) {
  const auto number = leading_decimal(text);
  if (number.has_value() && number->rest.empty()) return to_double(number->decimal, 0, text);
  if (const auto mistake = number_mistake(text)) return tl::unexpected(*mistake);
  const bool has_unit = number.has_value() && number->rest.size() < text.size();
  return tl::unexpected(
      UnitError{in_quotes(text) + " is not a number", has_unit ? "a plain number, without a unit" : ""});
}

Parsed<long long> parse_integer(std::string_view text) {
  const auto number = leading_decimal(text);
  if (!number.has_value() || !number->rest.empty()) {
    if (const auto mistake = number_mistake(text)) return tl::unexpected(*mistake);
    return tl::unexpected(UnitError{in_quotes(text) + " is not a whole number",
                                    number.has_value() ? "a plain number, without a unit" : ""});
  }
  const Decimal& decimal = number->decimal;
  if (decimal.digits.empty()) return 0LL;
  const auto count = static_cast<long>(decimal.digits.size());
  if (decimal.exponent < count)
    return tl::unexpected(UnitError{in_quotes(text) + " is not a whole number", ""});
  if (decimal.exponent > 19)
    return tl::unexpected(UnitError{in_quotes(text) + " is too large", "at most 9223372036854775807"});
  const std::string plain = (decimal.negative ? "-" : "") + decimal.digits +
                            std::string(static_cast<std::size_t>(decimal.exponent - count), '0');
  long long value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc{})
    return tl::unexpected(UnitError{in_quotes(text) + " is too large", "at most 9223372036854775807"});
  return value;
}

}  // namespace trainyard
