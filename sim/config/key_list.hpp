#pragma once
// The keys of a kind of file as a list, for people and shells: path, form of the value, default and effect.

#include "config/schema.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// A key that has a value of its own. `path` has N for an index and NAME for a key that users choose:
/// links[N].lanes.
struct ListedKey {
  std::string path;
  std::string form;           ///< "whole number, 1 to 1000000", "bandwidth (25 GB/s)", "a | b | c"
  std::string default_value;  ///< empty: none
  bool is_required = false;
  std::string_view doc;                 ///< meaning and effect
  std::vector<std::string_view> names;  ///< for choices
  std::vector<std::string_view> words;  ///< for choices, for searches: also other spellings, and meanings
};

/// All keys of this shape, in the order of its tables; `prefix` stands before each path. Recursive shapes are
/// listed once.
std::vector<ListedKey> list_keys(const Shape& shape, std::string_view prefix = {});

/// Why a path names no key of this shape, as reading says it; empty if it does name one.
struct UnknownKey {
  std::string message;
  std::string hint;
};
UnknownKey unknown_key(const Shape& shape, std::string_view path);

}  // namespace trainyard::config
