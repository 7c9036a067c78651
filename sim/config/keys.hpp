#pragma once
// Key tables: one description of a YAML mapping from which its reader, its writer, its JSON Schema and its
// documentation come. A folder that owns a struct describes it by specialising Keys (and Names for its
// enums):
//
//     struct PowerSpec { Sourced<Watts> max; double share = 0.5; };
//     template <> struct config::Keys<PowerSpec> {
//       static auto table() {
//         return keys(required("max", &PowerSpec::max, "power limit of the box").positive(1e6),
//                     optional("share", &PowerSpec::share, "part drawn when idle").between(0, 1));
//       }
//     };
//     template <> struct config::Names<Colour> {
//       static constexpr std::string_view what = "colour";
//       static constexpr std::array table{Name{"red", Colour::red, "as blood"}, ...};
//     };
//
// Keys may also state:
//   short_form      an array of keys that a value other than a mapping sets: with {"out"}, `linear: 10` is
//                   `linear: {out: 10}`. A list of as many values as keys sets one each, any other value sets
//                   all of them.
//   names_key       true if a text alone is a key with an empty mapping: `relu` is `{relu: {}}`
//   other_words     an array of OtherWord: users' words for a key, for the hint after an unknown one, for
//                   searches, and for --set, which takes exact synonyms
//   definition      the name of the type in schemas; needed by types that contain themselves
//
// Names of an enum may follow the name of the same value as other spellings, which are read but not offered;
// capitals and punctuation never count. They may also state
//   other_words     an array of OtherWord: names that the enum does not have, with advice
//
// An optional key's default is the member's initialiser. Field types: the quantities of units/quantity.hpp,
// Sourced<T>, std::string, bool, int, long long, double, enums with Names, std::vector<T>, std::optional<T>,
// std::map<std::string, T>, Ordered<T> and structs with Keys.

#include <array>
#include <cstddef>
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

/// A word that users try in place of a key, and where that is: {"lr", "learn.rate"}.
struct OtherWord {
  std::string_view word;
  std::string_view key;
  bool is_same = false;  ///< the word is another name of the key, with the same values
};

/// Bounds of a key, in SI base units.
struct Range {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool minimum_excluded = false;
};

/// One key of a mapping. Bounds apply to numbers, quantities and, element by element, to lists of them.
template <class Owner, class Field>
struct Key {
  std::string_view name;
  Field Owner::*member;
  std::string_view doc;  ///< one line: meaning, unit, effect
  bool is_required;
  Range range = {};

  [[nodiscard]] constexpr Key at_least(double bound) const { return within({bound, range.maximum}); }
  [[nodiscard]] constexpr Key at_most(double bound) const {
    return within({range.minimum, bound, range.minimum_excluded});
  }
  [[nodiscard]] constexpr Key between(double least, double most) const { return within({least, most}); }
  /// Above 0 and at most `most`.
  [[nodiscard]] constexpr Key positive(double most) const { return within({0, most, true}); }
  [[nodiscard]] constexpr Key above(double bound) const { return within({bound, range.maximum, true}); }
  [[nodiscard]] constexpr Key within(Range bounds) const { return {name, member, doc, is_required, bounds}; }
};

template <class Owner, class Field>
constexpr Key<Owner, Field> required(std::string_view name, Field Owner::*member, std::string_view doc) {
  return {name, member, doc, true};
}
template <class Owner, class Field>
constexpr Key<Owner, Field> optional(std::string_view name, Field Owner::*member, std::string_view doc) {
  return {name, member, doc, false};
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
