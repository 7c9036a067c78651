#pragma once
// A figure with its origin. Every number of a machine or a model is one, so that a result can list its
// sources.

#include <string>

namespace trainyard {

/// The origin of a figure. `unstated` only in users' own files; shipped files state it for every figure.
enum class Provenance { unstated, measured, fitted, specified, assumed };

template <class T>
struct Sourced {
  T value{};
  Provenance provenance = Provenance::unstated;
  std::string source = {};  ///< publication, table or reason, in words

  [[nodiscard]] bool is_assumed() const { return provenance == Provenance::assumed; }

  friend bool operator==(const Sourced&, const Sourced&) = default;
};

}  // namespace trainyard
