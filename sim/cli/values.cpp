#include "cli/values.hpp"

#include "experiment/keys_meant.hpp"
#include "sweep/value_range.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace trainyard {

namespace {

[[noreturn]] void wrong(const std::string& option, const std::string& text, std::string_view expected) {
  throw CLI::ValidationError(option, fmt::format("'{}' is not {}", text, expected));
}

}  // namespace

int whole_number(const std::string& option, const std::string& text, int minimum, int maximum) {
  const Parsed<long long> number = parse_integer(text);
  if (!number) wrong(option, text, "a whole number");
  const auto refuse = [&](std::string_view side, int limit) {
    throw CLI::ValidationError(option, fmt::format("must be {} {}, not '{}'", side, limit, text));
  };
  if (*number < minimum) refuse("at least", minimum);
  if (*number > maximum) refuse("at most", maximum);
  return static_cast<int>(*number);
}

std::optional<double> positive_number(const std::string& option, const std::string& text, double most) {
  if (text.empty()) return std::nullopt;
  const Parsed<double> value = parse_number(text);
  if (!value) throw CLI::ValidationError(option, value.error().message);
  if (*value <= 0 || *value > most)
    throw CLI::ValidationError(option,
                               fmt::format("{} is not above 0 and at most {:.0f}", in_quotes(text), most));
  return *value;
}

double percentage(const std::string& option, const std::string& text) {
  const Parsed<double> percent = parse_number(text);
  if (!percent || *percent < 0) wrong(option, text, "a percentage");
  return *percent / 100;
}

Bytes nccl_size(const std::string& option, const std::string& text) {
  constexpr std::string_view expected = "a size like 8, 64K, 1M or 2G";
  constexpr std::string_view suffixes = "KMG";
  constexpr double largest = 1099511627776.0;  // 1 TiB: more than any GPU holds
  std::string digits = text;
  double unit = 1;
  const auto ends = [&](char letter) {
    return !digits.empty() && std::toupper(static_cast<unsigned char>(digits.back())) == letter;
  };
  // nccl-tests reads one letter after the number and passes over the rest: 1MB is 1M
  const bool has_byte = ends('B');
  if (has_byte) digits.pop_back();
  if (has_byte && ends('I')) digits.pop_back();
  if (!digits.empty()) {
    const auto suffix =
        suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back()))));
    if (suffix != std::string_view::npos) {
      unit = std::pow(1024.0, static_cast<double>(suffix + 1));
      digits.pop_back();
    }
  }
  while (digits.ends_with(' ')) digits.pop_back();
  const Parsed<long long> number = parse_integer(digits);
  if (!number) wrong(option, text, expected);
  const double size = static_cast<double>(*number) * unit;
  if (size < 4) wrong(option, text, "at least 4 bytes, one element");
  if (size > largest) wrong(option, text, "at most 1024G");
  return Bytes(size);
}

std::vector<std::pair<std::string, std::string>> name_values(const std::string& option,
                                                             const std::vector<std::string>& texts,
                                                             const std::string& form) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos) wrong(option, text, form);
    values.emplace_back(text.substr(0, sign), text.substr(sign + 1));
  }
  return values;
}

std::vector<std::pair<std::string, std::string>> overrides_of(const std::vector<std::string>& texts,
                                                              const std::string& option) {
  const auto given = name_values(option, texts, "KEY=VALUE");
  std::vector<std::pair<std::string, std::string>> overrides;
  std::vector<std::string> words;  // of each of them
  for (const auto& [word, value] : given) {
    std::string key = key_meant(word);
    bool is_given = false;
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      if (overrides[i].first != key) continue;
      is_given = overrides[i].second == value;
      if (!is_given && words[i] != word)
        throw CLI::ValidationError(option, fmt::format("{}={} and {}={} both set {}: give one of them",
                                                       words[i], overrides[i].second, word, value, key));
    }
    if (is_given) continue;
    overrides.emplace_back(std::move(key), value);
    words.push_back(word);
  }
  return overrides;
}

std::vector<std::pair<std::string, std::string>> single_values(
    std::vector<std::pair<std::string, std::string>> overrides) {
  for (const auto& [key, value] : overrides) {
    if (!ends_of_range(value)) continue;
    throw CLI::ValidationError(
        "--set",
        fmt::format("{}={} is a range: 'trainyard run' answers with the results at its ends, 'trainyard "
                    "sweep' with those of all values; give one value here",
                    key, value));
  }
  return overrides;
}

}  // namespace trainyard
