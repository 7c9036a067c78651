#pragma once
// Errors and warnings about the block `parallelism` of an experiment, at the key of the wrong value.

#include "config/diagnostic.hpp"

#include <string>
#include <utility>

namespace trainyard {

/// `key`: within the block: "tensor", "routing.seed".
inline Diagnostic about_layout(const std::string& key, std::string message, std::string hint,
                               Severity severity = Severity::error) {
  Diagnostic diagnostic;
  diagnostic.key_path = "parallelism." + key;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.severity = severity;
  return diagnostic;
}

[[noreturn]] inline void refuse_layout(const std::string& key, std::string message, std::string hint) {
  throw InputError({about_layout(key, std::move(message), std::move(hint))});
}

}  // namespace trainyard
