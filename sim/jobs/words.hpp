#pragma once
// Words of other tools and their values of a key, compared in small letters.

#include "units/letters.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::jobs {

struct Meaning {
  std::string_view word, value;
};

template <std::size_t N>
std::optional<std::string_view> meaning_of(const std::array<Meaning, N>& table, std::string_view word) {
  const std::string small = small_letters(word);
  for (const Meaning& meaning : table) {
    if (meaning.word == small) return meaning.value;
  }
  return std::nullopt;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace trainyard::jobs
