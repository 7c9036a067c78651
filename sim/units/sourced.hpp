#pragma once
// A figure and where it comes from. Every number of a machine or a model carries one of these, so that a
// result can say what it rests on.

#include <string>

namespace trainyard {

/// How a figure came to be. `unstated` only in users' own files; shipped files state every one.
enum class Provenance { unstated, measured, fitted, specified, assumed };

template <class T>
struct Sourced {
  T value{};
  Provenance provenance = Provenance::unstated;
  std::string source = {};  ///< publication, table or reason, in words

  friend bool operator==(const Sourced&, const Sourced&) = default;
};

}  // namespace trainyard
