#pragma once
// Conditions of a shell script whose values are known.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// The value of "[ ... ]", "[[ ... ]]" or "test ..." for words with values of variables put in; nothing if it
/// depends on a file, on a variable without a value, or has several parts. An argument of the script ($1) has
/// none: it is started without.
std::optional<bool> condition_value(const std::vector<std::string>& words);

/// Whether a pattern of `case`, without alternatives, fits a text; nothing if one of them is not known.
std::optional<bool> pattern_fits(std::string_view pattern, std::string_view text);

}  // namespace trainyard::jobs
