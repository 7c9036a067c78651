#pragma once
// Numbers with their nouns, for messages.

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

/// "0 ranks", "1 rank", "2 ranks"; `noun` in the singular, one whose plural ends in s.
std::string plural(long long number, std::string_view noun);

/// A whole number with thousands separators: "25,557,032".
std::string grouped(std::int64_t number);

}  // namespace trainyard
