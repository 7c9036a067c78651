#pragma once
// Models of workloads/models for tests.

#include "config/document.hpp"
#include "workload/model_file.hpp"

#include <string>

namespace trainyard::testing {

inline config::Document shipped_model_file(const std::string& name) {
  return config::load(TRAINYARD_SOURCE_DIR "/workloads/models/" + name + ".yaml");
}

/// The model, with another value for `key` unless that is empty.
inline Model shipped_model(const std::string& name, const std::string& key = {},
                           const std::string& value = {}) {
  config::Document document = shipped_model_file(name);
  if (!key.empty()) config::set(document, key, value);
  return load_model(document);
}

}  // namespace trainyard::testing
