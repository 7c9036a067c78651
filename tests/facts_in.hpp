#pragma once
// The meaning of a message in a test: its names and numbers, not its words.

#include <algorithm>
#include <sstream>
#include <string>

/// Every blank-separated part with something besides letters and dashes in it.
inline std::string facts_in(const std::string& text) {
  constexpr const char* punctuation = ".,;:?!()";
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; };
  std::istringstream parts(text);
  std::string facts;
  for (std::string part; parts >> part;) {
    part.erase(0, part.find_first_not_of(punctuation));
    part.erase(part.find_last_not_of(punctuation) + 1);
    if (!std::ranges::all_of(part, is_letter)) facts += (facts.empty() ? "" : " ") + part;
  }
  return facts;
}
