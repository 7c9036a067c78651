#pragma once
// Kernels that a framework runs as persistent ones: their blocks wait for each other, so that they need all
// multiprocessors at once and cannot overlap with a collective, whose blocks hold some. A key of a stack.

#include "config/keys.hpp"
#include "strategy/op_slowdown.hpp"
#include "workload/trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace trainyard {

struct PersistentKernels {
  OpGroup ops{};
  std::vector<Precision> only = {};  ///< precisions with such kernels; empty: all
  std::string source = {};           ///< its documentation
};

/// Whether an op is such a kernel in a precision.
inline bool is_persistent(const std::vector<PersistentKernels>& kernels, OpKind kind, Precision precision) {
  return std::ranges::any_of(kernels, [&](const PersistentKernels& one) {
    return one.ops == group_of(kind) &&
           (one.only.empty() || std::ranges::find(one.only, precision) != one.only.end());
  });
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<PersistentKernels> {
  static auto table() {
    return keys(required("ops", &PersistentKernels::ops, "the kernels"),
                optional("only", &PersistentKernels::only, "precisions with such kernels; default: all"),
                optional("source", &PersistentKernels::source, "documentation, or why it is assumed"));
  }
};

}  // namespace trainyard::config
