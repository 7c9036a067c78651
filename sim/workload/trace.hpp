#pragma once
// A trace: the ordered ops of one training step as one rank runs them. Made from a model's hyper-parameters
// (resnet.hpp), read from a CSV that a user exported or measured (trace_csv.hpp), and replayed by the schedule.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "units/quantity.hpp"

namespace trainyard {

enum class Phase { forward, backward, optimizer };

/// What an op computes; decides which table and which fit of the GPU profile give its time.
enum class OpKind {
  conv_forward,
  conv_dgrad,  ///< gradient of the input
  conv_wgrad,  ///< gradient of the weights
  gemm,
  batch_norm_forward,
  batch_norm_backward,
  elementwise,
  pooling,
  softmax,
  optimizer,
  measured  ///< of a user's trace: only its duration is known
};

struct ConvShape {
  int batch = 0, in_channels = 0, height = 0, width = 0, out_channels = 0;
  int kernel_h = 0, kernel_w = 0, stride = 1, pad_h = 0, pad_w = 0, groups = 1;
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

/// C[m x n] = A[m x k] * B[k x n], `batch` times; row-major roles as in BLAS with the transposes named.
struct GemmShape {
  int batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

struct VectorShape {
  double elements = 0;
  friend bool operator==(const VectorShape&, const VectorShape&) = default;
};

using Shape = std::variant<std::monostate, ConvShape, GemmShape, VectorShape>;

/// Where an op's duration came from; the result prints the share of each.
enum class ComputeSource { measured, fitted, roofline };

/// A parameter tensor whose gradient an op completes; `elements` values.
struct Gradient {
  std::string tensor;  ///< "layer1.0.bn1.weight"
  double elements = 0;
  friend bool operator==(const Gradient&, const Gradient&) = default;
};

enum class Communication { none, all_reduce };

struct Op {
  Phase phase{};
  std::string layer;
  OpKind kind{};
  Shape shape;
  Flops flops;  ///< of this op for the whole batch
  Bytes bytes;  ///< read from and written to device memory
  std::vector<Gradient> gradients;  ///< complete when this op ends, in the order they become ready
  std::optional<Seconds> duration;  ///< measured by a user, or the one a former run computed
  std::optional<ComputeSource> source;  ///< of the duration
  Communication communication = Communication::none;  ///< launched when this op ends
  Bytes communication_bytes;                          ///< of that collective, one rank's buffer
};

enum class Precision { fp32, tf32, fp16, amp, bf16, amp_bf16 };
enum class Optimizer { sgd, momentum, adam };

struct Trace {
  std::string model;
  int batch_per_gpu = 0;  ///< samples in the step of one rank
  Precision precision{};
  std::vector<Op> ops;
};

}  // namespace trainyard
