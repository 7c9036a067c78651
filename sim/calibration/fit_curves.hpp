#pragma once
// Fits the curves of a profile to measured kernels. Every fit minimises the mean of |r - 1/r| / 2, r =
// predicted over measured time: twice as long and half as long are equally wrong.

#include "compute/curves.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// With fewer kernels than this, nothing is fitted.
inline constexpr std::size_t fewest_kernels = 8;

/// A kernel's work and its time.
struct Sample {
  Work work;
  Seconds time;
};

struct ConvSample {
  Sample sample;
  ConvClass conv_class{};
};

/// Peaks of a GPU by specification.
struct Limits {
  FlopRate peak;
  Bandwidth bandwidth;
};

/// Efficiency, bandwidth fraction and t0 of one class of kernels; efficiency and fraction at most 1. Rounded
/// to four digits. Needs at least one sample.
Roofline fit_roofline(const std::vector<Sample>& samples, const Limits& limits);

/// The same with an efficiency per class. A class with fewer than three kernels gets that of `other`, or that
/// of all classes if there is none either; the first layer is then left out. Efficiencies are at most 1, for
/// 3x3 and other windows 4 (Winograd); the bandwidth fraction is at most 0.93, as in the best streams: a free
/// fit gives 16-bit convolutions several times the memory's bandwidth.
ConvFit fit_conv(const std::vector<ConvSample>& samples, const Limits& limits);

/// bytes / (fraction x bandwidth) + t0.
struct VectorFit {
  double bandwidth_fraction = 0;
  Seconds t0;
};
VectorFit fit_vector(const std::vector<Sample>& samples, Bandwidth bandwidth);

/// A sample timed by a framework, with the name of the call.
struct DispatchedSample {
  Sample sample;
  std::string call;
};

/// max(dispatch of the call, bytes / (fraction x bandwidth) + t0): a kernel shorter than the framework's next
/// launch cannot be seen.
struct DispatchFit {
  VectorFit vector;
  std::map<std::string, Seconds> dispatch;
};
DispatchFit fit_dispatched(const std::vector<DispatchedSample>& samples, Bandwidth bandwidth);
Seconds dispatched_time(const DispatchFit& fit, const std::string& call, Bytes bytes, Bandwidth bandwidth);

}  // namespace trainyard
