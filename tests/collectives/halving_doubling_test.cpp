#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"

#include <bit>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// Whether every rank ends with the operation's result.
bool exchanges_deliver(const CollectivePlan& plan, int ranks) {
  const bool adds_up = reduces(plan.operation);
  const int parts = adds_up ? static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))) : ranks;
  PartExchange exchange(ranks, parts, adds_up);
  for (const PhasePlan& phase : plan.phases) {
    if (phase.messages != 1 || !exchange.exchange(plan.patterns[at(phase.pattern)], phase.share))
      return false;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int part = 0; part < parts; ++part) {
      if (plan.operation == Operation::reduce_scatter && part != rank) continue;
      if (!exchange.has(rank, part)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE(
    "halving-doubling equals its formula: all_reduce and reduce at 2 to 64 ranks, halves at powers of two") {
  CHECK(check_formula(Algorithm::halving_doubling) == 2 * 63 + 2 * 6);
}

TEST_CASE("recursive doubling equals its formula: all_reduce at 2 to 64 ranks, all_gather at powers of two") {
  CHECK(check_formula(Algorithm::recursive_doubling) == 63 + 6);
}

TEST_CASE("halving and doubling deliver: every contribution once in every sum") {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const Cluster cluster = flat_cluster(ranks);
    CAPTURE(ranks);
    const CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
    CHECK(exchanges_deliver(halving_doubling(cluster, no_overheads(), request), ranks));
    CHECK(exchanges_deliver(recursive_doubling(cluster, no_overheads(), request), ranks));
    if (!std::has_single_bit(static_cast<unsigned>(ranks))) continue;
    const CollectiveRequest scatter = over_all_ranks(cluster, Operation::reduce_scatter);
    CHECK(exchanges_deliver(halving_doubling(cluster, no_overheads(), scatter), ranks));
    const CollectiveRequest gather = over_all_ranks(cluster, Operation::all_gather);
    CHECK(exchanges_deliver(halving_doubling(cluster, no_overheads(), gather), ranks));
    CHECK(exchanges_deliver(recursive_doubling(cluster, no_overheads(), gather), ranks));
  }
}

TEST_CASE("a reduce by halves sends every part of the sum to its root once, wherever the root is") {
  for (const int ranks : {2, 3, 6, 8, 13}) {
    const Cluster cluster = flat_cluster(ranks);
    for (int root = 0; root < ranks; ++root) {
      CAPTURE(ranks);
      CAPTURE(root);
      const CollectivePlan plan =
          halving_doubling(cluster, no_overheads(), over_all_ranks(cluster, Operation::reduce, root));
      const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
      PartExchange exchange(ranks, active, true);
      for (const PhasePlan& phase : plan.phases)
        REQUIRE(exchange.exchange(plan.patterns[at(phase.pattern)], phase.share));
      for (int part = 0; part < active; ++part) CHECK(exchange.has(root, part));
    }
  }
}

TEST_CASE("halving-doubling sends 2(n-1)/n of the buffer from every rank of a power of two") {
  const Cluster cluster = flat_cluster(16);
  const CollectivePlan plan =
      halving_doubling(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  CHECK(plan.phases.size() == 8);
  CHECK(plan.patterns.size() == 4);
  const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
  for (int rank = 0; rank < 16; ++rank) {
    CHECK(traffic.sent[at(rank)] == doctest::Approx(1e6 * 2 * 15 / 16).epsilon(1e-12));
    CHECK(traffic.received[at(rank)] == doctest::Approx(1e6 * 2 * 15 / 16).epsilon(1e-12));
  }
  // most bytes between neighbours
  CHECK(plan.patterns[0].edges[0].to == Rank{1});
  CHECK(plan.phases[0].share == 0.5);
}

TEST_CASE("recursive doubling sends the whole buffer once for each doubling of the ranks") {
  const Cluster cluster = flat_cluster(6);
  const CollectivePlan plan =
      recursive_doubling(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
  // 0 and 2 are folded into 1 and 3, which also send the result back
  CHECK(traffic.sent == std::vector<double>{1e6, 3e6, 1e6, 3e6, 2e6, 2e6});
  CHECK(traffic.received == traffic.sent);
}

TEST_CASE("scattering and gathering by halves needs a power of two") {
  const Cluster cluster = flat_cluster(6);
  const Said said =
      refusal_of(Algorithm::halving_doubling, cluster, over_all_ranks(cluster, Operation::reduce_scatter));
  CHECK(said.message.starts_with("halving_doubling cannot carry out reduce_scatter on these 6 ranks: "));
  CHECK(said.hint == "algorithm: ring, hierarchical, torus2d, direct");
  CHECK(refusal_of(Algorithm::recursive_doubling, cluster, over_all_ranks(cluster, Operation::all_gather))
            .hint == said.hint);
}
