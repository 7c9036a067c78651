#pragma once
// Numbers with their nouns, for messages.

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

/// "0 ranks", "1 rank", "2000 ranks"; `noun` in the singular, one whose plural ends in s. For messages, where
/// numbers are as users write them; pages have count() of text_layout.hpp: "2,000 ranks".
std::string plural(long long number, std::string_view noun);

/// A whole number with thousands separators: "25,557,032".
std::string grouped(std::int64_t number);

}  // namespace trainyard
