#pragma once
// A convolution as a graph of cuDNN's backend API, and the plans that can run it: the proposals of cuDNN's
// heuristic, except those that compute in less precision than requested.

#include "conv_tensors.hpp"
#include "cudnn_descriptor.hpp"
#include "dtype.hpp"

#include <array>
#include <chrono>
#include <vector>

namespace trainyard::cuda {

/// Exactly one convolution, with fp32 accumulation. Groups follow from the channels: the input has `groups`
/// times as many as the filter.
class ConvGraph {
public:
  /// Throws CudnnError.
  ConvGraph(ConvPass pass, const ConvShape& shape, const ConvTensors& tensors, Dtype dtype);

  [[nodiscard]] const Descriptor& graph() const { return graph_; }

  /// The operands' names in a variant pack: input, filter, output.
  static constexpr std::array<std::int64_t, 3> ids{1, 2, 3};

private:
  Descriptor x_;
  Descriptor w_;
  Descriptor y_;
  Descriptor convolution_;
  Descriptor operation_;
  Descriptor graph_;
};

/// An engine with its knobs, ready to run the graph.
struct ConvPlan {
  Descriptor config;
  Descriptor plan;
  std::size_t workspace_bytes = 0;
};

/// Limits of the search for plans.
struct PlanLimits {
  std::size_t workspace_bytes = 0;             ///< plans that need more are skipped
  std::size_t plans = 8;                       ///< number of plans that is enough
  std::chrono::milliseconds build_time{1000};  ///< after this time the first plan is used: some engines
                                               ///< compile
};

/// The plans to choose from: first those of heuristic mode A, then those of the fallback list, in order, if
/// they keep the precision, can be built and are within the limits. None if no engine supports the graph. The
/// precision is taken from cuDNN's numerical notes on an engine. fp32 excludes engines on matrix units
/// (TENSOR_CORE: on fp32 data that means TF32) and those that convert their inputs down
/// (DOWN_CONVERT_INPUTS), tf32 only the latter, which would mean fp16; both exclude an engine without
/// readable notes. The 16-bit types allow everything. These are PyTorch's rules
/// (aten/src/ATen/native/cudnn/Conv_v8.cpp, filterEngineConfigs); Winograd and FFT are allowed for all types,
/// as there.
std::vector<ConvPlan> find_plans(const ConvGraph& graph, Dtype dtype, const PlanLimits& limits);

/// The memory of an execution: x, w and y (those of ConvTensors), and the workspace.
Descriptor variant_pack(void* x, void* w, void* y, void* workspace);

}  // namespace trainyard::cuda
