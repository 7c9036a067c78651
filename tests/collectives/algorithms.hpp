#pragma once
// All algorithms by name, with their formulas for ranks with one port each, for tests that go through them.

#include "collectives/algorithm_plans.hpp"
#include "collectives/formulas.hpp"
#include "collectives/machines.hpp"
#include "collectives/planner.hpp"
#include "collectives/requirements.hpp"
#include "collectives/ring.hpp"
#include "collectives/torus2d.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

namespace trainyard {

inline CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const CollectiveRequest& request) {
  return plan_by(algorithm, cluster, no_overheads(), request);
}

/// On nodes with one rank each.
inline Seconds formula_by(Algorithm algorithm, Operation operation, int ranks, Bytes size,
                          Bandwidth bandwidth, Seconds latency) {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::chain:
      return chain_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::tree:
      return tree_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::hierarchical:
      return hierarchical_time(operation, ranks, 1, size, bandwidth, latency);
    case Algorithm::hierarchical_tree:
      return hierarchical_tree_time(ranks, 1, size, bandwidth, latency);
    case Algorithm::torus2d: {
      int rows = 1;  // the largest divisor up to the square root
      for (int side = 1; side * side <= ranks; ++side) rows = ranks % side == 0 ? side : rows;
      return torus2d_time(operation, {ranks / rows, rows}, size, bandwidth, latency);
    }
    case Algorithm::halving_doubling:
      return halving_doubling_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::recursive_doubling:
      return recursive_doubling_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::binomial:
      return binomial_time(ranks, size, bandwidth, latency);
    case Algorithm::scatter_allgather:
      return scatter_allgather_time(ranks, size, bandwidth, latency);
    case Algorithm::direct:
      return direct_time(operation, ranks, size, bandwidth, latency);
    case Algorithm::nvls:  // only within a node
    case Algorithm::automatic:
      break;
  }
  throw std::logic_error("no formula for single ranks");
}

inline const std::vector<Operation> all_operations{
    Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather,
    Operation::broadcast,  Operation::reduce,         Operation::gather,
    Operation::scatter,    Operation::all_to_all,     Operation::send_recv};

/// Checks that plan and formula agree for every operation of the algorithm, at 2 to 64 ranks and any size;
/// returns the number of pairs of operation and ranks compared.
inline int check_formula(Algorithm algorithm) {
  int compared = 0;
  for (int ranks = 2; ranks <= 64; ++ranks) {
    const Cluster cluster = flat_cluster(ranks);
    const Seconds latency = route(cluster, Rank{0}, Rank{1}).latency;
    for (const Operation operation : all_operations) {
      const CollectiveRequest request = over_all_ranks(cluster, operation);
      if (!objection(cluster, request, algorithm).empty()) continue;
      const CollectivePlan plan = plan_by(algorithm, cluster, request);
      CHECK(plan.algorithm == algorithm);
      CHECK(plan.operation == operation);
      CHECK(plan.participants == ranks);
      for (const double size : {1.0, 4097.0, 1e6, 3.21e8}) {
        const Seconds formula =
            formula_by(algorithm, operation, ranks, Bytes{size}, Bandwidth{10e9}, latency);
        CAPTURE(ranks);
        CAPTURE(config::name_of(operation));
        CAPTURE(size);
        CHECK(time_alone(cluster, plan, Bytes{size}).si() == doctest::Approx(formula.si()).epsilon(1e-12));
      }
      ++compared;
    }
  }
  return compared;
}

/// The bytes each rank sends and receives at a size.
struct Traffic {
  std::vector<double> sent;
  std::vector<double> received;
};

inline Traffic traffic_of(const Cluster& cluster, const CollectivePlan& plan, Bytes size) {
  Traffic traffic{std::vector<double>(at(cluster.ranks()), 0), std::vector<double>(at(cluster.ranks()), 0)};
  const Collective made = collective(plan, size, 0);
  for (const CollectivePhase& phase : made.phases) {
    for (const Pattern::Edge& edge : plan.patterns[at(phase.pattern)].edges) {
      traffic.sent[at(index(edge.from))] += phase.bytes.si() * phase.messages;
      traffic.received[at(index(edge.to))] += phase.bytes.si() * phase.messages;
    }
  }
  return traffic;
}

/// The texts of an InputError.
struct Said {
  std::string message;
  std::string hint;
};

inline Said refusal_of(Algorithm algorithm, const Cluster& cluster, const CollectiveRequest& request) {
  try {
    (void)plan_by(algorithm, cluster, request);
  } catch (const InputError& error) {
    return {error.diagnostics().front().message, error.diagnostics().front().hint};
  }
  return {};
}

}  // namespace trainyard
