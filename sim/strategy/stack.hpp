#pragma once
// A software stack: how the framework groups gradients into collectives, and its overheads
// (workloads/stacks/*.yaml).

#include "collectives/library.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "lowering/optimizer_kernels.hpp"
#include "lowering/runtime.hpp"
#include "strategy/gradient_pass.hpp"
#include "strategy/graphed_layers.hpp"
#include "strategy/layer_work.hpp"
#include "strategy/op_slowdown.hpp"
#include "strategy/parallelism.hpp"
#include "strategy/persistent_kernels.hpp"
#include "strategy/routing.hpp"
#include "strategy/server_rules.hpp"
#include "strategy/unit_rules.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"
#include "workload/memory_rules.hpp"
#include "workload/trace.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The type of the gradient tensors that are reduced.
enum class GradientDtype { as_computed, fp32, fp16, bf16, fp16_with_amp };

/// Bytes per value of a reduced gradient.
Bytes size_of(GradientDtype dtype, Precision precision);

/// How the GPUs of one node send data to each other.
enum class IntraNode { direct, host };

/// Horovod's tensor fusion (fusion.hpp).
struct Fusion {
  Sourced<Bytes> threshold;
  Sourced<Seconds> cycle_time;
};

/// Scalars that the hosts of several nodes sum over all ranks after every step, one after the other: each
/// goes twice round a ring of all GPUs, as in TensorFlow's RingReducer.
struct ScalarRings {
  int count = 1;
  Sourced<Seconds> hop;       ///< to the next GPU of the same node
  Sourced<Seconds> node_hop;  ///< to a GPU of another node
};

/// Factors on the time of fused attention: of the stack's kernel over that of the GPU profile.
struct AttentionScale {
  Sourced<double> forward{.value = 1}, backward{.value = 1};
};

/// The samples of a step are copied from the host to the GPU between two steps, and nothing hides that.
struct InputCopy {
  double bytes_per_value = 4;  ///< of the model's input: an image's channels x height x width
  std::string source = {};     ///< its documentation
};

/// Sums between nodes that hosts make: each collective's data goes from one GPU of every node to its host, is
/// summed there by one core, and goes back.
struct HostReduction {
  Sourced<Bandwidth> sum_per_core;  ///< gradient bytes summed per second and host core
};

/// Changes by the XLA compiler in a stack that has it, besides fusing element-wise ops.
struct WithXla {
  std::optional<bool> overlap;                 ///< nothing: as without it
  std::optional<Sourced<Seconds>> cycle_time;  ///< of tensor fusion; nothing: as without it
  std::string source;
};

/// Sizes of buckets whose reductions overlap with backward, in parameters.
struct OverlappedBuckets {
  double least = 0;
  double per_replica = 0;    ///< as many for each replica, if that is more
  bool first_chunk = false;  ///< of the first chunk of the first stage alone; others have one bucket
  std::string source = {};
};

/// The attention that a stack computes, whatever a model's file says.
enum class StackAttention { sdpa, eager };

struct Stack {
  std::string name;
  std::string title;
  std::string framework;                  ///< "pytorch"; fitted software depends on it
  std::optional<std::string> kernels_of;  ///< another stack, whose fitted factors hold for this one
  Runtime runtime = Runtime::fused;
  std::optional<std::string> lowering;      ///< the rules of other runtimes; default: pytorch_2_11
  std::optional<StackAttention> attention;  ///< default: the model's
  OptimizerKernels optimizer_kernels = OptimizerKernels::foreach_;  ///< of a lowering
  std::optional<Scaling> fp8_scaling;                               ///< of a lowering; default: delayed
  std::vector<GraphedPart> graphs;  ///< of a lowering, in layouts: parts of blocks launched as CUDA graphs
  bool products_in_8_bits = false;  ///< of runtime fused; rules of a lowering say it themselves
  std::optional<Sourced<Bytes>> bucket_first;           ///< size at which the first bucket closes
  std::optional<Sourced<Bytes>> bucket_cap;             ///< size at which the other buckets close
  std::optional<OverlappedBuckets> overlapped_buckets;  ///< instead of both sizes, with `overlap`
  std::optional<Fusion> fusion;                         ///< instead of buckets
  GradientDtype gradient_dtype = GradientDtype::as_computed;
  ServerRules servers;                   ///< how tensors are spread over parameter servers
  bool overlap = true;                   ///< true: buckets are reduced during backward; false: after it
  bool reduce_each_micro_batch = false;  ///< true: accumulated gradients are reduced after every micro-batch
  bool broadcast_buffers = false;   ///< true: rank 0 sends the statistics of batch norms to all, as DDP does
  bool overlap_parameters = false;  ///< true: sharded parameters are gathered during forward
  std::optional<Sharded> shard;     ///< what replicas divide, if the job does not say it
  bool recompute_stops_early = false;  ///< strategy/recompute.hpp, RecomputedBlocks::stops_early
  UnitRules units;                     ///< of parameters that replicas divide
  bool gradient_buffers = false;       ///< true: gradients exist only in the buffers that are reduced
  bool whole_gradients = false;        ///< true: ranks that divide state sum all gradients, not their parts
  bool divided_messages = false;       ///< true: tensor ranks send parts of a message, receivers gather them
  bool fused_accumulation = false;     ///< true: kernels add gradients to those of earlier micro-batches
  bool clip_gradients = false;  ///< true: ranks that share a model or its state sum the gradients' norm
  IntraNode intra_node = IntraNode::direct;
  std::vector<GradientPass> gradient_work;
  std::vector<LayerWork> layer_work;
  std::vector<PersistentKernels> persistent_kernels;
  TokenDispatcher dispatcher = TokenDispatcher::all_to_all;  ///< to experts, unless the experiment says
  bool fused_elementwise = false;                            ///< workload/fuse_elementwise.hpp
  bool xla = false;                 ///< true: fused_elementwise, and the changes of with_xla
  std::optional<WithXla> with_xla;  ///< nothing: the framework has no XLA
  bool overlap_slows = true;        ///< true: concurrent communication slows kernels down
  Layout layout = Layout::nchw;     ///< of the inputs and outputs of convolutions
  CommunicationLibrary library = CommunicationLibrary::nccl;
  NcclVersion nccl = NcclVersion::v2_7_8;         ///< if that is the library
  Sourced<double> compute_scale{.value = 1};      ///< factor on the time of every op
  AttentionScale attention_scale;                 ///< on the time of fused attention
  std::optional<Sourced<Seconds>> op_overhead;    ///< added to every op; default: as the software fitted
  std::optional<InputCopy> input_copy;            ///< nothing: copies of samples are hidden
  std::optional<Sourced<Seconds>> layer_copies;   ///< strategy/layer_copies.hpp
  std::optional<Sourced<Seconds>> repeated_rows;  ///< strategy/repeated_rows.hpp
  Sourced<Seconds> step_overhead;                 ///< host time after every step
  Sourced<Seconds> step_overhead_per_gpu;  ///< additional host time for each GPU of a node after the first
  std::optional<ScalarRings> scalar_rings;
  Sourced<Seconds> micro_batch_overhead;  ///< host time between micro-batches, if there are several ranks
  Sourced<Seconds> collective_overhead;   ///< host time before every collective
  std::optional<HostReduction> host_reduction;  ///< nothing: GPUs sum between nodes, too
  std::optional<MemoryRules> memory;            ///< nothing: the minimum is counted (workload/memory.hpp)
  std::vector<std::string> source;

  OpSlowdown slowdown;     ///< of the experiment's software; not a key
  double slowest_gpu = 1;  ///< kernel times of the slowest of the job's GPUs, relative to the mean; not a key
};

/// Time added to every op: the stack's own, otherwise that of the software.
Seconds op_overhead(const Stack& stack);

/// The sizes at which the first bucket and the others close; PyTorch DDP's if the stack has none.
Bytes first_bucket(const Stack& stack);
Bytes largest_bucket(const Stack& stack);

/// Whether a job's replicas gather parameters unit by unit: they divide the parameters, or FSDP frees them
/// after backward alone (SHARD_GRAD_OP).
bool has_units(const Stack& stack, Sharded shard);

/// The rules of the units of such a job.
UnitRules unit_rules(const Stack& stack, Sharded shard);

/// Whether replicas that divide state sum all gradients by an all-reduce.
bool sums_all_gradients(const Stack& stack, Sharded shard);

/// Reads and checks a stack file. With `xla`, its other keys are as XLA changes them; keys set from outside
/// the file keep their values. Throws InputError with every problem found. Warnings are appended to
/// `warnings`.
Stack load_stack(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

namespace config {

template <>
struct Names<GradientDtype> {
  static constexpr std::string_view what = "gradient type";
  static constexpr std::array table{
      Name{"as_computed", GradientDtype::as_computed,
           "2 bytes per value with fp16, bf16, pure_bf16 and fp8, 4 with the other precisions"},
      Name{"fp32", GradientDtype::fp32, "4 bytes per value"},
      Name{"fp16", GradientDtype::fp16, "2 bytes per value"},
      Name{"bf16", GradientDtype::bf16, "2 bytes per value"},
      Name{"fp16_with_amp", GradientDtype::fp16_with_amp,
           "2 bytes per value in 16 bits, also with amp and amp_bf16, 4 with fp32 "
           "and tf32"}};
};

template <>
struct Names<StackAttention> {
  static constexpr std::string_view what = "attention of a stack";
  static constexpr std::array table{
      Name{"sdpa", StackAttention::sdpa, "in one kernel, where its scores have no trained bias"},
      Name{"eager", StackAttention::eager, "scores, softmax, dropout and context in kernels of their own"},
      Name{"flash", StackAttention::sdpa, ""}, Name{"unfused", StackAttention::eager, ""}};
};

template <>
struct Names<IntraNode> {
  static constexpr std::string_view what = "path between the GPUs of a node";
  static constexpr std::array table{
      Name{"direct", IntraNode::direct,
           "the platform's links: NVLink or PCIe, and host memory if there is no other path"},
      Name{"host", IntraNode::host, "always through host memory, as with NCCL_P2P_DISABLE=1"}};
};

}  // namespace config
}  // namespace trainyard
