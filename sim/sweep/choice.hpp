#pragma once
// Chooses a point: each point's time, cost and energy of the training, the smallest of each under the goal's
// limits, and the points that no other beats.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace trainyard {

/// For all of the goal's epochs, or until the learner's target. Unknown needs are empty.
struct Needs {
  std::optional<double> time_s;
  std::optional<double> cost_usd;
  std::optional<double> energy_j;
};

/// For each row; nothing is known for a failed row, or if the model does not define an epoch. If the points
/// are whole jobs, the totals of these. Otherwise rent is paid for the length of the training, and energy is
/// the average power times its length. If they learn (is_of_learners()), that is the simulated time to the
/// target, which is unknown for points that do not reach it.
std::vector<Needs> needs_of(const SweepResult& result);

/// Whether points are chosen by the time in which a learner reaches its target: points learn, some reach it,
/// and neither the goal nor the experiments name another length of the training.
bool is_of_learners(const SweepResult& result);

/// Rows by their indices.
struct Choice {
  std::optional<std::size_t> fastest, cheapest, least_energy;
  /// Rows that no other row beats: as good in time, cost and energy and better in one of them. An unknown
  /// need counts as infinite. Sorted by time.
  std::vector<std::size_t> pareto;
};

/// Among the rows that satisfy the limits of the sweep's goal; a limit on an unknown need is not satisfied.
Choice choose(const SweepResult& result, const std::vector<Needs>& needs);

}  // namespace trainyard
