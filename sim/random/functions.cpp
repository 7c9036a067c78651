#include "random/functions.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace trainyard::random {

namespace {

// ln 2 in two parts: the first has so few bits that its product with a whole number is exact.
constexpr double ln2_high = 6.93147180369123816490e-01;
constexpr double ln2_low = 1.90821492927058770002e-10;

/// For an even number of coefficients, from the highest power down. Odd and even powers are summed
/// separately: a processor works on both at once.
template <std::size_t n>
double polynomial(double x, const double (&coefficients)[n]) {
  static_assert(n % 2 == 0);
  const double square = x * x;
  double odd = 0;
  double even = 0;
  for (std::size_t i = 0; i < n; i += 2) {
    odd = odd * square + coefficients[i];
    even = even * square + coefficients[i + 1];
  }
  return odd * x + even;
}

}  // namespace

double log(double x) {
  // x = mantissa * 2^exponent, from its bits: sqrt(1/2) <= mantissa < sqrt(2)
  constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdU;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits - half_root) >> 52;
  const auto mantissa = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  // ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| below 0.172
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  const double rest = square * polynomial(square, {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                                   1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3});
  const auto whole = static_cast<double>(exponent);
  return whole * ln2_high + (2 * s + (2 * s * rest + whole * ln2_low));
}

double exp(double x) {
  constexpr double per_ln2 = 1.4426950408889634074;
  const double whole = std::floor(x * per_ln2 + 0.5);
  const double rest = (x - whole * ln2_high) - whole * ln2_low;  // |rest| below 0.347
  double sum = 1;
  constexpr int terms = 14;
  for (int n = terms; n > 0; --n) sum = 1 + sum * rest / n;
  return std::ldexp(sum, static_cast<int>(whole));  // exact
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           polynomial(r, {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
                          4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
                          1.3314166789178437745e2, 3.3871328727963666080e0}) /
           polynomial(r, {5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
                          2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
                          4.2313330701600911252e1, 1});
  }
  const double tail = std::sqrt(-log(q < 0 ? p : 1 - p));
  double value = 0;
  if (tail <= 5) {
    const double r = tail - 1.6;
    value = polynomial(r, {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                           1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
                           4.63033784615654529590e0, 1.42343711074968357734e0}) /
            polynomial(r, {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                           1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
                           2.05319162663775882187e0, 1});
  } else {
    const double r = tail - 5;
    value = polynomial(r, {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                           2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
                           5.46378491116411436990e0, 6.65790464350110377720e0}) /
            polynomial(r, {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                           7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                           5.99832206555887937690e-1, 1});
  }
  return q < 0 ? -value : value;
}

}  // namespace trainyard::random
