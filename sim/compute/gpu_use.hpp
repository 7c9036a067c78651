#pragma once
// What a kernel needs of a GPU, and how much slower it runs beside something else: why overlapped
// communication is not free. Multiprocessors are taken by whole thread blocks, memory bandwidth by bytes.

#include "compute/gpu_profile.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Parts of a GPU, as ratios of the whole: what a kernel needs for running at its full rate, or what
/// communication takes.
struct GpuUse {
  double sms = 0;     ///< of the multiprocessors
  double memory = 0;  ///< of the memory bandwidth
  double kept = 0.5;  ///< of a kernel: of both, what stays for it however much something else takes

  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

/// The use of a kernel that only moves bytes.
inline constexpr GpuUse moving_bytes{.sms = 0, .memory = 1};

/// What an op needs, from the roofline of its FLOPs and bytes at the GPU's peaks: all of what bounds it, and
/// of the other what it uses meanwhile. An op of which neither is known is taken to need the multiprocessors
/// (assumed: then it suffers least).
GpuUse use_of(const GpuProfile& gpu, Precision precision, const Op& op);

/// How many times as long a kernel takes beside something that takes `taken`: as many as what it needs most
/// is short, at least 1. The part `kept` of everything stays for the kernel, half unless the GPU's profile
/// says otherwise: two that need all of the memory share it, and blocks share a multiprocessor.
double slowdown(const GpuUse& needed, const GpuUse& taken);

}  // namespace trainyard
