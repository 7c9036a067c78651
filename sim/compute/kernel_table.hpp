#pragma once
// Measured times by shape, of a profile's recording: the first place op_time looks, and what corrects its
// curves.

#include "compute/dtype.hpp"
#include "compute/recording.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct ConvKernel {
  OpKind pass{};  ///< conv_forward, conv_dgrad or conv_wgrad
  Dtype dtype{};
  Layout layout{};
  ConvShape shape;
  Seconds duration;
};

struct GemmKernel {
  Dtype dtype{};
  GemmShape shape;
  Seconds duration;
};

/// A vector op. What it does to each value matters less than how many bytes it moves.
struct VectorKernel {
  OpKind kind{};
  Bytes bytes;
  Seconds duration;
  int row = 0;  ///< as in VectorShape
};

/// Kernels in the order find_kernel needs: by everything but the batch, then by batch; vector ops by kind and
/// bytes.
struct KernelTable {
  std::vector<ConvKernel> convs;
  std::vector<GemmKernel> gemms;
  std::vector<VectorKernel> vectors;
};

/// The layout of the activations of a measured convolution: that its variant names, else nchw.
Layout layout_of(const RecordedKernel& kernel);

/// The row length that a recorded vector op names: of a softmax the number of its variant ("forward w1024").
int row_of(const RecordedKernel& kernel);

/// The kernels of a recording. A convolution in 16 bits counts as the fp32 one of its shape where that is
/// faster, as frameworks then take that one. Throws InputError, with the name of the recording, for a
/// convolution or matrix product that is there twice.
KernelTable kernel_table(const Recording& recording);

/// What the table says about a kernel: its time, or bounds on it, or nothing.
struct MeasuredTime {
  std::optional<Seconds> duration = {};
  std::optional<Seconds> at_least = {};  ///< of a batch beyond the largest measured: that one's time
  std::optional<Seconds> at_most = {};   ///< of a batch below the smallest measured: that one's time
};

/// A convolution's time: exact shape; the batch may lie between two measured ones, the time being linear
/// between them. Never extrapolated.
MeasuredTime find_kernel(const KernelTable& table, OpKind pass, Dtype dtype, Layout layout,
                         const ConvShape& shape);

/// A matrix product's time: exact shape or nothing.
std::optional<Seconds> find_kernel(const KernelTable& table, Dtype dtype, const GemmShape& shape);

}  // namespace trainyard
