#pragma once
// Ranges of values as texts: "1..8", "8..64 step 8", "1..128 times 2", "100..400 Gbps times 2".

#include "units/range_text.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The values that a text represents: itself, or those of a range, each with the range's unit. A range goes
/// up, in steps of 1 by default, and ends at the last value that is not above its end. Throws InputError if
/// it looks like a range but is not, or has more than 100,000 values.
std::vector<std::string> values_of_range(const std::string& text);

/// The values of a list of texts, one after the other.
std::vector<std::string> with_ranges(const std::vector<std::string>& texts);

/// The ends of a range without steps, "1..8" or "25..100 Gbps"; nothing if the text is a value. Throws
/// InputError as values_of_range(), and if the range has steps or a single value.
std::optional<RangeEnds> ends_of_range(const std::string& text);

/// The parts of a list on the command line, "32,64" or "[a, b],c": cut at the commas outside brackets, braces
/// and quotes, without blanks around them. Throws InputError if a part is empty.
std::vector<std::string> split_list(std::string_view text);

}  // namespace trainyard
