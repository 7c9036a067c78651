#pragma once
// Measured times by shape, from a profile's recording: op_time uses them first, and corrects its curves with
// them.

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
  bool is_derived = false;  ///< the time of a longer call, less a part that was fitted
};

/// A vector op. Its time depends on its bytes more than on its arithmetic.
struct VectorKernel {
  OpKind kind{};
  Bytes bytes;
  Seconds duration;
  int row = 0;                        ///< as in VectorShape
  std::optional<Dtype> dtype = {};    ///< of its values, if the recording says
  std::optional<Layout> layout = {};  ///< if its variant names one ("nchw c64")
};

/// Kernels in the order required by find_kernel: by everything but the batch, then by batch; vector ops by
/// kind and bytes.
struct KernelTable {
  std::vector<ConvKernel> convs;
  std::vector<GemmKernel> gemms;
  std::vector<VectorKernel> vectors;
};

/// The layout of the activations of a measured convolution: from its variant, nchw by default.
Layout layout_of(const RecordedKernel& kernel);

/// A recorded vector op.
VectorKernel vector_kernel(const RecordedKernel& kernel);

/// The row length of a recorded vector op: for a softmax, the number in its variant ("forward w1024").
int row_of(const RecordedKernel& kernel);

/// Whether a recorded product is a call of a linear layer in 8 bits that also casts its input from 16 bits:
/// variant "with_cast".
bool has_cast(const RecordedKernel& kernel);

/// The kernels of a recording; calls with a cast and attention are none. A convolution in 16 bits gets the
/// time of the fp32 one of its shape if that is shorter, since frameworks then choose it. Throws InputError,
/// naming the recording, for a convolution or matrix product listed twice.
KernelTable kernel_table(const Recording& recording);

/// The table's answer for a kernel: its time, or bounds on it, or nothing.
struct MeasuredTime {
  std::optional<Seconds> duration = {};
  std::optional<Seconds> at_least = {};  ///< batch above the largest measured one: that one's time
  std::optional<Seconds> at_most = {};   ///< batch below the smallest measured one: that one's time
};

/// A convolution's time for the exact shape; the time is interpolated linearly between two measured batches,
/// never extrapolated.
MeasuredTime find_kernel(const KernelTable& table, OpKind pass, Dtype dtype, Layout layout,
                         const ConvShape& shape);

/// A matrix product of the exact shape, or null.
const GemmKernel* find_product(const KernelTable& table, Dtype dtype, const GemmShape& shape);
/// Its time, or empty.
std::optional<Seconds> find_kernel(const KernelTable& table, Dtype dtype, const GemmShape& shape);

}  // namespace trainyard
