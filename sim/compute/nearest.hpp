#pragma once
// How measured kernels of similar shapes correct a curve. A kernel nobody measured takes its curve's time
// times the weighted mean of measured over curve among the kernels of its class (kernel regression, Nadaraya
// and Watson 1964): a kernel at distance d counts (1 + d^2)^-3, and a tenth of a kernel says "as the curve".
// Distances are in powers of two, so that a dimension twice as large is 1 away. Nothing here needs a
// logarithm or a root of the mathematics library, whose last bits differ from machine to machine.

#include "workload/trace.hpp"

namespace trainyard {

/// Logarithm to base 2, linear between powers of two: at most 0.087 too small. `x` > 0.
double rough_log2(double x);

/// Between the sizes of two products; infinite if their operands are stored differently.
double squared_distance(const GemmShape& a, const GemmShape& b);
/// Between channels, window and (at half weight, as a batch matters less) pixels written; infinite if the
/// classes differ.
double squared_distance(const ConvShape& a, const ConvShape& b);
/// Between the bytes of two vector ops.
double squared_distance(Bytes a, Bytes b);

/// The weighted mean of the measured kernels added.
class Correction {
public:
  /// A kernel that took `ratio` times what its curve says.
  void add(double squared_distance, double ratio);
  /// What the curve's time is to be multiplied with; 1 where no kernel is near.
  [[nodiscard]] double value() const { return ratios_ / weights_; }

private:
  double weights_ = 0.1;
  double ratios_ = 0.1;
};

}  // namespace trainyard
