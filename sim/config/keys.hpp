#pragma once
// Key tables: one description of a YAML mapping from which its reader, its writer, its JSON Schema and its
// documentation come. A folder that owns a struct describes it by specialising Keys (and Names for its
// enums):
//
//     struct PowerSpec { Sourced<Watts> max; double share = 0.5; };
//     template <> struct config::Keys<PowerSpec> {
//       static auto table() {
//         return keys(required("max", &PowerSpec::max, "power limit of the box").above(0).at_most(1e6),
//                     optional("share", &PowerSpec::share, "part drawn when idle").at_least(0).at_most(1));
//       }
//     };
//     template <> struct config::Names<Colour> {
//       static constexpr std::string_view what = "colour";
//       static constexpr std::array table{Name{"red", Colour::red, "as blood"}, ...};
//     };
//
// An optional key's default is the member's initialiser. Field types: the quantities of units/quantity.hpp,
// Sourced<T>, std::string, bool, int, long long, double, enums with Names, std::vector<T>, std::optional<T>,
// std::map<std::string, T>, Ordered<T> and structs with Keys.

#include <array>
#include <optional>
#include <string_view>

namespace trainyard::config {

template <class T>
struct Keys;

template <class T>
struct Names;

template <class E>
struct Name {
  std::string_view text;
  E value;
  std::string_view doc;
};
template <class E>
Name(const char*, E, const char*) -> Name<E>;

/// One key of a mapping. Bounds are in SI base units and apply to numbers, quantities and, element by
/// element, to lists of them.
template <class Owner, class Field>
struct Key {
  std::string_view name;
  Field Owner::*member;
  std::string_view doc;  ///< one line: meaning, unit, effect
  bool is_required;
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool minimum_excluded = false;

  [[nodiscard]] constexpr Key at_least(double bound) const;
  [[nodiscard]] constexpr Key above(double bound) const;
  [[nodiscard]] constexpr Key at_most(double bound) const;
};

template <class Owner, class Field>
constexpr Key<Owner, Field> required(std::string_view name, Field Owner::*member, std::string_view doc) {
  return {name, member, doc, true};
}
template <class Owner, class Field>
constexpr Key<Owner, Field> optional(std::string_view name, Field Owner::*member, std::string_view doc) {
  return {name, member, doc, false};
}

template <class Owner, class Field>
constexpr Key<Owner, Field> Key<Owner, Field>::at_least(double bound) const {
  Key copy = *this;
  copy.minimum = bound;
  copy.minimum_excluded = false;
  return copy;
}
template <class Owner, class Field>
constexpr Key<Owner, Field> Key<Owner, Field>::above(double bound) const {
  Key copy = *this;
  copy.minimum = bound;
  copy.minimum_excluded = true;
  return copy;
}
template <class Owner, class Field>
constexpr Key<Owner, Field> Key<Owner, Field>::at_most(double bound) const {
  Key copy = *this;
  copy.maximum = bound;
  return copy;
}

/// A key table: calls its argument with all keys. Not a std::tuple: without its instances, one for each
/// length, sim/cli/ compiles in 60% of the time.
template <class... Key>
constexpr auto keys(Key... key) {
  return [=](auto&& visit) { return visit(key...); };
}

/// The enum's name in YAML and reports.
template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& name : Names<E>::table) {
    if (name.value == value) return name.text;
  }
  return "?";
}

}  // namespace trainyard::config
