#pragma once
// Kernels of a step by kind, for the summary and report.html.

#include "run/run.hpp"

#include <vector>

namespace trainyard {

struct KernelKind {
  OpKind kind{};
  Seconds time;  ///< of all of them, each alone
  int kernels = 0;
};

/// The kinds of ops that the result's layers have, the longest first.
std::vector<KernelKind> kernel_kinds(const Run& run);

/// Time of all of them.
Seconds sum_of(const std::vector<KernelKind>& kinds);

}  // namespace trainyard
