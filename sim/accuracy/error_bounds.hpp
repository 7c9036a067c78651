#pragma once
// Intervals of measured / predicted - 1 in which 80 % of measurements are expected, for figures that are not
// a throughput: where their constants come from, and how intervals of independent figures are combined.

namespace trainyard {

/// Ends of measured / predicted - 1 between which 80 % of comparable measurements lie. Both are above -1.
struct ErrorBounds {
  double low = 0, high = 0;

  friend bool operator==(const ErrorBounds&, const ErrorBounds&) = default;
};

/// Bounds of the memory of a GPU: half a width of 0.25 of the logarithm, in steps of 0.05 the narrowest that
/// covers 80 % of each of three sets: published sizes of jobs whose ranks share a model, steps of
/// tests/validation/gpu, steps of other software on an H100 (docs/parameters.md).
inline constexpr ErrorBounds memory_bounds{-0.22, 0.28};

/// Bounds of the average power of GPUs and nodes: 30 % either way. The law of gpu_energy() has no fitted
/// parameter; chosen with the energies of the same steps in view.
inline constexpr ErrorBounds power_bounds{-0.3, 0.3};

/// The part of a job beyond its steps and evaluations, which logs count: 8 % beyond both ends. Chosen with
/// MLPerf's times to train in view: 89 % of 115 lie inside, with 7 % it would be 78.
inline constexpr ErrorBounds beyond_steps{-0.08, 0.08};

/// The bounds of 1 / x, given those of x.
ErrorBounds of_inverse(const ErrorBounds& of);

/// The bounds of a product of two independent quantities: the middles of their logarithms add up, half their
/// widths in squares.
ErrorBounds of_product(const ErrorBounds& a, const ErrorBounds& b);

/// With an independent effect that makes the quantity lower and higher by these factors at most, low <= 1 <=
/// high: it adds up with each side of the middle in squares.
ErrorBounds widened(const ErrorBounds& bounds, double low, double high);

/// The bounds of the time of a job, given those of its samples and of its throughput, which are independent.
ErrorBounds job_time_bounds(const ErrorBounds& samples, const ErrorBounds& throughput);

/// The bounds of the energy over a time.
inline ErrorBounds energy_bounds(const ErrorBounds& time) { return of_product(time, power_bounds); }

}  // namespace trainyard
