#pragma once
// A convolution as a graph of cuDNN's backend API, and the plans that can run it: what cuDNN's heuristic
// proposes, without those that compute in less precision than was asked for.

#include "conv_tensors.hpp"
#include "cudnn_descriptor.hpp"
#include "dtype.hpp"

#include <array>
#include <chrono>
#include <vector>

namespace trainyard::cuda {

/// One convolution and nothing else, with fp32 accumulation. Groups follow from the channels: the input has
/// `groups` times as many as the filter.
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

/// How far to look for plans.
struct PlanLimits {
  std::size_t workspace_bytes = 0;             ///< plans that need more are passed over
  std::size_t plans = 8;                       ///< how many are enough
  std::chrono::milliseconds build_time{1000};  ///< after which the first will do: some engines compile
};

/// The plans to choose from: of heuristic mode A, then of the fallback list, in their order, those that keep
/// the precision, can be built and are within the limits. None if no engine takes the graph.
/// Precision goes by cuDNN's numerical notes about an engine. fp32 excludes engines on matrix units
/// (TENSOR_CORE: on fp32 data that means TF32) and those that convert their inputs down
/// (DOWN_CONVERT_INPUTS), tf32 only the latter, which would mean fp16; an engine without readable notes is
/// excluded from both. The 16-bit types allow everything. These are PyTorch's rules
/// (aten/src/ATen/native/cudnn/Conv_v8.cpp, filterEngineConfigs); Winograd and FFT are allowed for all types,
/// as there.
std::vector<ConvPlan> find_plans(const ConvGraph& graph, Dtype dtype, const PlanLimits& limits);

/// Which memory an execution works on: x, w and y (those of ConvTensors), and the workspace.
Descriptor variant_pack(void* x, void* w, void* y, void* workspace);

}  // namespace trainyard::cuda
