#include "run/fixed_share.hpp"

#include <cmath>

namespace trainyard {

FixedShare fixed_share(const std::function<double(double)>& of, double tolerance) {
  constexpr int by_secants = 12;
  double low = 0;
  double high = 1;
  double weight_low = of(low) - low;
  FixedShare end{high, of(high) - high};
  double weight_high = end.off;
  for (int run = 2; end.off < -tolerance && high - low > tolerance * tolerance; ++run) {
    const double next =
        run < by_secants ? high - weight_high * (high - low) / (weight_high - weight_low) : (low + high) / 2;
    const double off = of(next) - next;
    if (std::abs(off) < tolerance) return {next, off};
    if (off > 0) {
      low = next;
      weight_low = off;
      weight_high /= 2;
    } else {
      high = next;
      end = {next, off};
      weight_high = off;
      weight_low /= 2;
    }
  }
  return end;
}

}  // namespace trainyard
