#pragma once
// How measured kernels of similar shapes correct a curve. The time of an unmeasured kernel is its curve's
// time times the weighted mean of measured / curve over the kernels of its class (kernel regression, Nadaraya
// and Watson 1964): a kernel at distance d has weight (1 + d^2)^-3, and weight 0.1 is added for the curve
// itself. Distances are in powers of two: a dimension twice as large is 1 away. Uses no logarithm or root of
// the mathematics library, whose last bits differ between machines.

#include "workload/trace.hpp"

namespace trainyard {

/// Logarithm to base 2, linear between powers of two: at most 0.087 too small. `x` > 0.
double rough_log2(double x);

/// Between the sizes of two products, however their operands are stored.
double squared_distance(const GemmShape& a, const GemmShape& b);
/// Between channels, window and (at half weight, since a batch matters less) pixels written; infinite if the
/// classes differ.
double squared_distance(const ConvShape& a, const ConvShape& b);
/// Between the bytes of two vector ops.
double squared_distance(Bytes a, Bytes b);

/// The weighted mean over the kernels added.
class Correction {
public:
  /// Adds a kernel that took `ratio` times its curve's time.
  void add(double squared_distance, double ratio);
  /// The factor on the curve's time; 1 if no kernel is near.
  [[nodiscard]] double value() const { return ratios_ / weights_; }

private:
  double weights_ = 0.1;
  double ratios_ = 0.1;
};

}  // namespace trainyard
