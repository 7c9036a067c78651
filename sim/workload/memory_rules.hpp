#pragma once
// Device memory of a framework beyond the minimum that memory.hpp counts, and how its allocator works: the
// key `memory` of a stack. The values follow from the source of the framework and of the model's script.

#include "config/keys.hpp"
#include "units/sourced.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The type of a dropout's mask.
enum class DropoutMask { byte, value };

/// The layer's tensor that max pooling keeps besides its input.
enum class PoolingIndices { int64, none };

/// The type of further kept values.
enum class KeptDtype { activation, fp32 };

/// Values that a framework keeps for the backward pass of every layer of a kind, besides those that Layer
/// counts: results of the parts of an op composed of several kernels, copies in another type.
struct KeptValues {
  std::string name;  ///< "tanh"
  LayerKind layer{};
  double values = 0;  ///< kept values per input value of the layer
  KeptDtype of = KeptDtype::activation;
  std::vector<Precision> only = {};  ///< precisions that keep them; empty: all
  bool fusible = false;              ///< fused_elementwise computes them again instead
  std::string source = {};
};

/// Values per parameter that a framework holds during the whole step besides the parameters and the state of
/// the optimizer: parts of an update made of element-wise ops that are computed before backward.
struct ParameterCopies {
  std::string name;                        ///< "decayed_moments"
  double values = 0;                       ///< of 4 bytes, per parameter
  std::vector<Optimizer> optimizers = {};  ///< with which they are held; empty: all
  std::vector<Precision> only = {};        ///< precisions that hold them; empty: all
  bool fusible = false;                    ///< fused_elementwise computes them with the update instead
  std::string source = {};
};

struct MemoryRules {
  std::vector<KeptValues> kept = {};
  std::vector<ParameterCopies> parameter_copies = {};
  DropoutMask dropout_mask = DropoutMask::byte;
  PoolingIndices pooling_indices = PoolingIndices::int64;
  std::optional<Sourced<Bytes>> context = {};    ///< instead of the GPU's: memory outside the allocator
  std::optional<Sourced<Bytes>> workspace = {};  ///< instead of the default for convolutions
  Sourced<double> pool{.value = 1};              ///< the part of the free memory that the allocator takes
  Sourced<double> fragmentation{.value = 1};
  Sourced<Bytes> rounding{.value = Bytes(1)};         ///< of a tensor's size
  std::optional<Sourced<Bytes>> large_rounding = {};  ///< of a tensor of large_from and more
  /// The size from which on tensors are large ones. Source of the default: PyTorch
  /// c10/cuda/CUDACachingAllocator.cpp, kMinLargeAlloc.
  Sourced<Bytes> large_from{.value = Bytes(10.0 * 1024 * 1024)};
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<DropoutMask> {
  static constexpr std::string_view what = "type of a dropout's mask";
  static constexpr std::array table{Name{"byte", DropoutMask::byte, "1 byte per value"},
                                    Name{"value", DropoutMask::value, "the type of the activations"}};
};

template <>
struct Names<PoolingIndices> {
  static constexpr std::string_view what = "type of the indices that max pooling keeps";
  static constexpr std::array table{
      Name{"int64", PoolingIndices::int64, "8 bytes per output value"},
      Name{"none", PoolingIndices::none, "none: backward finds the maxima again, as cuDNN does"}};
};

template <>
struct Names<KeptDtype> {
  static constexpr std::string_view what = "type of kept values";
  static constexpr std::array table{
      Name{"activation", KeptDtype::activation, "type of the activations in the experiment's precision"},
      Name{"fp32", KeptDtype::fp32, "4 bytes per value"}};
};

template <>
struct Keys<KeptValues> {
  static auto table() {
    constexpr double most_values = 100;
    return keys(
        required("name", &KeptValues::name, "what is kept: mask, tanh, logits"),
        required("layer", &KeptValues::layer, "kind of layer that keeps it"),
        required("values", &KeptValues::values, "kept values per input value of the layer")
            .positive(most_values),
        optional("of", &KeptValues::of, "type of the values"),
        optional("only", &KeptValues::only, "precisions that keep them; default: all"),
        optional("fusible", &KeptValues::fusible, "true: fused_elementwise computes them again in backward"),
        optional("source", &KeptValues::source, "documentation, or why it is assumed"));
  }
};

template <>
struct Keys<ParameterCopies> {
  static auto table() {
    constexpr double most_values = 100;
    return keys(required("name", &ParameterCopies::name, "what is held: moments, casts"),
                required("values", &ParameterCopies::values, "values of 4 bytes held per parameter")
                    .positive(most_values),
                optional("optimizers", &ParameterCopies::optimizers,
                         "optimizers with which they are held; default: all"),
                optional("only", &ParameterCopies::only, "precisions that hold them; default: all"),
                optional("fusible", &ParameterCopies::fusible,
                         "true: fused_elementwise computes them with the update"),
                optional("source", &ParameterCopies::source, "documentation, or why it is assumed"));
  }
};

template <>
struct Keys<MemoryRules> {
  static auto table() {
    constexpr double most = 1e12;
    return keys(
        optional("kept", &MemoryRules::kept, "values kept for backward in addition to the minimum"),
        optional("parameter_copies", &MemoryRules::parameter_copies,
                 "values per parameter held during the whole step in addition to the optimizer's"),
        optional("dropout_mask", &MemoryRules::dropout_mask, "type of the mask that a dropout keeps"),
        optional("pooling_indices", &MemoryRules::pooling_indices,
                 "indices that max pooling keeps in addition to its input"),
        optional("context", &MemoryRules::context,
                 "memory of the process outside the allocator, instead of the GPU's memory.context: CUDA "
                 "context, code of the kernels, handles of libraries")
            .at_least(0)
            .at_most(most),
        optional("workspace", &MemoryRules::workspace,
                 "largest scratch space of a convolution, instead of 256 MiB; no model without convolutions "
                 "has it")
            .at_least(0)
            .at_most(most),
        optional("pool", &MemoryRules::pool,
                 "part of the memory left by the context that the framework's allocator takes")
            .positive(1),
        optional("fragmentation", &MemoryRules::fragmentation,
                 "memory that the allocator holds over the memory of the tensors")
            .between(1, 10),
        optional("rounding", &MemoryRules::rounding, "unit to which the allocator rounds a tensor's size up")
            .at_least(1)
            .at_most(most),
        optional("large_rounding", &MemoryRules::large_rounding, "the same for large tensors")
            .at_least(1)
            .at_most(most),
        optional("large_from", &MemoryRules::large_from, "size from which on a tensor is a large one")
            .at_least(1)
            .at_most(most));
  }
};

}  // namespace trainyard::config
