#pragma once
// Device memory of one rank of a data-parallel step, by term, from a model's layers: printed by `trainyard
// memory`, and decides whether a job fits (run/memory_verdict.hpp).

#include "units/quantity.hpp"
#include "workload/memory_rules.hpp"
#include "workload/model.hpp"
#include "workload/trace.hpp"

#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace trainyard {

/// Bytes of one rank at the fullest moment of a step: FullestMoment's, or, without it, when backward has just
/// begun and every activation is still kept.
struct MemoryTerms {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer_state;
  Bytes activations;
  Bytes workspace;
  Bytes context;
  Bytes gradient_buckets;
  Bytes communication_buffers;
  Bytes fragmentation = {};
  Bytes server = {};  ///< of shards of parameter servers in the GPU's memory
  Bytes stated = {};  ///< of a trace, whose memory is known as a whole; the others are then zero
  friend bool operator==(const MemoryTerms&, const MemoryTerms&) = default;
};

struct MemoryTerm {
  std::string_view name;  ///< as in summary.json
  Bytes MemoryTerms::*bytes;
  std::string_view what;
};

/// All terms, in the order of the reports.
inline constexpr std::array memory_terms{
    MemoryTerm{"parameters", &MemoryTerms::parameters, "weights, and their 16-bit copy under autocast"},
    MemoryTerm{"gradients", &MemoryTerms::gradients, "one value per parameter"},
    MemoryTerm{"optimizer_state", &MemoryTerms::optimizer_state,
               "momentum or moments, and fp32 master weights"},
    MemoryTerm{"activations", &MemoryTerms::activations,
               "values kept for backward, and the largest temporary ones"},
    MemoryTerm{"workspace", &MemoryTerms::workspace, "scratch space of cuDNN and cuBLAS"},
    MemoryTerm{"context", &MemoryTerms::context, "CUDA context and libraries"},
    MemoryTerm{"gradient_buckets", &MemoryTerms::gradient_buckets, "copies of the gradients to reduce"},
    MemoryTerm{"communication_buffers", &MemoryTerms::communication_buffers, "buffers of NCCL's channels"},
    MemoryTerm{"fragmentation", &MemoryTerms::fragmentation,
               "held by the allocator, but not used by tensors"},
    MemoryTerm{"server", &MemoryTerms::server, "the parameter server in this GPU's memory"},
    MemoryTerm{"stated", &MemoryTerms::stated, "all that the trace states (memory_bytes)"}};

/// Whether a report lists a term: either the trace states the whole, or the terms are known; `server` only if
/// there is one.
bool is_listed(const MemoryTerms& terms, const MemoryTerm& term);

Bytes total(const MemoryTerms& terms);

/// The largest of them, the first among equal ones.
const MemoryTerm& largest_term(const MemoryTerms& terms);

/// State of parameters of which ranks that hold the same ones keep one part each.
struct StateShards {
  bool optimizer = false, gradients = false, parameters = false;
  /// The ranks that divide it, by the axis that sums a parameter's gradient; without entry: 1.
  std::map<Axis, int> ranks = {};
};

/// The fullest moment of a step, as a walk over its layers finds it (lowering/lowered_memory.hpp).
struct FullestMoment {
  Bytes weight_copies;  ///< 16-bit copies under autocast
  Bytes gradients;      ///< besides those of earlier micro-batches
  Bytes activations;    ///< kept for backward, and temporary tensors
  Bytes update;         ///< temporary tensors of the optimizer
  Bytes workspace;      ///< of the libraries of products
  Bytes kept;           ///< activations of a micro-batch between its forward and its backward pass
};

/// The values of a layer that are not kept for backward, because it computes them again: the input, which
/// the layer before writes, or everything.
enum class NotKept { nothing, input, all };

/// Everything but the layers that affects a rank's memory.
struct MemorySetting {
  double batch = 1;  ///< samples per micro-batch: only one is in flight
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  Bytes context = {};
  Bytes gradient_buckets = {};
  Bytes communication_buffers = {};
  Bytes server = {};
  bool has_optimizer = true;              ///< false: parameter servers hold the optimizer's state
  std::optional<MemoryRules> rules = {};  ///< of the stack; nothing: the minimum
  bool fused_elementwise = false;         ///< of the stack
  StateShards shards = {};
  double gathered_parameters = 0;  ///< values that a rank holds besides its shard while it uses them
  /// Bytes per gradient in the buffers that are reduced, if gradients exist only there.
  std::optional<Bytes> buffered_gradient = {};
  /// Micro-batches whose activations are kept besides that of the backward pass: a pipeline has several under
  /// way.
  double earlier_micro_batches = 0;
  bool has_earlier_gradients = false;  ///< of micro-batches before, to which backward adds
  std::vector<NotKept> not_kept = {};  ///< by layer, of the walk of `fullest`; empty: everything is kept
  /// In place of the largest sum of all terms, and of the rules' kept values.
  std::optional<FullestMoment> fullest = {};
};

/// Values of optimizer state kept per parameter: sgd 0, momentum and lars 1, adam and lamb 2; 4 bytes each, 2
/// in pure_bf16.
int optimizer_states(Optimizer optimizer);

/// Activations that the layers keep for the backward pass of one sample, plus the largest transient: the
/// gradients of a layer's output and input, which exist together while backward is in that layer. The largest
/// is added to the total although only that of the last layer coincides with it: an upper bound, which stands
/// for memory that frameworks free late. Source of the kept values: PyTorch's autograd; for transformers
/// Korthikanti et al. 2022, arXiv 2205.05198, equation 2 (sbh(34 + 5as/h) bytes per layer in 16 bits).
Bytes activations_per_sample(const std::vector<Layer>& layers, Precision precision);

/// Activations of a batch under a stack's rules: the fullest moment of the backward pass. When it is in a
/// layer, this layer's and all earlier layers' activations are still there, and so are the gradients of the
/// layer's output and input; activations of later layers are free again. A layer keeps the same as in the
/// minimum, except for the type of a dropout's mask and the indices of max pooling, and the rules' `kept`
/// values. Each of these tensors is rounded up to the allocator's unit.
Bytes kept_activations(const std::vector<Layer>& layers, const MemorySetting& setting,
                       const MemoryRules& rules);

/// The size of the block that the allocator gives for a tensor.
Bytes block_size(Bytes tensor, const MemoryRules& rules);

/// cuBLAS gets 8.1 MiB from PyTorch (CUBLAS_WORKSPACE_CONFIG's default :4096:2:16:8). A model with
/// convolutions gets 256 MiB more, assumed: cuDNN needs none for implicit GEMM and, at batch 128, about 0.5
/// GB for the Winograd algorithm that stores its transformed tiles; the choice depends on the free memory. A
/// stack may state another figure.
Bytes workspace(const std::vector<Layer>& layers, const std::optional<MemoryRules>& rules = {});

/// All terms of one rank.
/// parameters: 4 bytes each in fp32 and tf32, 2 in fp16, bf16, pure_bf16 and fp8; under autocast 4, and 2
/// more for the copy of each matrix op's weights, which autograd holds until its backward. In fp8, 2 more for
/// the two copies of weights in 8 bits (mxfp8 and nvfp4: narrow_values()), which Transformer Engine keeps for
/// the step; none if parameters are sharded. Weights that a layer draws exist a second time. gradients: 4
/// bytes, 2 in fp16, bf16 and pure_bf16. optimizer_state: 4 bytes per state, 4 for the master weights of fp16
/// and bf16, and with rules their parameter_copies. Without these Adam takes 16 bytes per parameter in total
/// in fp32 and fp16, 18 under autocast (Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054, section 3.1). None
/// without has_optimizer. activations: batch x activations_per_sample; with rules, kept_activations.
/// fragmentation: only with rules, a part of all that the allocator holds.
/// With shards, a rank holds one part of a term; parameters in addition those gathered.
/// `earlier`: the layers with the values that earlier micro-batches keep.
/// With setting.fullest, its values for the copies of weights, the gradients, the activations and the
/// workspace; the stack's workspace for convolutions is added.
/// Throws InputError if the batch is negative.
MemoryTerms memory_per_rank(const std::vector<Layer>& layers, const MemorySetting& setting,
                            const std::vector<Layer>& earlier = {});

}  // namespace trainyard
