#pragma once
// Models written as lists of layers, for tests.

#include "config/document.hpp"
#include "errors_of.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

namespace trainyard::testing {

/// The model with the key `layers: layers`.
inline Model listed(const std::string& layers) {
  return load_model(config::parse("m.yaml", "name: m\nlayers:\n" + layers));
}

/// The first error of a list, which is the only one.
inline Diagnostic error_of_listed(const std::string& layers) {
  return only_error([&] { listed(layers); });
}

inline const Layer& named_layer(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  INFO(name);
  REQUIRE(found != model.layers.end());
  return *found;
}

}  // namespace trainyard::testing
