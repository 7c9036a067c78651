#pragma once
// e to the x for many values at once: random/functions.hpp's takes a division per term, and losses need one
// exponential per sample and class.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace trainyard::learning {

/// Replaces each value by its exponential; values below -700 count as -700, values above 700 as 700. Relative
/// error below 1e-15. Plain arithmetic without calls, in an order that no compiler changes: the same bits
/// everywhere, on two values at a time.
inline void exponentials(double* values, std::size_t count) {
  constexpr double per_ln2 = 1.4426950408889634074;
  // ln 2 in two parts: the first has so few bits that its product with a whole number is exact.
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double widest = 700;
  constexpr double rounding =
      0x1.8p52;  // added to a number, it leaves its nearest whole number in the low bits
  constexpr int mantissa_bits = 52;
  constexpr std::uint64_t bias = 1023;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::min(widest, std::max(-widest, values[i]));
    const double shifted = x * per_ln2 + rounding;
    const double whole = shifted - rounding;
    const double r = (x - whole * ln2_high) - whole * ln2_low;  // |r| below 0.347
    // Taylor's series to r^13; even and odd powers apart, so that a processor works on both at once.
    const double s = r * r;
    const double even =
        1 + s * (1.0 / 2 +
                 s * (1.0 / 24 +
                      s * (1.0 / 720 + s * (1.0 / 40320 + s * (1.0 / 3628800 + s * (1.0 / 479001600))))));
    const double odd =
        1 + s * (1.0 / 6 +
                 s * (1.0 / 120 +
                      s * (1.0 / 5040 + s * (1.0 / 362880 + s * (1.0 / 39916800 + s * (1.0 / 6227020800))))));
    const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) + bias) << mantissa_bits;
    values[i] = (even + r * odd) * std::bit_cast<double>(exponent);
  }
}

}  // namespace trainyard::learning
