#pragma once
// Models written as lists of layers, for tests.

#include "config/document.hpp"
#include "errors_of.hpp"
#include "workload/model_file.hpp"

#include <doctest/doctest.h>
#include <string>

namespace trainyard::testing {

/// The model with the key `layers: layers`.
inline Model listed(const std::string& layers) {
  return load_model(config::parse("m.yaml", "name: m\nlayers:\n" + layers));
}

/// The first error of a list, which is the only one.
inline Diagnostic error_of_listed(const std::string& layers) {
  const auto errors = errors_of([&] { listed(layers); });
  REQUIRE(errors.size() == 1);
  return errors[0];
}

}  // namespace trainyard::testing
