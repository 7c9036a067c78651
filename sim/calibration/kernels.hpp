#pragma once
// The kernels of several recordings together, in the groups that are fitted and judged separately, and the
// kernels held out in each fold.

#include "compute/kernel_table.hpp"
#include "compute/recording.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// A vector op timed by a framework: only the growth of its time with size is meaningful.
struct DispatchedKernel {
  VectorKernel kernel;
  std::string call;  ///< the framework's call: "relu", "forward"
};

struct MeasuredKernels {
  KernelTable kernels;  ///< from recordings that time kernels alone
  std::vector<DispatchedKernel> dispatched;
};

/// Throws InputError for a kernel in two of the recordings, or twice in one.
MeasuredKernels gather(const std::vector<Recording>& recordings);

/// The groups of a report: "gemm fp16", "conv_dgrad fp32 nhwc", "batch_norm".
std::string group_of(const ConvKernel& kernel);
std::string group_of(const GemmKernel& kernel);
/// Kinds that share a rate in a profile are one group.
std::string group_of(const VectorKernel& kernel);
std::string group_of(const DispatchedKernel& kernel);

inline constexpr int folds = 5;

/// The fold that holds out a kernel, 0 to folds-1, by its shape: one fold for all batches, passes, types and
/// layouts of a convolution, for all types and transposes of a product, and for all vector ops that move the
/// same number of bytes, to the next power of two.
int fold_of(const ConvKernel& kernel);
int fold_of(const GemmKernel& kernel);
int fold_of(const VectorKernel& kernel);
int fold_of(const DispatchedKernel& kernel);

/// The kernels whose fold_of is `fold` (`is_held_out`), or all others.
MeasuredKernels part_of(const MeasuredKernels& all, int fold, bool is_held_out);

}  // namespace trainyard
