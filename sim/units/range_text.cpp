#include "units/range_text.hpp"

#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <tuple>

namespace trainyard {
namespace {

template <class Q>
std::optional<PlainValue> as_quantity(const std::string& text) {
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  return parsed ? std::optional(PlainValue{quantity_name<Q>(), parsed->si()}) : std::nullopt;
}

template <class... Q>
std::optional<PlainValue> as_one_of(const std::string& text) {
  std::optional<PlainValue> value;
  std::ignore = ((value = as_quantity<Q>(text), value.has_value()) || ...);
  return value;
}

}  // namespace

std::optional<PlainValue> plain_value(const std::string& text) {
  if (const Parsed<double> number = parse_number(text)) return PlainValue{{}, *number};
  return as_one_of<Seconds, Bytes, Bandwidth, Flops, FlopRate, Joules, Watts, Dollars>(text);
}

std::optional<RangeEnds> plain_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const std::string high(trimmed(std::string_view(text).substr(dots + 2)));
  const std::size_t unit = high.find_first_not_of("+-.0123456789");
  const RangeEnds ends{.low = std::string(trimmed(std::string_view(text).substr(0, dots))) +
                              (unit == std::string::npos ? std::string() : high.substr(unit)),
                       .high = high};
  const auto from = plain_value(ends.low), to = plain_value(ends.high);
  if (!from || !to || from->kind != to->kind || from->number >= to->number) return std::nullopt;
  return ends;
}

bool lies_in(const std::string& text, const RangeEnds& range) {
  const auto value = plain_value(text), low = plain_value(range.low), high = plain_value(range.high);
  return value && low && high && value->kind == low->kind && low->number <= value->number &&
         value->number <= high->number;
}

}  // namespace trainyard
