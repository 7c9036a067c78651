#include "random/order_statistics.hpp"

#include "random/functions.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace trainyard::random {

namespace {

constexpr double widest = 9;  // less than 1e-18 of a normal distribution lies beyond
constexpr int steps = 288;  // of 1/16: the trapezoidal rule errs by less than 1e-10 for up to a million draws
constexpr double step = 2 * widest / steps;

double density(double x) {
  constexpr double one_by_root_of_two_pi = 0.39894228040143267794;
  return one_by_root_of_two_pi * exp(-x * x / 2);
}

/// The normal distribution between x and x + step, by Gauss's rule of five points: exact to rounding.
double between(double x) {
  const double half = step / 2;
  const double middle = x + half;
  const auto both = [&](double offset) {
    return density(middle - offset * half) + density(middle + offset * half);
  };
  return half * (128.0 / 225 * density(middle) + 0.47862867049936646804 * both(0.53846931010568309104) +
                 0.23692688505618908751 * both(0.90617984593866399280));
}

/// A point of the integral: x times the density, and the logarithm of the distribution function.
struct Node {
  double factor = 0;
  double log_below = 0;
};

/// Nodes of the integral for any number of draws.
std::vector<Node> nodes_of_integral() {
  std::vector<double> below(steps + 1);  // distribution function, summed up from its small end
  for (int i = 0; i < steps; ++i) below[i + 1] = below[i] + between(-widest + i * step);
  std::vector<Node> nodes;
  for (int i = 1; i < steps; ++i) {
    const double x = -widest + i * step;
    // Beyond the middle, the part above is the small number.
    const double log_below = 2 * i <= steps ? log(below[i]) : log(1 - below[steps - i]);
    nodes.push_back({x * density(x), log_below});
  }
  return nodes;
}

}  // namespace

double expected_maximum(int draws, double sd) {
  if (draws < 1 || sd < 0) throw std::invalid_argument("a maximum of no draws, or of a negative deviation");
  if (draws == 1 || sd == 0) return 0;
  static const std::vector<Node> nodes = nodes_of_integral();
  constexpr double negligible = -600;
  const double other_draws = draws - 1;
  double sum = 0;
  for (const Node& node : nodes) {
    const double logarithm = other_draws * node.log_below;
    if (logarithm >= negligible) sum += node.factor * exp(logarithm);
  }
  return sd * draws * sum * step;
}

double expected_order_statistic(int rank, int draws, double sd) {
  if (rank < 1 || rank > draws || sd < 0) throw std::invalid_argument("no such order statistic");
  if (rank == draws) return expected_maximum(draws, sd);
  return sd * normal_quantile((rank - 0.375) / (draws + 0.25));
}

double maximum_quantile(int draws, double sd, double probability) {
  const bool is_inside = probability > 0 && probability < 1;
  if (draws < 1 || sd < 0 || !is_inside)
    throw std::invalid_argument("a quantile of no draws, a negative deviation, or no probability");
  constexpr double below_one = 1 - 0x1p-53;
  return sd * normal_quantile(std::min(exp(log(probability) / draws), below_one));
}

}  // namespace trainyard::random
