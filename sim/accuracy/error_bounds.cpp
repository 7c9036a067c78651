#include "accuracy/error_bounds.hpp"

#include <cmath>

namespace trainyard {
namespace {

struct LogInterval {
  double middle = 0, half = 0;
};

LogInterval log_interval(const ErrorBounds& of) {
  const double low = std::log1p(of.low);
  const double high = std::log1p(of.high);
  return {.middle = (high + low) / 2, .half = (high - low) / 2};
}

}  // namespace

ErrorBounds of_inverse(const ErrorBounds& of) {
  return {.low = 1 / (1 + of.high) - 1, .high = 1 / (1 + of.low) - 1};
}

ErrorBounds of_product(const ErrorBounds& a, const ErrorBounds& b) {
  const LogInterval x = log_interval(a);
  const LogInterval y = log_interval(b);
  const double middle = x.middle + y.middle;
  const double half = std::hypot(x.half, y.half);
  return {.low = std::expm1(middle - half), .high = std::expm1(middle + half)};
}

ErrorBounds widened(const ErrorBounds& bounds, double low, double high) {
  const auto [middle, half] = log_interval(bounds);
  return {.low = std::expm1(middle - std::hypot(half, std::log(low))),
          .high = std::expm1(middle + std::hypot(half, std::log(high)))};
}

ErrorBounds job_time_bounds(const ErrorBounds& samples, const ErrorBounds& throughput) {
  const ErrorBounds steps = of_product(samples, of_inverse(throughput));
  return {.low = (1 + steps.low) * (1 + beyond_steps.low) - 1,
          .high = (1 + steps.high) * (1 + beyond_steps.high) - 1};
}

}  // namespace trainyard
