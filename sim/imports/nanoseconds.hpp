#pragma once
// Times in the text of a file.

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// Microseconds as JSON's number, or as text that is one, in whole nanoseconds, rounded to the nearest: a
/// double does not hold absolute times to the nanosecond. Nothing if it is no number or beyond +-2^62 ns.
std::optional<std::int64_t> nanoseconds_of_us(std::string_view text);

}  // namespace trainyard
