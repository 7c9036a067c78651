#pragma once
// The possible types of a field in a key table: a classification shared by reader, writer and schema.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainyard::config {

/// A mapping with keys chosen by the user, in the order written.
template <class T>
using Ordered = std::vector<std::pair<std::string, T>>;

/// Name and necessity of a key: a mapping is checked against these before its values are read.
struct KeyInfo {
  std::string_view name;
  bool is_required = false;
};

template <class T>
concept HasKeys = requires {
  Keys<T>::table();
};

template <class T>
concept HasShortForm = HasKeys<T> && requires {
  Keys<T>::short_form;
};

template <class T>
concept NamesKey = HasKeys<T> && requires {
  Keys<T>::names_key;
};

template <class T>
concept HasOtherWords = HasKeys<T> && requires {
  Keys<T>::other_words;
};

template <class E>
concept HasOtherNames = requires {
  Names<E>::other_words;
};

template <class T>
concept HasDefinition = HasKeys<T> && requires {
  Keys<T>::definition;
};

template <class T>
concept HasNames = std::is_enum_v<T> && requires {
  Names<T>::table;
};

template <class T>
constexpr bool is_sourced = false;
template <class T>
constexpr bool is_sourced<Sourced<T>> = true;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
constexpr bool is_list<Ordered<T>> = false;

template <class T>
constexpr bool is_map = false;
template <class T>
constexpr bool is_map<std::map<std::string, T>> = true;
template <class T>
constexpr bool is_map<Ordered<T>> = true;

/// The value type of a map.
template <class T>
struct Mapped {
  using Type = typename T::mapped_type;
};
template <class T>
struct Mapped<Ordered<T>> {
  using Type = T;
};

template <class T>
constexpr bool is_quantity = false;
template <int S, int B, int F, int J, int D>
constexpr bool is_quantity<Quantity<S, B, F, J, D>> = true;

template <class T>
concept PlainScalar = is_quantity<T> || std::same_as<T, std::string> || std::same_as<T, bool> ||
    std::same_as<T, int> || std::same_as<T, long long> || std::same_as<T, double>;

/// Whether two words have the same letters and digits, whatever their case: "AdamW" and "adam_w".
constexpr bool is_same_word(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view& text) {
    for (; !text.empty(); text.remove_prefix(1)) {
      char c = text.front();
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) continue;
      text.remove_prefix(1);
      return c;
    }
    return char{};
  };
  if (a.empty() || b.empty()) return a == b;
  for (;;) {
    const char letter = next(a);
    if (letter != next(b)) return false;
    if (letter == char{}) return true;
  }
}

/// The value with this name, as written or with other capitals and punctuation.
template <class E>
constexpr std::optional<E> value_named(std::string_view text) {
  for (const auto& name : Names<E>::table) {
    if (name.text == text) return name.value;
  }
  for (const auto& name : Names<E>::table) {
    if (is_same_word(name.text, text)) return name.value;
  }
  return std::nullopt;
}

/// The names of an enum, in table order. Former names, which follow the name of the same value, are left out:
/// they are accepted but not offered.
template <class E>
constexpr auto texts_of() {
  constexpr auto is_current = [](const Name<E>& name) { return name_of(name.value) == name.text; };
  constexpr auto& table = Names<E>::table;
  std::array<std::string_view, std::count_if(table.begin(), table.end(), is_current)> texts{};
  std::size_t next = 0;
  for (const Name<E>& name : table) {
    if (is_current(name)) texts[next++] = name.text;
  }
  return texts;
}

/// YAML spelling of provenance, indexed by Provenance; `unstated` is written by leaving it out.
constexpr std::array<std::string_view, 5> provenance_keys{"", "measured", "fitted", "specified", "assumed"};

}  // namespace trainyard::config
