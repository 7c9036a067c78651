#pragma once
// The possible types of a field in a key table: a classification shared by reader, writer and schema.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <concepts>
#include <map>
#include <optional>
#include <string>
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

/// The names of an enum, in table order.
template <class E>
constexpr auto texts_of() {
  std::array<std::string_view, Names<E>::table.size()> texts{};
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = Names<E>::table[i].text;
  return texts;
}

/// YAML spelling of provenance, indexed by Provenance; `unstated` is written by leaving it out.
constexpr std::array<std::string_view, 5> provenance_keys{"", "measured", "fitted", "specified", "assumed"};

}  // namespace trainyard::config
