#pragma once
// Measured times of convolutions and matrix products by shape: the first place op_time looks.

#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// What a matrix unit computes in.
enum class Dtype { fp32, tf32, fp16, bf16 };

struct ConvKernel {
  OpKind pass{};  ///< conv_forward, conv_dgrad or conv_wgrad
  Dtype dtype{};
  ConvShape shape;
  Seconds duration;
};

struct GemmKernel {
  Dtype dtype{};
  GemmShape shape;
  Seconds duration;
};

/// Kernels in the order find_kernel needs: by everything but the batch, then by batch.
struct KernelTable {
  std::vector<ConvKernel> convs;
  std::vector<GemmKernel> gemms;
};

/// What the table says about a kernel: its time, or bounds on it, or nothing.
struct MeasuredTime {
  std::optional<Seconds> duration = {};
  std::optional<Seconds> at_least = {};  ///< of a batch beyond the largest measured: that one's time
  std::optional<Seconds> at_most = {};   ///< of a batch below the smallest measured: that one's time
};

/// A convolution's time: exact shape; the batch may lie between two measured ones, the time being linear
/// between them. Never extrapolated.
MeasuredTime find_kernel(const KernelTable& table, OpKind pass, Dtype dtype, const ConvShape& shape);

/// A matrix product's time: exact shape or nothing.
std::optional<Seconds> find_kernel(const KernelTable& table, Dtype dtype, const GemmShape& shape);

/// Reads a kernel table: columns op (conv_forward, conv_dgrad, conv_wgrad, gemm), dtype, shape, time_us.
/// Throws InputError with every problem found.
KernelTable read_kernel_table(std::string name, std::string_view text);

namespace config {

template <>
struct Names<Dtype> {
  static constexpr std::string_view what = "data type";
  static constexpr std::array table{Name{"fp32", Dtype::fp32, "IEEE single"},
                                    Name{"tf32", Dtype::tf32, "TensorFloat-32 matrix units on fp32 data"},
                                    Name{"fp16", Dtype::fp16, "IEEE half with fp32 accumulation"},
                                    Name{"bf16", Dtype::bf16, "bfloat16 with fp32 accumulation"}};
};

}  // namespace config
}  // namespace trainyard
