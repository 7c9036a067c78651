#pragma once
// Shipped experiments for tests that resolve many: each file is read once for each test program.

#include "experiment/resolve.hpp"

#include <string>

namespace trainyard::testing {

/// A shipped experiment with other values. Files of the test itself, which come and go, are for resolve().
inline ResolvedExperiment shipped_experiment(const std::string& name, const Overrides& overrides = {}) {
  static InputFiles files;
  return resolve({{TRAINYARD_SOURCE_DIR}}, name, overrides, files);
}

}  // namespace trainyard::testing
