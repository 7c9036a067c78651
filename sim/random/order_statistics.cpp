#include "random/order_statistics.hpp"

#include "random/functions.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace trainyard::random {

namespace {

constexpr double widest = 9;  // less than 1e-18 of a normal distribution lies beyond
constexpr int steps = 2304;   // of 1/128: the error of Simpson's rule is below 1e-10
constexpr double step = 2 * widest / steps;

double density(double x) {
  constexpr double one_by_root_of_two_pi = 0.39894228040143267794;
  return one_by_root_of_two_pi * exp(-x * x / 2);
}

/// A point of the outer integral: its factor, and the logarithm of the distribution function.
struct Node {
  double x = 0;
  double factor = 0;
  double log_below = 0;
};

/// Three for each step of Simpson's rule; the distribution function is summed along with the outer integral.
/// The same for any number of draws.
std::vector<Node> nodes_of_integral() {
  std::vector<Node> nodes;
  nodes.reserve(3 * steps);
  const auto add = [&](double x, double weight, double below) {
    if (below > 0) nodes.push_back({x, weight, log(below)});
  };
  double below = 0;
  double here = density(-widest);
  for (int i = 0; i < steps; ++i) {
    const double x = -widest + i * step;
    const double quarter = density(x + step / 4);
    const double middle = density(x + step / 2);
    const double three_quarters = density(x + 3 * step / 4);
    const double next = density(x + step);
    const double to_middle = step / 12 * (here + 4 * quarter + middle);
    const double to_next = to_middle + step / 12 * (middle + 4 * three_quarters + next);
    add(x, x * here, below);
    add(x + step / 2, 4 * (x + step / 2) * middle, below + to_middle);
    add(x + step, (x + step) * next, below + to_next);
    below += to_next;
    here = next;
  }
  return nodes;
}

const std::vector<Node>& integral() {
  static const std::vector<Node> nodes = nodes_of_integral();  // takes longer than a sum over them
  return nodes;
}

}  // namespace

double expected_maximum(int draws, double sd) {
  if (draws < 1 || sd < 0) throw std::invalid_argument("a maximum of no draws, or of a negative deviation");
  if (draws == 1 || sd == 0) return 0;
  constexpr double negligible = -600;
  const double others = draws - 1;
  double sum = 0;
  for (const Node& node : integral()) {
    const double logarithm = others * node.log_below;
    if (logarithm >= negligible) sum += node.factor * exp(logarithm);
  }
  return sd * draws * sum * step / 6;
}

double expected_order_statistic(int rank, int draws, double sd) {
  if (rank < 1 || rank > draws || sd < 0) throw std::invalid_argument("no such order statistic");
  if (rank == draws) return expected_maximum(draws, sd);
  if (sd == 0) return 0;
  const double wanted = log((rank - 0.375) / (draws + 0.25));
  const auto above = std::ranges::upper_bound(integral(), wanted, {}, &Node::log_below);
  const auto below = above - 1;
  const double part = (wanted - below->log_below) / (above->log_below - below->log_below);
  return sd * (below->x + part * (above->x - below->x));
}

}  // namespace trainyard::random
