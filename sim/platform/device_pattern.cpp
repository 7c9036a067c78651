#include "platform/device_pattern.hpp"

#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "platform/names.hpp"
#include "units/leading_number.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

constexpr std::string_view digits = "0123456789";

std::optional<int> number_in(std::string_view text, int largest) {
  const auto number = take_number(text);
  return number && text.empty() && *number <= largest ? number : std::nullopt;
}

/// "0-3" or "7"; empty for anything else, or a range that runs backwards.
std::optional<std::vector<int>> numbers_in(std::string_view part, int largest) {
  const std::size_t dash = part.find('-');
  const auto first = number_in(part.substr(0, dash), largest);
  const auto last = dash == std::string_view::npos ? first : number_in(part.substr(dash + 1), largest);
  if (!first || !last || *last < *first) return {};
  std::vector<int> numbers;
  for (int number = *first; number <= *last; ++number) numbers.push_back(number);
  return numbers;
}

PatternError not_a_pattern(std::string_view pattern) {
  return {in_quotes(pattern) + " is not a device or a list of devices",
          "gpu3, \"gpu[0-15]\" or \"gpu[0,2,8-15]\""};
}

std::string those_there_are(std::string_view kind, int count) {
  return count == 1 ? fmt::format("{}0 is the only one", kind)
                    : fmt::format("{0}0 to {0}{1}", kind, count - 1);
}

}  // namespace

std::optional<std::vector<int>> numbers_in_list(std::string_view list, int largest) {
  std::vector<int> numbers;
  while (true) {
    const std::size_t comma = list.find(',');
    const auto some = numbers_in(list.substr(0, comma), largest);
    if (!some || std::ssize(numbers) + std::ssize(*some) > largest + 1) return {};
    numbers.insert(numbers.end(), some->begin(), some->end());
    if (comma == std::string_view::npos) return numbers;
    list.remove_prefix(comma + 1);
  }
}

std::variant<DeviceList, PatternError> parse_devices(std::string_view pattern, const DeviceCounts& counts) {
  const std::size_t word_end = std::min(pattern.find_first_of(std::string(digits) + "["), pattern.size());
  const std::string_view word = pattern.substr(0, word_end);
  const std::string_view rest = pattern.substr(word_end);

  const auto& names = config::Names<DeviceKind>::table;
  const auto name = std::ranges::find(names, word, [](const auto& entry) { return entry.text; });
  if (name == names.end()) {
    constexpr auto words = config::texts_of<DeviceKind>();
    return PatternError{"unknown device " + in_quotes(pattern), config::suggest(word, words)};
  }

  DeviceList list{name->value, {}};
  const int count = counts[static_cast<std::size_t>(name->value)];
  if (rest.empty()) {
    if (count > 1) {
      return PatternError{fmt::format("{} is ambiguous: the node has {} of them", in_quotes(pattern), count),
                          fmt::format("{0}0 or \"{0}[0-{1}]\"", word, count - 1)};
    }
    list.numbers = {0};
  } else if (rest.front() == '[') {
    if (rest.size() < 3 || rest.back() != ']') return not_a_pattern(pattern);
    const auto numbers = numbers_in_list(rest.substr(1, rest.size() - 2));
    if (!numbers) return not_a_pattern(pattern);
    list.numbers = *numbers;
  } else {
    const auto number = number_in(rest, largest_device_number);
    if (!number) return not_a_pattern(pattern);
    list.numbers = {*number};
  }

  if (count == 0) {
    return PatternError{fmt::format("the node has no {}", word),
                        fmt::format("devices: {{{}: {{count: 1}}}}", word)};
  }
  const int largest = *std::ranges::max_element(list.numbers);
  if (count > 0 && largest >= count) {
    return PatternError{fmt::format("{}{} does not exist", word, largest), those_there_are(word, count)};
  }
  return list;
}

}  // namespace trainyard
