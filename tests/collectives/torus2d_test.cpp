#include "collectives/torus2d.hpp"

#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

std::pair<int, int> grid_of(const Cluster& cluster) {
  const auto grid = torus_grid(cluster, all_ranks(cluster));
  return grid ? std::pair(grid->columns, grid->rows) : std::pair(0, 0);
}

}  // namespace

TEST_CASE("torus2d equals its formula at all numbers of ranks up to 64 that make a grid") {
  // 4 to 64 without the 16 primes from 5 on
  CHECK(check_formula(Algorithm::torus2d) == 3 * (61 - 16));
}

TEST_CASE("grids are the fabric's, whole nodes in a row, or nearest to a square") {
  CHECK(grid_of(flat_cluster(64)) == std::pair(8, 8));
  CHECK(grid_of(flat_cluster(32)) == std::pair(8, 4));
  CHECK(grid_of(flat_cluster(6)) == std::pair(3, 2));
  CHECK(grid_of(flat_cluster(3)) == std::pair(0, 0));
  CHECK(grid_of(flat_cluster(13)) == std::pair(0, 0));
  CHECK(grid_of(even_cluster(8, 4)) == std::pair(8, 4));
  CHECK(grid_of(even_cluster(4, 8)) == std::pair(8, 4));
  CHECK(grid_of(even_cluster(3, 2)) == std::pair(2, 3));
  CHECK(grid_of(even_cluster(1, 8)) == std::pair(4, 2));
  const std::string torus =
      "{kind: torus2d, nic: 40 GB/s, latency: 2 us, hop_latency: 1 us, dimensions: [2, 8], link: 10 GB/s}";
  CHECK(grid_of(single_gpus(16, torus)) == std::pair(2, 8));
  CHECK(grid_of(even_cluster(16, 2, torus)) == std::pair(4, 8));
  // ABCI's runs on 2,048 and 2,176 GPUs
  CHECK(grid_of(even_cluster(512, 4)) == std::pair(64, 32));
  CHECK(grid_of(even_cluster(544, 4)) == std::pair(64, 34));
  // not all of its places
  CHECK(grid_of(single_gpus(15, torus)) == std::pair(5, 3));
}

TEST_CASE("on a torus of the same shape every link carries the same, both ways round") {
  const Cluster cluster = single_gpus(
      16,
      "{kind: torus2d, nic: 40 GB/s, latency: 2 us, hop_latency: 1 us, dimensions: [4, 4], link: 10 GB/s}");
  const CollectivePlan plan =
      torus2d(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  for (const PhasePlan& phase : plan.phases) {
    const Pattern& pattern = plan.patterns[at(phase.pattern)];
    for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
      // out of the GPU, its NIC, one link between routers, in at the other NIC
      CHECK(pattern.route(edge).size() == 5);
    }
    for (const LinkUse& use : link_uses(pattern)) {
      const bool is_between_routers = link_name(cluster, use.link).starts_with("router");
      CHECK(use.times == (is_between_routers ? 1 : 2));
    }
  }
  // both directions at once: half of the time that one port each would take
  const double rows = 2 * 3 * (4e-6 - 1e-6 + 2e-9 + 1e8 / 4 / 2 / 10e9);
  const double columns = 2 * 3 * (4e-6 - 1e-6 + 2e-9 + 1e8 / 16 / 2 / 10e9);
  CHECK(time_alone(cluster, plan, Bytes{1e8}).si() == doctest::Approx(rows + columns).epsilon(1e-9));
}

TEST_CASE("torus2d: every rank sends 2(n-1)/n of its buffer, and rows and columns deliver") {
  const Cluster cluster = flat_cluster(12);
  const CollectivePlan plan =
      torus2d(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  REQUIRE(plan.phases.size() == 3);
  const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
  for (int rank = 0; rank < 12; ++rank)
    CHECK(traffic.sent[at(rank)] == doctest::Approx(1e6 * 2 * 11 / 12).epsilon(1e-12));
  for (std::size_t ring = 0; ring < 6; ++ring) {
    const int row = index(plan.patterns[0].edges[4 * ring].from) / 4;
    for (std::size_t i = 0; i < 4; ++i) CHECK(index(plan.patterns[0].edges[4 * ring + i].to) / 4 == row);
    for (const std::set<int>& parts : parts_after_ring(plan.patterns[0], 4 * ring, 4, 3, true))
      CHECK(parts.size() == 1);
  }
  for (std::size_t ring = 0; ring < 8; ++ring) {
    const int column = index(plan.patterns[1].edges[3 * ring].from) % 4;
    for (std::size_t i = 0; i < 3; ++i) CHECK(index(plan.patterns[1].edges[3 * ring + i].to) % 4 == column);
    for (const std::set<int>& parts : parts_after_ring(plan.patterns[1], 3 * ring, 3, 4, true))
      CHECK(parts.size() == 3);
  }
}

TEST_CASE("a requested grid takes its own formula, and other grids of the same ranks take other times") {
  const Cluster cluster = flat_cluster(24);
  const Seconds latency = route(cluster, Rank{0}, Rank{1}).latency;
  std::set<double> times;
  for (const TorusGrid grid : {TorusGrid{6, 4}, TorusGrid{4, 6}, TorusGrid{12, 2}, TorusGrid{3, 8}}) {
    for (const Operation operation :
         {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather}) {
      CollectiveRequest request = over_all_ranks(cluster, operation);
      request.grid = grid;
      const double time = time_alone(cluster, plan_by(Algorithm::torus2d, cluster, request), Bytes{3e6}).si();
      CAPTURE(grid.columns);
      CHECK(time == doctest::Approx(torus2d_time(operation, grid, Bytes{3e6}, Bandwidth{10e9}, latency).si())
                        .epsilon(1e-12));
      if (operation == Operation::all_reduce) times.insert(time);
    }
  }
  CHECK(times.size() == 4);
}

TEST_CASE("a requested grid needs one place per rank") {
  const Cluster cluster = flat_cluster(24);
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  request.grid = TorusGrid{6, 5};
  const Said said = refusal_of(Algorithm::torus2d, cluster, request);
  CHECK(said.message.find("30 places") != std::string::npos);
  CHECK(said.hint.find("torus2d") == std::string::npos);
  CHECK(said.hint.find("ring") != std::string::npos);
  // 7 ranks form no grid of their own, and none of 8 places
  const Cluster seven = flat_cluster(7);
  CollectiveRequest of_seven = over_all_ranks(seven, Operation::all_reduce);
  of_seven.grid = TorusGrid{4, 2};
  CHECK(refusal_of(Algorithm::torus2d, seven, of_seven).message.find("8 places") != std::string::npos);
}

TEST_CASE("primes and fewer than four ranks make no grid") {
  const Cluster seven = flat_cluster(7);
  const Said prime = refusal_of(Algorithm::torus2d, seven, over_all_ranks(seven, Operation::all_reduce));
  CHECK(prime.message.starts_with("torus2d cannot carry out all_reduce on these 7 ranks: 7 "));
  CHECK(prime.hint ==
        "algorithm: ring, chain, tree, hierarchical, hierarchical_tree, halving_doubling, "
        "recursive_doubling, direct");
  const Cluster three = flat_cluster(3);
  CHECK(refusal_of(Algorithm::torus2d, three, over_all_ranks(three, Operation::all_gather))
            .message.find(" 4 ranks") != std::string::npos);
}
