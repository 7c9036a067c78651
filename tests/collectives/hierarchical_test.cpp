#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("hierarchical equals its formula at 2 to 64 nodes of one rank") {
  CHECK(check_formula(Algorithm::hierarchical) == 3 * 63);
  CHECK(check_formula(Algorithm::hierarchical_tree) == 63);
}

TEST_CASE("hierarchical equals its formula on nodes of several ranks, whose links are all alike") {
  for (const int nodes : {2, 3, 8}) {
    for (const int gpus : {2, 3, 8}) {
      const Cluster cluster = even_cluster(nodes, gpus);
      const Seconds latency = route(cluster, Rank{0}, Rank{1}).latency;
      REQUIRE(route(cluster, Rank{0}, Rank{gpus}).latency.si() == doctest::Approx(latency.si()));
      for (const Operation operation :
           {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather}) {
        const CollectivePlan plan = hierarchical(cluster, no_overheads(), over_all_ranks(cluster, operation));
        const Seconds formula =
            hierarchical_time(operation, nodes, gpus, Bytes{1e8}, Bandwidth{10e9}, latency);
        CHECK(time_alone(cluster, plan, Bytes{1e8}).si() == doctest::Approx(formula.si()).epsilon(1e-12));
      }
      const CollectivePlan plan =
          hierarchical_tree(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
      const Seconds formula = hierarchical_tree_time(nodes, gpus, Bytes{1e8}, Bandwidth{10e9}, latency);
      CHECK(time_alone(cluster, plan, Bytes{1e8}).si() == doctest::Approx(formula.si()).epsilon(1e-12));
    }
  }
}

TEST_CASE("hierarchical sends 2(n-1)/n of the buffer from every rank, and 2(N-1)/(Nk) of it between nodes") {
  const Cluster cluster = even_cluster(4, 8);
  const CollectivePlan plan =
      hierarchical(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  REQUIRE(plan.phases.size() == 3);
  const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
  for (int rank = 0; rank < 32; ++rank) {
    CHECK(traffic.sent[at(rank)] == doctest::Approx(1e6 * 2 * 31 / 32).epsilon(1e-12));
    CHECK(traffic.received[at(rank)] == doctest::Approx(1e6 * 2 * 31 / 32).epsilon(1e-12));
  }
  const PhasePlan& between = plan.phases[1];
  CHECK(between.share * between.messages == doctest::Approx(2.0 * 3 / 4 / 8).epsilon(1e-12));
  for (const Pattern::Edge& edge : plan.patterns[at(between.pattern)].edges)
    CHECK(cluster.node_of(edge.from) != cluster.node_of(edge.to));
}

TEST_CASE("each phase of hierarchical delivers to its rings or trees") {
  const Cluster cluster = even_cluster(3, 4);
  const CollectivePlan plan =
      hierarchical(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  for (std::size_t node = 0; node < 3; ++node) {
    for (const std::set<int>& parts : parts_after_ring(plan.patterns[0], 4 * node, 4, 3, true))
      CHECK(parts.size() == 1);
    for (const std::set<int>& parts : parts_after_ring(plan.patterns[0], 4 * node, 4, 3, false))
      CHECK(parts.size() == 4);
  }
  for (std::size_t local = 0; local < 4; ++local) {
    CHECK(cluster.node_of(plan.patterns[1].edges[3 * local].from) == NodeId{0});
    for (const std::set<int>& parts : parts_after_ring(plan.patterns[1], 3 * local, 3, 4, true))
      CHECK(parts.size() == 3);
  }
}

TEST_CASE("hierarchical takes any equal numbers of ranks on the nodes of a group, and no others") {
  const Cluster cluster = even_cluster(3, 4);
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  request.group = {Rank{0}, Rank{2}, Rank{9}, Rank{11}};
  const CollectivePlan plan = hierarchical(cluster, no_overheads(), request);
  CHECK(plan.phases.size() == 3);
  CHECK(plan.patterns[1].edges.size() == 4);

  request.group = {Rank{0}, Rank{2}, Rank{9}};
  const Said uneven = refusal_of(Algorithm::hierarchical, cluster, request);
  CHECK(uneven.message.starts_with("hierarchical cannot carry out all_reduce on these 3 ranks: "));
  CHECK(uneven.message.find("node 2 has 1") != std::string::npos);
  CHECK(uneven.message.find("node 0 has 2") != std::string::npos);
  CHECK(uneven.hint == "algorithm: ring, chain, tree, halving_doubling, recursive_doubling, direct");
  request.group = {Rank{0}, Rank{2}};
  CHECK(refusal_of(Algorithm::hierarchical_tree, cluster, request).message.find("one node") !=
        std::string::npos);
  CHECK(refusal_of(Algorithm::hierarchical, shipped_cluster("dgx1v", 2, 0),
                   {.operation = Operation::all_reduce,
                    .group = {Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{4}, Rank{8}, Rank{9}, Rank{10},
                              Rank{11}, Rank{12}}})
            .message.find(no_ring(5)) != std::string::npos);
}
