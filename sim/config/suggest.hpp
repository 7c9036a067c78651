#pragma once
// "did you mean": the name that a user probably meant.

#include <span>
#include <string>
#include <string_view>

namespace trainyard::config {

/// Edits that turn one word into the other: insert, delete, replace, swap two neighbours (optimal string
/// alignment), in bytes, ignoring case.
int edit_distance(std::string_view a, std::string_view b);

/// "did you mean 'bandwidth'?" if one of `names` is close to `word` (the first of the closest); otherwise
/// empty.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

/// did_you_mean, or all the names ("one of a, b, c") if there are at most twelve, otherwise empty.
std::string suggest(std::string_view word, std::span<const std::string_view> names);

}  // namespace trainyard::config
