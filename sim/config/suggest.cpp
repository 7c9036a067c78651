#include "config/suggest.hpp"

#include "units/letters.hpp"

#include <algorithm>
#include <array>

namespace trainyard::config {

namespace {

/// Longer names (in bytes) cannot be meant; limits the work for hostile input.
constexpr std::size_t longest_name = 64;

char folded(char c) { return c == '-' ? '_' : small_letter(c); }

template <class Names>
std::string closest(std::string_view word, const Names& names) {
  std::string_view best;
  int best_distance = 0;
  for (const std::string_view name : names) {
    if (name.size() > longest_name) continue;
    const int distance = edit_distance(word, name);
    // A third of the letters may be wrong; one in a word of up to five letters.
    const int limit = std::max(1, static_cast<int>(std::min(word.size(), name.size())) / 3);
    if (distance <= limit && (best.empty() || distance < best_distance)) {
      best = name;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : "did you mean '" + std::string(best) + "'?";
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  if (std::max(a.size(), b.size()) > longest_name) return static_cast<int>(std::max(a.size(), b.size()));
  using Row = std::array<int, longest_name + 1>;
  Row before_last{};
  Row last{};
  Row current{};
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = current;
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1])) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
  }
  return current[b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  return closest(word, names);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  return closest(word, names);
}

std::string suggest(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t most_listed = 12;
  std::string close = closest(word, names);
  if (!close.empty() || names.empty() || names.size() > most_listed) return close;
  std::string list = names.size() == 1 ? "only " : "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) list.append(i == 0 ? "" : ", ").append(names[i]);
  return list;
}

}  // namespace trainyard::config
