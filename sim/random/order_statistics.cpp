#include "random/order_statistics.hpp"

#include "random/functions.hpp"

#include <stdexcept>

namespace trainyard::random {

namespace {

constexpr double widest = 9;  // less than 1e-18 of a normal distribution lies beyond
constexpr int steps = 2304;   // of 1/128: the error of Simpson's rule is below 1e-10
constexpr double step = 2 * widest / steps;

double density(double x) {
  constexpr double one_by_root_of_two_pi = 0.39894228040143267794;
  return one_by_root_of_two_pi * exp(-x * x / 2);
}

/// p to the n; 0 if negligible.
double to_power(double p, double n) {
  if (p <= 0) return 0;
  constexpr double negligible = -600;
  const double logarithm = n * log(p);
  return logarithm < negligible ? 0 : exp(logarithm);
}

}  // namespace

double expected_maximum(int draws, double sd) {
  if (draws < 1 || sd < 0) throw std::invalid_argument("a maximum of no draws, or of a negative deviation");
  if (draws == 1 || sd == 0) return 0;
  const double others = draws - 1;
  // Both integrals by Simpson's rule: the distribution function is summed along with the outer integral.
  double below = 0;
  double sum = 0;
  double here = density(-widest);
  for (int i = 0; i < steps; ++i) {
    const double x = -widest + i * step;
    const double quarter = density(x + step / 4);
    const double middle = density(x + step / 2);
    const double three_quarters = density(x + 3 * step / 4);
    const double next = density(x + step);
    const double to_middle = step / 12 * (here + 4 * quarter + middle);
    const double to_next = to_middle + step / 12 * (middle + 4 * three_quarters + next);
    sum += x * here * to_power(below, others) +
           4 * (x + step / 2) * middle * to_power(below + to_middle, others) +
           (x + step) * next * to_power(below + to_next, others);
    below += to_next;
    here = next;
  }
  return sd * draws * sum * step / 6;
}

}  // namespace trainyard::random
