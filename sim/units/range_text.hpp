#pragma once
// Numbers and quantities of any kind as texts, and ranges of them: "5..20 GB/s".

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// A number without a unit, whose kind is empty, or a quantity in SI base units.
struct PlainValue {
  std::string_view kind;  ///< "bandwidth"
  double number = 0;
};

/// Reads either; nothing for any other text.
std::optional<PlainValue> plain_value(const std::string& text);

/// The ends of a range, each with the range's unit.
struct RangeEnds {
  std::string low, high;
};

/// Reads a range of two values of one kind, the lower one first, with the unit at the end: "5..20 GB/s".
/// Nothing for any other text.
std::optional<RangeEnds> plain_range(const std::string& text);

/// Whether a value is of the range's kind and not beyond its ends.
bool lies_in(const std::string& text, const RangeEnds& range);

}  // namespace trainyard
