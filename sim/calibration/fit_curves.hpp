#pragma once
// Fits the curves of a profile to measured kernels. Every fit makes the mean of |r - 1/r| / 2 smallest, r
// being predicted over measured time: twice as long and half as long are equally wrong.

#include "compute/curves.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// Fewer kernels than this fit nothing.
inline constexpr std::size_t fewest_kernels = 8;

/// A kernel's work and what it took.
struct Sample {
  Work work;
  Seconds time;
};

struct ConvSample {
  Sample sample;
  ConvClass conv_class{};
};

/// What a GPU can do at most, by specification.
struct Limits {
  FlopRate peak;
  Bandwidth bandwidth;
};

/// Efficiency, bandwidth fraction and t0 of one class of kernels; efficiency and fraction at most 1. Rounded
/// to four digits. Needs at least one sample.
Roofline fit_roofline(const std::vector<Sample>& samples, const Limits& limits);

/// The same with an efficiency per class. A class with fewer than three kernels gets that of `other`, and
/// that of all classes if there is none either; the first layer is left out then. Efficiencies are at most 1,
/// of 3x3 and other windows 4 (Winograd); the bandwidth fraction at most 0.93, what the best streams reach: a
/// free fit puts several times the memory's bandwidth into 16-bit convolutions.
ConvFit fit_conv(const std::vector<ConvSample>& samples, const Limits& limits);

/// bytes / (fraction x bandwidth) + t0.
struct VectorFit {
  double bandwidth_fraction = 0;
  Seconds t0;
};
VectorFit fit_vector(const std::vector<Sample>& samples, Bandwidth bandwidth);

/// A sample timed from a framework, by the call it was asked for.
struct DispatchedSample {
  Sample sample;
  std::string call;
};

/// max(dispatch of the call, bytes / (fraction x bandwidth) + t0): a kernel shorter than the framework needs
/// to launch the next is not seen.
struct DispatchFit {
  VectorFit vector;
  std::map<std::string, Seconds> dispatch;
};
DispatchFit fit_dispatched(const std::vector<DispatchedSample>& samples, Bandwidth bandwidth);
Seconds dispatched_time(const DispatchFit& fit, const std::string& call, Bytes bytes, Bandwidth bandwidth);

}  // namespace trainyard
