#pragma once
// A trace: the ordered ops of one training step on one rank. Made from a model's hyper-parameters
// (make_trace.hpp), or read from a CSV that a user exported or measured (trace_csv.hpp); timed by compute/
// and replayed by the schedule. The names of its enums are used in the CSV, the YAML files and the reports.

#include "collectives/axis.hpp"
#include "collectives/operation.hpp"
#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "workload/shape.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class Phase { forward, backward, optimizer };

/// The computation of an op; selects the table and the fit of the GPU profile for its time.
enum class OpKind {
  conv_forward,
  conv_dgrad,  ///< gradient of the input
  conv_wgrad,  ///< gradient of the weights
  gemm,
  attention,  ///< all of attention in one kernel, forward or backward
  batch_norm_forward,
  batch_norm_backward,
  layer_norm,  ///< forward or backward
  elementwise,
  embedding,  ///< gather of table rows, and scatter in backward
  pooling,
  softmax,
  optimizer,
  measured,  ///< from a user's trace: only its duration is known
  host       ///< the GPU waits for the host, for a given time
};

/// Whether it is work of the matrix units: convolutions, matrix products and fused attention.
constexpr bool is_matrix(OpKind kind) {
  return kind == OpKind::conv_forward || kind == OpKind::conv_dgrad || kind == OpKind::conv_wgrad ||
         kind == OpKind::gemm || kind == OpKind::attention;
}

/// Whether the time of such an op cannot be computed without a given duration.
constexpr bool needs_duration(OpKind kind) { return kind == OpKind::measured || kind == OpKind::host; }

/// The source of an op's duration; the result prints the share of each.
enum class ComputeSource { measured, fitted, roofline };

/// A parameter tensor of `elements` values whose gradient an op completes.
struct Gradient {
  std::string tensor;  ///< "layer1.0.bn1.weight"
  double elements = 0;
  std::optional<Axis> summed_over = Axis::data;  ///< as in Layer; not part of a trace file
  friend bool operator==(const Gradient&, const Gradient&) = default;
};

/// When a collective begins to run: once the op before its own has ended, or its own op.
enum class LaunchTime { start, end };

/// The rank at the other end of a message, by its place in a group.
struct Peer {
  bool is_relative = true;  ///< `place` counts from the own rank, past the last one to the first
  int place = 1;
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// A rank's end of a message: it sends to its peer, or receives from there.
struct MessageEnd {
  bool sends = true;
  Peer peer;
  friend bool operator==(const MessageEnd&, const MessageEnd&) = default;
};

/// The line of a file that describes a value; 0: none. Not a part of the value: all are equal.
struct SourceLine {
  int number = 0;
  friend bool operator==(const SourceLine&, const SourceLine&) { return true; }
};

/// A collective that the ranks of a group launch at an op, or one end of a message between two of them.
struct OpCommunication {
  Operation operation = Operation::all_reduce;
  Bytes size;             ///< one rank's buffer, as nccl-tests counts it
  Axis axis = Axis::all;  ///< whose groups take part, each on its own
  LaunchTime at = LaunchTime::end;
  /// Number of ops after the launch that may run at the same time; the next op waits for the collective.
  /// Empty: only the optimizer waits.
  std::optional<int> waits = {};
  std::optional<MessageEnd> message = {};  ///< of a send_recv between two ranks only
  int root = 0;                            ///< of a broadcast or reduce: its rank's place in the group
  std::string of = {};  ///< the layer whose values are sent, if an op of another launches it
  /// Begins when earlier collectives that run at the same time as ops have ended, even if no op runs
  /// meanwhile.
  bool in_order = false;
  friend bool operator==(const OpCommunication&, const OpCommunication&) = default;
};

/// When a collective or message begins by default: a receive begins with its op, which then waits for it.
constexpr LaunchTime usual_launch(const std::optional<MessageEnd>& message) {
  return message && !message->sends ? LaunchTime::start : LaunchTime::end;
}

/// The number of ops that may run at the same time as a collective, if a trace does not state it: a reduction
/// in backward holds up only the optimizer, any other collective the next op.
constexpr std::optional<int> usual_wait(Phase phase, Operation operation) {
  if (phase == Phase::backward && reduces(operation)) return std::nullopt;
  return 0;
}

/// Why an op is in the trace.
enum class OpRole {
  layer,           ///< work of a layer, or of the optimizer
  gradient_pass,   ///< of the stack, over all gradients: none is reduced before those in backward have ended
  ranks_overhead,  ///< host time that only steps of several ranks have
  recompute,       ///< a forward op repeated in backward; not told apart in files
};

/// The rate of a GPU of which a kernel of a framework reaches a share.
enum class KernelLimit {
  memory,           ///< memory bandwidth
  multiprocessors,  ///< they issue too few accesses; share of an H100's bandwidth, scaled by the fp32 rate
  matrix,           ///< the peak of matrix units in the type of products
  single            ///< the peak in fp32
};

/// The time of a kernel of a framework, instead of the profile's for its kind of op: `fixed`, and its bytes
/// (or FLOPs) at a share of the limit.
struct KernelRate {
  double share = 1;
  KernelLimit limit = KernelLimit::memory;
  Seconds fixed{1.3e-6};
  Seconds per_row = {};  ///< of rows one after the other: fixed + per_row x rows, if longer than the bytes
  Bytes first = {};      ///< of few blocks: these bytes move at first_share of the multiprocessors' limit
  double first_share = 1;
  friend bool operator==(const KernelRate&, const KernelRate&) = default;
};

/// The time of a matrix product of a library, where none of its shape was measured: waves of tiles on the
/// multiprocessors at a share of the peak (compute/product_tiles.hpp).
struct ProductRate {
  double share = 1;     ///< of the peak that the best tiles reach
  double backward = 1;  ///< factor on the share of gradients
  double k_half = 0;    ///< k at which a product takes twice as long per FLOP as with an endless one
  Seconds fixed{2.2e-6};
  double odd = 1, odd_backward = 1;  ///< shares of products of odd rows or columns
  double unaligned = 1;              ///< share of those of dimensions that are no multiple of 16 bytes
  bool grouped = false;  ///< the products of a batch share the multiprocessors, each in tiles of its own
  Bytes sums = {};       ///< moved for each value of the result, if it is added to sums of another type
  friend bool operator==(const ProductRate&, const ProductRate&) = default;
};

struct Op {
  Phase phase{};
  std::string layer;
  OpKind kind{};
  OpRole role = OpRole::layer;  ///< traces in files tell it by the layer's name: role_of()
  int of_layer = -1;            ///< index in the model's layers, -1 for none; not part of a trace file
  Shape shape;
  bool in_8_bits = false;                   ///< a product in 8 bits, or 4, of a step in fp8, mxfp8 or nvfp4
  std::optional<KernelRate> rate = {};      ///< of a kernel that a lowering made
  std::optional<ProductRate> product = {};  ///< of such a matrix product
  double rows = 0;                          ///< of its values
  int launches = 1;                         ///< equal kernels; flops and bytes are those of all
  Seconds host = {};                        ///< that the host needs to launch them
  Seconds gaps = {};                        ///< of the GPU before them
  bool synchronises = false;                ///< the host waits for their end
  bool awaits_start = false;                ///< launched, the host waits until they begin
  Flops flops;                              ///< for the whole batch
  Bytes bytes;                              ///< read from and written to device memory
  std::vector<Gradient> gradients;          ///< complete when this op ends, in the order they become ready
  /// Measured by a user, or computed by an earlier run, on a GPU of mean speed. Empty for host time of
  /// several ranks: their number and the stack decide.
  std::optional<Seconds> duration;
  std::optional<ComputeSource> source;  ///< of the duration; empty counts as measured
  Seconds kernel = {};                  ///< the part of a given duration that is longer on a slower GPU
  std::vector<OpCommunication> communications;  ///< in the order in which they are launched
  SourceLine line = {};                         ///< of the trace's file
  friend bool operator==(const Op&, const Op&) = default;
};

enum class Precision { fp32, tf32, fp16, amp, bf16, amp_bf16, pure_bf16, fp8, mxfp8, nvfp4 };

/// Whether products of a step have operands of 8 or 4 bits.
constexpr bool is_narrow(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
}

enum class Optimizer { sgd, momentum, lars, adam, lamb };

/// Order of the values of an image batch: channel before pixel, or pixel before channel, which PyTorch calls
/// channels_last.
enum class Layout { nchw, nhwc };

/// The prefix of the layer names of gradient passes, and the layer name of the ranks' overhead.
inline constexpr std::string_view gradient_pass_prefix = "gradient_work.";
inline constexpr std::string_view ranks_overhead_layer = "step_overhead_of_ranks";
inline constexpr std::string_view shared_copy_layer = "input_copy_of_ranks";

/// The role of an op read from a file.
constexpr OpRole role_of(std::string_view layer) {
  if (layer.starts_with(gradient_pass_prefix)) return OpRole::gradient_pass;
  return layer == ranks_overhead_layer || layer == shared_copy_layer ? OpRole::ranks_overhead : OpRole::layer;
}

/// Other work of a host that launches ops, and the way of its launches to the GPU.
struct LaunchingHost {
  int places = 0;              ///< launches that wait for the GPU at most; 0: any number
  Seconds between_steps = {};  ///< its work between two steps
  Seconds collective = {};     ///< its work for the launch of a collective
  Seconds synchronise = {};    ///< from the end of an op that it waits for until its next launch gets there
  friend bool operator==(const LaunchingHost&, const LaunchingHost&) = default;
};

struct Trace {
  std::string model;
  int batch_per_gpu = 0;  ///< samples per micro-batch of one rank; 0 if a user's trace does not give it
  std::optional<Precision> precision;            ///< empty if a user's trace does not give it
  int accumulation = 1;                          ///< micro-batches per step
  std::optional<int> sequence_length = {};       ///< tokens per sample; empty without sequences
  std::optional<double> samples_per_epoch = {};  ///< of the training set, if known
  std::optional<Bytes> memory = {};              ///< of a rank at the fullest moment of a step, if known
  std::string gpu =
      {};  ///< whose times the durations are: a profile's name, or the product's; empty: unknown
  LaunchingHost host = {};  ///< of ops that have host time
  std::vector<Op> ops;
  friend bool operator==(const Trace&, const Trace&) = default;
};

/// Whether any op launches a message.
bool has_messages(const Trace& trace);

/// Whether an op computes causal attention: half of the products of its shape's m queries and n keys, two in
/// forward and five in backward. Shape and FLOPs tell it, so that it is also known of traces in files.
bool is_causal_attention(const Op& op);

namespace config {

template <>
struct Names<Phase> {
  static constexpr std::string_view what = "phase";
  static constexpr std::array table{Name{"forward", Phase::forward, "forward pass"},
                                    Name{"backward", Phase::backward, "backward pass"},
                                    Name{"optimizer", Phase::optimizer, "update of the parameters"}};
};

template <>
struct Names<LaunchTime> {
  static constexpr std::string_view what = "launch";
  static constexpr std::array table{Name{"start", LaunchTime::start, "when the op before has ended"},
                                    Name{"end", LaunchTime::end, "when the op has ended"}};
};

template <>
struct Names<OpKind> {
  static constexpr std::string_view what = "op kind";
  static constexpr std::array table{
      Name{"conv_forward", OpKind::conv_forward, "convolution"},
      Name{"conv_dgrad", OpKind::conv_dgrad, "gradient of a convolution's input"},
      Name{"conv_wgrad", OpKind::conv_wgrad, "gradient of a convolution's weights"},
      Name{"gemm", OpKind::gemm, "matrix product"},
      Name{"attention", OpKind::attention, "attention in one kernel, forward or backward"},
      Name{"batch_norm_forward", OpKind::batch_norm_forward, "batch normalisation"},
      Name{"batch_norm_backward", OpKind::batch_norm_backward, "gradients of batch normalisation"},
      Name{"layer_norm", OpKind::layer_norm, "layer normalisation, forward or backward"},
      Name{"elementwise", OpKind::elementwise, "one value out per value in: ReLU, addition, cast"},
      Name{"embedding", OpKind::embedding, "gather of table rows; in backward their scatter"},
      Name{"pooling", OpKind::pooling, "maximum or average pooling"},
      Name{"softmax", OpKind::softmax, "softmax, with the loss"},
      Name{"optimizer", OpKind::optimizer, "update of the parameters"},
      Name{"measured", OpKind::measured, "any op with only its duration known"},
      Name{"host", OpKind::host, "host work during which the GPU waits"}};
};

template <>
struct Names<ComputeSource> {
  static constexpr std::string_view what = "duration source";
  static constexpr std::array table{
      Name{"measured", ComputeSource::measured, "a table of measured kernels, or a user's measurement"},
      Name{"fitted", ComputeSource::fitted, "a curve fitted to measured kernels of its class"},
      Name{"roofline", ComputeSource::roofline, "peak rates and assumed fractions of them"}};
};

template <>
struct Names<Precision> {
  static constexpr std::string_view what = "precision";
  static constexpr std::array table{
      Name{"fp32", Precision::fp32, "everything in fp32"},
      Name{"tf32", Precision::tf32, "fp32 storage, TF32 matrix units; fp32 where the GPU has none"},
      Name{"fp16", Precision::fp16, "activations, weights and gradients in fp16, fp32 master weights"},
      Name{"amp", Precision::amp,
           "fp16 autocast: fp16 activations and matrix ops, fp32 weights and gradients"},
      Name{"bf16", Precision::bf16, "like fp16, but in bfloat16"},
      Name{"amp_bf16", Precision::amp_bf16, "like amp, but in bfloat16"},
      Name{"pure_bf16", Precision::pure_bf16,
           "everything in bfloat16, also the optimizer's state: no fp32 copy of the weights"},
      Name{"fp8", Precision::fp8,
           "like bf16, but the products of a transformer's linear layers are in 8 bits"},
      Name{"mxfp8", Precision::mxfp8,
           "like fp8, with a scale for each block of 32 values, on GPUs with such units"},
      Name{"nvfp4", Precision::nvfp4,
           "like fp8, but these products are in 4 bits, with a scale for each block of 16 values, on GPUs "
           "with such units"},
      Name{"float32", Precision::fp32, ""},
      Name{"float", Precision::fp32, ""},
      Name{"single", Precision::fp32, ""},
      Name{"float16", Precision::fp16, ""},
      Name{"half", Precision::fp16, ""},
      Name{"bfloat16", Precision::bf16, ""},
      Name{"amp_fp16", Precision::amp, ""},
      Name{"fp16_amp", Precision::amp, ""},
      Name{"mixed", Precision::amp, ""},
      Name{"fp16_mixed", Precision::amp, ""},
      Name{"16_mixed", Precision::amp, ""},
      Name{"amp_bfloat16", Precision::amp_bf16, ""},
      Name{"bf16_amp", Precision::amp_bf16, ""},
      Name{"bf16_mixed", Precision::amp_bf16, ""},
      Name{"bf16_true", Precision::pure_bf16, ""},
      Name{"float8", Precision::fp8, ""},
      Name{"fp8_mx", Precision::mxfp8, ""},
      Name{"fp4", Precision::nvfp4, ""}};
};

template <>
struct Names<Layout> {
  static constexpr std::string_view what = "layout";
  static constexpr std::array table{Name{"nchw", Layout::nchw, "one image plane per channel"},
                                    Name{"nhwc", Layout::nhwc, "all channels of a pixel together"}};
};

template <>
struct Names<Optimizer> {
  static constexpr std::string_view what = "optimizer";
  static constexpr std::array table{
      Name{"sgd", Optimizer::sgd, "plain gradient descent: no state"},
      Name{"momentum", Optimizer::momentum, "gradient descent with momentum: one value per parameter"},
      Name{"lars", Optimizer::lars, "LARS: momentum with a step size per tensor, one value per parameter"},
      Name{"adam", Optimizer::adam, "Adam: two values per parameter"},
      Name{"lamb", Optimizer::lamb, "LAMB: Adam with a step size per tensor, two values per parameter"},
      Name{"adamw", Optimizer::adam, "Adam with decoupled weight decay: as adam"},
      Name{"fused_adam", Optimizer::adam, ""},
      Name{"fused_adamw", Optimizer::adam, ""},
      Name{"adamw_fused", Optimizer::adam, ""},
      Name{"adamw_torch", Optimizer::adam, ""},
      Name{"adamw_torch_fused", Optimizer::adam, ""},
      Name{"adamw_apex_fused", Optimizer::adam, ""},
      Name{"adamw_hf", Optimizer::adam, ""},
      Name{"decoupled_adamw", Optimizer::adam, ""},
      Name{"sgd_momentum", Optimizer::momentum, "as momentum"},
      Name{"momentum_sgd", Optimizer::momentum, ""},
      Name{"sgdm", Optimizer::momentum, ""},
      Name{"sgd_with_momentum", Optimizer::momentum, ""},
      Name{"nesterov", Optimizer::momentum, "Nesterov's momentum: as momentum"},
      Name{"sgd_nesterov", Optimizer::momentum, ""},
      Name{"nag", Optimizer::momentum, ""},
      Name{"fused_sgd", Optimizer::momentum, ""},
      Name{"larc", Optimizer::lars, ""},
      Name{"fused_lamb", Optimizer::lamb, ""},
      Name{"nvlamb", Optimizer::lamb, ""}};

  static constexpr std::string_view one_value =
      "not simulated; 'momentum' keeps as much state, one value per parameter";
  static constexpr std::string_view two_values =
      "not simulated; 'adam' keeps as much state, two values per parameter";
  static constexpr std::string_view less_than_adam =
      "not simulated; it keeps less state than 'adam', the nearest that is";
  static constexpr std::array other_words{
      OtherWord{"rmsprop", one_value},
      OtherWord{"adagrad", one_value},
      OtherWord{"lion", one_value},
      OtherWord{"signum", one_value},
      OtherWord{"muon", one_value},
      OtherWord{"novograd", one_value},
      OtherWord{"nadam", two_values},
      OtherWord{"radam", two_values},
      OtherWord{"adamax", two_values},
      OtherWord{"adabelief", two_values},
      OtherWord{"adadelta", two_values},
      OtherWord{"adan", "not simulated; it keeps more state than 'adam'"},
      OtherWord{"amsgrad", "not simulated; it keeps one more value per parameter than 'adam'"},
      OtherWord{"sophia", two_values},
      OtherWord{"soap", "not simulated; it keeps more state than 'adam'"},
      OtherWord{"shampoo", "not simulated; it keeps matrices per layer, 'adam' two values per parameter"},
      OtherWord{"adafactor", less_than_adam},
      OtherWord{"came", less_than_adam},
      OtherWord{"galore", less_than_adam},
      OtherWord{"adam_mini", less_than_adam},
      OtherWord{"adam8bit", less_than_adam},
      OtherWord{"adam_8bit", less_than_adam},
      OtherWord{"adamw8bit", less_than_adam},
      OtherWord{"adamw_8bit", less_than_adam},
      OtherWord{"adamw_bnb_8bit", less_than_adam},
      OtherWord{"paged_adamw", less_than_adam},
      OtherWord{"paged_adamw_8bit", less_than_adam},
      OtherWord{"paged_adamw_32bit", two_values},
      OtherWord{"lion_8bit", "not simulated; it keeps less state than 'momentum'"},
      OtherWord{"cpu_adam", "not simulated on the host; 'adam' keeps its state on the GPU"},
      OtherWord{"deepspeed_cpu_adam", "not simulated on the host; 'adam' keeps its state on the GPU"},
      OtherWord{"onebit_adam", "its compression is not simulated; 'adam' keeps as much state"},
      OtherWord{"lbfgs", "not simulated; one of sgd, momentum, lars, adam, lamb"}};
};

}  // namespace config
}  // namespace trainyard
