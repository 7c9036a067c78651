#pragma once
// Kernels of a step by kind, for the summary and report.html.

#include "run/step.hpp"

#include <vector>

namespace trainyard {

struct KernelKind {
  OpKind kind{};
  Seconds time;  ///< sum of the times of each alone
  int kernels = 0;
};

/// The kinds of a class's ops, the longest first.
std::vector<KernelKind> kernel_kinds(const ClassStep& one);

/// Total time.
Seconds sum_of(const std::vector<KernelKind>& kinds);

}  // namespace trainyard
