#pragma once
// The share of a GPU that a kernel needs, and how much concurrent work slows it down: why overlapped
// communication is not free. Multiprocessors are occupied by whole thread blocks, memory bandwidth by bytes.

#include "compute/gpu_profile.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Fractions of a GPU: needed by a kernel to run at its full rate, or used by communication.
struct GpuUse {
  double sms = 0;     ///< of the multiprocessors
  double memory = 0;  ///< of the memory bandwidth
  double kept = 0.5;  ///< for kernels: the minimum of both left to it by concurrent work
  /// For kernels: its blocks wait for each other, so that it begins only once all multiprocessors are free.
  bool persistent = false;

  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

/// The use of a kernel that only moves bytes.
inline constexpr GpuUse moving_bytes{.sms = 0, .memory = 1};

/// The needs of an op, from the roofline of its FLOPs and bytes at the GPU's peaks: all of the resource that
/// limits it, and of the other the fraction used meanwhile. An op with neither known is assumed to need the
/// multiprocessors, where it is slowed least.
GpuUse use_of(const GpuProfile& gpu, Precision precision, const Op& op);

/// Factor on a kernel's time while concurrent work uses `taken`: that of the resource with the largest
/// shortage, at least 1. The fraction `kept` of everything stays for the kernel, half unless the GPU's
/// profile says otherwise: two kernels that need all of the memory share it, and blocks share a
/// multiprocessor. Infinite for a persistent kernel and work that holds multiprocessors.
double slowdown(const GpuUse& needed, const GpuUse& taken);

}  // namespace trainyard
