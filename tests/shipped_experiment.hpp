#pragma once
// Shipped experiments for tests that resolve many: each file is read once for each test program.

#include "experiment/resolve.hpp"

#include <string>

namespace trainyard::testing {

/// A shipped experiment with other values. Likewise one that the test writes, if nothing of it is written
/// again under the same name: then call resolve().
inline ResolvedExperiment shipped_experiment(const std::string& name, const Overrides& overrides = {}) {
  static InputFiles files;
  return resolve({{TRAINYARD_SOURCE_DIR}}, name, overrides, files);
}

}  // namespace trainyard::testing
