#include "sweep/value_range.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"
#include "units/text_pattern.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

constexpr std::size_t most_values = 100'000;

constexpr const char* ranges_of_values = "1..8, 8..64 step 8, 1..128 times 2 or 100..400 Gbps times 2";
constexpr const char* ranges_of_ends = "1..8 or 25..100 Gbps";

[[noreturn]] void no_range(const std::string& text, std::string_view why, const char* hint) {
  throw InputError(fmt::format("{} is not a range: {}", in_quotes(text), why), hint);
}

double number_of(const std::string& text, const std::string& range, const char* hint) {
  const Parsed<double> number = parse_number(text);
  if (!number) no_range(range, number.error().message, hint);
  return *number;
}

struct Range {
  double from = 0, to = 0, by = 1;
  bool has_growth = false;  ///< states `by`
  bool multiplies = false;
  std::string unit;  ///< including the blank before it
};

/// The range that a text states; nothing if it has no "..": then it is a value.
std::optional<Range> range_of_text(const std::string& text, const char* hint) {
  // The library's matcher recurses for every letter: a longer text, which is not a range, would overflow the
  // stack.
  constexpr std::size_t longest = 200;
  if (text.size() > longest) return std::nullopt;
  static const TextPattern form(
      R"(\s*([-+.\deE]*?)\.\.([-+\d][-+.\deE]*)(\s*[^\s\d.][^\s]*)?(\s+(step|times)\s+(\S+))?\s*)");
  static const TextPattern number_first(R"(\s*[-+.\d][^/]*\.\..*)");
  if (!number_first.whole(text)) return std::nullopt;  // ../x, a name
  const std::optional<TextPattern::Match> parts = form.whole(text);
  if (!parts) no_range(text, "it needs two numbers", hint);
  constexpr std::size_t from = 1, to = 2, unit = 3, growth = 4, word = 5, by = 6;  // groups of `form`
  Range range;
  range.from = number_of(parts->at(from), text, hint);
  range.to = number_of(parts->at(to), text, hint);
  range.unit = parts->at(unit);
  range.has_growth = !parts->at(growth).empty();
  if (range.has_growth) {
    range.multiplies = parts->at(word) == "times";
    range.by = number_of(parts->at(by), text, hint);
  }
  return range;
}

void check(const Range& range, const std::string& text, const char* hint) {
  if (range.to < range.from) no_range(text, "it counts down", hint);
  if (range.multiplies && range.by <= 1) no_range(text, "times needs a factor above 1", hint);
  if (range.multiplies && range.from <= 0) no_range(text, "times needs a start above 0", hint);
  if (!range.multiplies && range.by <= 0) no_range(text, "step needs a number above 0", hint);
}

}  // namespace

std::vector<std::string> values_of_range(const std::string& text) {
  const std::optional<Range> range = range_of_text(text, ranges_of_values);
  if (!range) return {text};
  check(*range, text, ranges_of_values);
  // A tenth added ten times is a little more than one: the end is included within a billionth, of a step or
  // of itself.
  const double end = range->to + 1e-9 * (range->multiplies ? range->to : range->by);
  std::vector<std::string> values;
  double value = range->from;
  while (value <= end) {
    if (values.size() == most_values)
      no_range(text, fmt::format("it has more than {} values", most_values), ranges_of_values);
    values.push_back(digits12(std::min(value, range->to)) + range->unit);
    value =
        range->multiplies ? value * range->by : range->from + static_cast<double>(values.size()) * range->by;
  }
  return values;
}

std::optional<RangeEnds> ends_of_range(const std::string& text) {
  if (text.find("..") == std::string::npos) return std::nullopt;  // most texts: without the pattern
  const std::optional<Range> range = range_of_text(text, ranges_of_ends);
  if (!range) return std::nullopt;
  check(*range, text, ranges_of_ends);
  if (range->has_growth)
    throw InputError(fmt::format("{} has steps, but only the ends of this range count", in_quotes(text)),
                     fmt::format("{}..{}{}; 'trainyard sweep' simulates every step", digits12(range->from),
                                 digits12(range->to), range->unit));
  if (range->from == range->to) no_range(text, "its ends are equal", ranges_of_ends);
  return RangeEnds{digits12(range->from) + range->unit, digits12(range->to) + range->unit};
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char letter : text) {
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
    } else if (letter == '[' || letter == '{') {
      ++depth;
    } else if (letter == ']' || letter == '}') {
      --depth;
    } else if (letter == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += letter;
  }
  for (std::string& part : parts) {
    part = std::string(trimmed(part));
    if (part.empty()) throw InputError(fmt::format("{} has an empty value", in_quotes(text)), "32,64,128");
  }
  return parts;
}

std::vector<std::string> with_ranges(const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) {
    for (std::string& value : values_of_range(text)) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace trainyard
