// Collectives of several groups at the same time: one collective whose pattern has the edges of all.
#include "collectives/algorithms.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Bytes some_megabytes{8e6};

/// The ranks of the groups meet in one collective; the others do nothing.
TaskGraph graph_of_groups(const Cluster& cluster, PlannerRequest request) {
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = graph_of(cluster.ranks(), program, {});
  graph.programs.emplace_back();
  std::ranges::fill(graph.program_of_rank, 1);
  for (const auto& group : request.groups) {
    for (const Rank rank : group) graph.program_of_rank[at(index(rank))] = 0;
  }
  graph.links = link_capacities(cluster);
  Planner planner(cluster, {}, std::move(request));
  graph.collectives = {planner.collective(some_megabytes, graph.patterns)};
  return graph;
}

constexpr Fidelity all_fidelities[] = {Fidelity::closed, Fidelity::flow, Fidelity::rounds,
                                       Fidelity::messages};

Timeline timeline_of(const TaskGraph& graph, Fidelity fidelity) {
  if (fidelity == Fidelity::closed) return run(graph, {.fidelity = fidelity, .recorded = {}});
  return run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
}

/// Groups of the ranks with the same number in their nodes, on the first nodes or the following ones.
RankGroups rails(int groups, int gpus_per_node, int first_node, int nodes) {
  RankGroups result;
  for (int gpu = 0; gpu < groups; ++gpu) {
    std::vector<Rank>& group = result.emplace_back();
    for (int node = first_node; node < first_node + nodes; ++node)
      group.push_back(Rank{node * gpus_per_node + gpu});
  }
  return result;
}

}  // namespace

TEST_CASE("groups on disjoint links take as long as one alone, in every fidelity, and their bytes add up") {
  const Cluster cluster = even_cluster(4, 4);  // a NIC for each GPU
  for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::all_to_all}) {
    const auto graph = [&](const RankGroups& groups) {
      return graph_of_groups(cluster, {.operation = operation, .groups = groups});
    };
    const TaskGraph one = graph(rails(1, 4, 0, 4));
    const TaskGraph all = graph(rails(4, 4, 0, 4));
    CHECK(all.collectives.front().participants == 16);
    for (const Fidelity fidelity : all_fidelities) {
      CAPTURE(config::name_of(operation));
      CAPTURE(config::name_of(fidelity));
      const Timeline alone = timeline_of(one, fidelity);
      const Timeline together = timeline_of(all, fidelity);
      CHECK(together.makespan.si() == doctest::Approx(alone.makespan.si()).epsilon(1e-9));
      std::vector<double> sum(link_count(cluster), 0);
      for (const auto& group : rails(4, 4, 0, 4)) {
        const Timeline each = timeline_of(graph({group}), Fidelity::closed);
        for (std::size_t link = 0; link < sum.size(); ++link) sum[link] += each.link_bytes[link];
      }
      double worst = 0;
      for (std::size_t link = 0; link < sum.size(); ++link)
        worst = std::max(worst, std::abs(sum[link] - together.link_bytes[link]));
      CHECK(worst < 1e-6 * some_megabytes.si());
    }
  }
}

TEST_CASE("groups on disjoint nodes take as long as one alone") {
  const Cluster cluster = even_cluster(4, 4);
  const std::vector<Rank> ranks = all_ranks(cluster);
  const RankGroups halves{{ranks.begin(), ranks.begin() + 8}, {ranks.begin() + 8, ranks.end()}};
  const TaskGraph one = graph_of_groups(cluster, {.operation = Operation::all_reduce, .groups = {halves[0]}});
  const TaskGraph both = graph_of_groups(cluster, {.operation = Operation::all_reduce, .groups = halves});
  for (const Fidelity fidelity : all_fidelities) {
    CHECK(timeline_of(both, fidelity).makespan.si() ==
          doctest::Approx(timeline_of(one, fidelity).makespan.si()).epsilon(1e-9));
  }
}

TEST_CASE("n groups on one NIC take n times as long, but for their latency") {
  const Cluster cluster = shipped_cluster("dgx1v", 4);  // a NIC for two GPUs
  const auto graph = [&](int groups) {
    return graph_of_groups(
        cluster,
        {.operation = Operation::all_reduce, .groups = rails(groups, 8, 0, 4), .algorithm = Algorithm::ring});
  };
  const TaskGraph one = graph(1);
  const TaskGraph two = graph(2);
  const CollectivePhase& phase = one.collectives.front().phases.front();
  const Seconds latency = phase.latency * phase.messages;
  for (const Fidelity fidelity : all_fidelities) {
    CAPTURE(config::name_of(fidelity));
    const Seconds alone = timeline_of(one, fidelity).makespan - latency;
    const Seconds together = timeline_of(two, fidelity).makespan - latency;
    CHECK(together / alone == doctest::Approx(2).epsilon(1e-9));
  }
}

TEST_CASE("pairs of two stages send at once, each over its own links") {
  const Cluster cluster = even_cluster(4, 4);
  RankGroups pairs;
  for (int rank = 0; rank < 8; ++rank) pairs.push_back({Rank{rank + 8}, Rank{rank}});
  const auto graph = [&](const RankGroups& groups) {
    return graph_of_groups(cluster, {.operation = Operation::send_recv, .groups = groups, .one_way = true});
  };
  const double formula = (route(cluster, Rank{8}, Rank{0}).latency + some_megabytes / Bandwidth{10e9}).si();
  for (const Fidelity fidelity : all_fidelities) {
    CAPTURE(config::name_of(fidelity));
    CHECK(timeline_of(graph({pairs[0]}), fidelity).makespan.si() == doctest::Approx(formula).epsilon(1e-9));
    CHECK(timeline_of(graph(pairs), fidelity).makespan.si() == doctest::Approx(formula).epsilon(1e-9));
  }
}
