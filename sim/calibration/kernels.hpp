#pragma once
// The kernels of several recordings together, in the groups that are fitted and judged separately, and the
// kernels held out in each fold.

#include "compute/kernel_table.hpp"
#include "compute/recording.hpp"

#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// A vector op timed by a framework: only the growth of its time with size is meaningful.
struct DispatchedKernel {
  VectorKernel kernel;
  std::string call;  ///< the framework's call: "relu", "forward"
};

/// A type with so many products, of so many (n, k), is fitted with the six numbers of GemmCurve and held out
/// by whole (n, k). 500 random bf16 products of nine GPUs in ai-dynamo/aiconfigurator leave
/// the six numbers 2 to 6 points better than three on held-out (n, k), and 0.5 to 1.5 corrected by those 500.
/// With 160 they are better there too, but a table of 160 has few (n, k) to hold out, and of the five of
/// DeepBench (V100, P100, T4) the six numbers gain 0.9 to 1.1 points in fp16 and none to 0.2 in fp32: those
/// keep three.
inline constexpr std::size_t fewest_detailed_products = 500;
inline constexpr std::size_t fewest_detailed_weights = 50;

/// A call of a linear layer in 8 bits, which casts its input of m x k values before the product.
struct CastingCall {
  GemmKernel product;  ///< with the time of the whole call
};

/// A forward pass of causal attention in one kernel; its shape as in traces: m queries, n keys, values of k.
struct AttentionPass {
  Dtype dtype{};
  GemmShape shape;
  Bytes bytes;
  Seconds duration;
};

struct MeasuredKernels {
  KernelTable kernels;  ///< from recordings that time kernels alone
  std::vector<DispatchedKernel> dispatched;
  std::vector<CastingCall> calls = {};
  std::vector<AttentionPass> attention = {};
  std::set<Dtype> detailed = {};  ///< types with many products; a part of the kernels has those of the whole
};

/// Throws InputError for a kernel in two of the recordings, or twice in one, and for products in 8 bits with
/// the cast of their input together with products without.
MeasuredKernels gather(const std::vector<Recording>& recordings);

/// The groups of a report: "gemm fp16", "conv_dgrad fp32 nhwc", "batch_norm".
std::string group_of(const ConvKernel& kernel);
std::string group_of(const GemmKernel& kernel);
/// Kinds that share a rate in a profile are one group.
std::string group_of(const VectorKernel& kernel);
std::string group_of(const DispatchedKernel& kernel);
/// That of its product.
std::string group_of(const CastingCall& call);
std::string group_of(const AttentionPass& pass);

inline constexpr int folds = 5;

/// The fold that holds out a kernel, 0 to folds-1, by its shape: one fold for all batches, passes, types and
/// layouts of a convolution, for all types and transposes of a product, and for all vector ops that move the
/// same number of bytes, to the next power of two. `by_weights`: one fold for all products with the same n
/// and k, as of one layer's weights with any number of rows.
int fold_of(const ConvKernel& kernel);
int fold_of(const GemmKernel& kernel, bool by_weights = false);
int fold_of(const VectorKernel& kernel);
int fold_of(const DispatchedKernel& kernel);
int fold_of(const AttentionPass& pass);  ///< by its shape

/// The kernels whose fold_of is `fold` (`is_held_out`), or all others. `all` are the kernels as gathered.
MeasuredKernels part_of(const MeasuredKernels& all, int fold, bool is_held_out);

}  // namespace trainyard
