#pragma once
// Which point to take: what a training needs at each, the fastest, cheapest and the least energy under the
// goal's limits, and the points that no other beats.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace trainyard {

/// Of all the goal's epochs. A need that is not known is left out.
struct Needs {
  std::optional<double> time_s;
  std::optional<double> cost_usd;
  std::optional<double> energy_j;
};

/// Of each row; of one that failed, and of a model that does not say what an epoch is, none is known. Rent is
/// paid for as long as the training takes; energy is the average power over that time.
std::vector<Needs> needs_of(const SweepResult& result);

/// Rows by their indices.
struct Choice {
  std::optional<std::size_t> fastest, cheapest, least_energy;
  /// Rows that no other row beats: as good in time, cost and energy and better in one of them. A need that is
  /// unknown is as bad as can be. By time.
  std::vector<std::size_t> pareto;
};

/// Among the rows that keep to the limits of the sweep's goal; a limit on what is not known is not kept to.
Choice choose(const SweepResult& result, const std::vector<Needs>& needs);

}  // namespace trainyard
