#pragma once
// Enums whose values differ in traits. One row per value has its name, its documentation and its traits; all
// other code asks for traits instead of comparing values, so that a new value is one row. A value without a
// row does not compile.
//
//     struct ColourTraits { bool is_warm = false; };
//     inline constexpr std::array colours{  // in the order of the enum
//         config::Row{"red", Colour::red, "as blood", ColourTraits{.is_warm = true}}, ...};
//     constexpr const ColourTraits& traits(Colour colour) { return config::traits_in<colours>(colour); }
//     template <> struct config::Names<Colour> {
//       static constexpr std::string_view what = "colour";
//       static constexpr std::array table = names_in<colours>();
//     };

#include "config/keys.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard::config {

template <class E, class Traits>
struct Row {
  std::string_view text;
  E value;
  std::string_view doc;
  Traits traits;
};
template <class E, class Traits>
Row(const char*, E, const char*, Traits) -> Row<E, Traits>;

/// Whether an enum has this value. Compilers write others as a cast of a number: "(Colour)3".
template <auto value>
constexpr bool is_enumerator() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "value = ";
  return text[text.find(before) + before.size()] != '(';
}

/// Whether Names has all values of an enum that counts from 0.
template <class E>
constexpr bool are_all_named() {
  constexpr std::size_t most = [] {
    std::size_t largest = 0;
    for (const auto& name : Names<E>::table)
      largest = std::max(largest, static_cast<std::size_t>(name.value));
    return largest;
  }();
  return !is_enumerator<static_cast<E>(most + 1)>();
}

/// Whether the rows are all values of their enum in its order.
template <const auto& rows>
constexpr bool are_all_values() {
  using E = decltype(rows[0].value);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].value != static_cast<E>(i)) return false;
  }
  return !is_enumerator<static_cast<E>(rows.size())>();
}

template <const auto& rows, class E>
constexpr const auto& traits_in(E value) {
  static_assert(are_all_values<rows>(), "each value of the enum needs a row, in the order of the enum");
  return rows[static_cast<std::size_t>(value)].traits;
}

/// The rows' names for Names, followed by other spellings.
template <const auto& rows, class... Further>
constexpr auto names_in(Further... further) {
  static_assert(are_all_values<rows>(), "each value of the enum needs a row, in the order of the enum");
  using Entry = Name<decltype(rows[0].value)>;
  std::array<Entry, rows.size() + sizeof...(further)> names{};
  std::size_t count = 0;
  for (const auto& row : rows) names[count++] = {row.text, row.value, row.doc};
  ((names[count++] = further), ...);
  return names;
}

/// "local_sgd and downpour": the values whose traits satisfy a predicate.
template <const auto& rows, class Predicate>
std::string names_with(Predicate predicate) {
  std::string names;
  for (const auto& row : rows) {
    if (predicate(row.traits)) names.append(names.empty() ? "" : " and ").append(row.text);
  }
  return names;
}

}  // namespace trainyard::config
