#pragma once
// Logarithm, exponential and the normal quantile with the same bits on every machine: the C library's differ
// between processors. Plain arithmetic in double; within a few units in the last place.

namespace trainyard::random {

/// Natural logarithm of a positive finite normal number.
double log(double x);

/// e to the x; x between -700 and 700.
double exp(double x);

/// The x with probability p that a standard normal variable is below it, 0 < p < 1. Relative error below
/// 1e-15: Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
/// 37 (1988).
double normal_quantile(double p);

}  // namespace trainyard::random
