#include "cudnn_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace trainyard::cuda {
namespace {

/// Operands and results in this type: fp32 also for tf32.
cudnnDataType_t cudnn_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp16:
      return CUDNN_DATA_HALF;
    case Dtype::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

Descriptor describe(const ConvTensor& tensor, std::int64_t id, Dtype dtype) {
  Descriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, cudnn_type_of(dtype));
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor.dims.data());
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, tensor.strides.data());
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);  // PyTorch's largest value; buffers here have 256
  descriptor.finalize();
  return descriptor;
}

Descriptor describe_convolution(const ConvShape& shape) {
  Descriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const std::array<std::int64_t, 2> strides{shape.stride, shape.stride};
  const std::array<std::int64_t, 2> pads{shape.pad_h, shape.pad_w};
  const std::array<std::int64_t, 2> dilations{1, 1};
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides.data());
  descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads.data());
  descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads.data());
  descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations.data());
  descriptor.finalize();
  return descriptor;
}

/// One pass's names for the same six attributes.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t x;
  cudnnBackendAttributeName_t w;
  cudnnBackendAttributeName_t y;
};

PassNames names_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::dgrad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case ConvPass::wgrad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  }
}

Descriptor describe_operation(ConvPass pass, const Descriptor& convolution, const Descriptor& x,
                              const Descriptor& w, const Descriptor& y) {
  const PassNames names = names_of(pass);
  const float alpha = 1;
  const float beta = 0;
  Descriptor descriptor(names.operation);
  descriptor.set(names.x, x);
  descriptor.set(names.w, w);
  descriptor.set(names.y, y);
  descriptor.set(names.convolution, convolution);
  descriptor.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  descriptor.set(names.beta, CUDNN_TYPE_FLOAT, 1, &beta);
  descriptor.finalize();
  return descriptor;
}

/// The handle determines the graph's GPU. Recent headers mark its attribute as deprecated (since 9.8 a
/// heuristic can work for an absent GPU); earlier ones have no alternative, and frameworks set it with all
/// versions.
Descriptor graph_of(const Descriptor& operation) {
  const cudnnHandle_t handle = cudnn_handle();
  Descriptor descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  descriptor.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  descriptor.finalize();
  return descriptor;
}

/// Nothing if they cannot be read.
std::optional<std::vector<cudnnBackendNumericalNote_t>> notes_of(const Descriptor& config) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &count, &raw) != CUDNN_STATUS_SUCCESS) {
    return std::nullopt;
  }
  // a library newer than its header may have more notes than the header counts
  std::vector<cudnnBackendNumericalNote_t> notes(64, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const auto room = static_cast<std::int64_t>(notes.size());
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               room, &count, notes.data()) != CUDNN_STATUS_SUCCESS) {
    return std::nullopt;
  }
  notes.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, room)));
  return notes;
}

/// A heuristic's proposals for a graph, best first; empty if it has none.
std::vector<Descriptor> engine_configs(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  std::int64_t count = 0;
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS ||
      cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               0, &count, nullptr) != CUDNN_STATUS_SUCCESS ||
      count <= 0) {
    return {};
  }
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    raw.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  std::int64_t written = 0;
  CHECK_CUDNN(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &written, raw.data()));
  while (static_cast<std::int64_t>(configs.size()) > std::max<std::int64_t>(written, 0)) configs.pop_back();
  return configs;
}

/// Whether an engine computes in the precision of the data type: see find_plans.
bool keeps_precision(const Descriptor& config, Dtype dtype) {
  if (dtype == Dtype::fp16 || dtype == Dtype::bf16) return true;
  const auto notes = notes_of(config);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes->begin(), notes->end(), note) != notes->end();
  };
  return notes && !has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
         (dtype == Dtype::tf32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

/// The plan of a configuration, nothing if the engine does not support the graph. It gets the handle for the
/// same reason as graph_of: a version that needs it would reject every plan.
std::optional<ConvPlan> build_plan(Descriptor config) {
  const cudnnHandle_t handle = cudnn_handle();
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) return std::nullopt;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  CHECK_CUDNN(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                       1, &count, &bytes));
  return ConvPlan{std::move(config), std::move(plan),
                  static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0))};
}

}  // namespace

ConvGraph::ConvGraph(ConvPass pass, const ConvShape& shape, const ConvTensors& tensors, Dtype dtype)
    : x_(describe(tensors.x, ids[0], dtype)),
      w_(describe(tensors.w, ids[1], dtype)),
      y_(describe(tensors.y, ids[2], dtype)),
      convolution_(describe_convolution(shape)),
      operation_(describe_operation(pass, convolution_, x_, w_, y_)),
      graph_(graph_of(operation_)) {}

std::vector<ConvPlan> find_plans(const ConvGraph& graph, Dtype dtype, const PlanLimits& limits) {
  using Clock = std::chrono::steady_clock;
  std::vector<ConvPlan> plans;
  Clock::duration building{};
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : engine_configs(graph.graph(), mode)) {
      if (plans.size() >= limits.plans || (!plans.empty() && building > limits.build_time)) return plans;
      if (!keeps_precision(config, dtype)) continue;
      const Clock::time_point start = Clock::now();
      std::optional<ConvPlan> plan = build_plan(std::move(config));
      building += Clock::now() - start;
      if (plan && plan->workspace_bytes <= limits.workspace_bytes) plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

Descriptor variant_pack(void* x, void* w, void* y, void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const std::array<void*, 3> pointers{x, w, y};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ConvGraph::ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return pack;
}

}  // namespace trainyard::cuda
