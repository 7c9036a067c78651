#pragma once
// Compares a kernel's result with a reference: some output values, recomputed on the host in double precision
// from the same random data.

#include "dtype.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::cuda {

/// `count` different positions below `elements`, ascending (fewer if there are fewer): the first, the last
/// and others from the hash of their number.
std::vector<std::uint64_t> sample_positions(std::uint64_t elements, int count = 32);

/// Collects comparisons. An error is |got - expected| relative to `magnitude`, the sum of the absolute values
/// of the value's terms (for a single term, its absolute value): cancellation in a sum is not the kernel's
/// error.
class ReferenceCheck {
public:
  /// `what` names the kernel in the message; results are stored in `dtype`.
  ReferenceCheck(std::string what, Dtype dtype) : ReferenceCheck(std::move(what), dtype, dtype) {}
  /// Computed in `compute`, stored in `stored`: the 16-bit GEMM with fp32 results, statistics of a norm.
  ReferenceCheck(std::string what, Dtype compute, Dtype stored)
      : what_(std::move(what)), compute_(compute), stored_(stored) {}

  /// Throws WrongResult if |got - expected| > tolerance_of(compute) * magnitude + rounding_of(stored) *
  /// |expected|, or if `got` is NaN. `position` appears in the message.
  void compare(std::uint64_t position, double got, double expected, double magnitude);

  /// The largest error so far.
  [[nodiscard]] double error() const { return error_; }

private:
  std::string what_;
  Dtype compute_;
  Dtype stored_;
  double error_ = 0;
};

}  // namespace trainyard::cuda
