#pragma once
// Kernels of a step by kind, for the summary and report.html.

#include "run/run.hpp"

#include <vector>

namespace trainyard {

struct KernelKind {
  OpKind kind{};
  Seconds time;  ///< sum of the times of each alone
  int kernels = 0;
};

/// The kinds of ops in the result's layers, the longest first.
std::vector<KernelKind> kernel_kinds(const Run& run);

/// Total time.
Seconds sum_of(const std::vector<KernelKind>& kinds);

}  // namespace trainyard
