#pragma once
// The shipped files, for tests of functions that take a catalogue.

#include "config/catalogue.hpp"

namespace trainyard::testing {

inline const config::Catalogue& shipped_catalogue() {
  static const config::Catalogue catalogue{.roots = {TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

}  // namespace trainyard::testing
