// Every algorithm and operation without contention: all fidelities equal the closed form.
#include "collectives/algorithms.hpp"

#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr Algorithm algorithms[] = {Algorithm::ring,
                                    Algorithm::chain,
                                    Algorithm::tree,
                                    Algorithm::hierarchical,
                                    Algorithm::hierarchical_tree,
                                    Algorithm::torus2d,
                                    Algorithm::halving_doubling,
                                    Algorithm::recursive_doubling,
                                    Algorithm::binomial,
                                    Algorithm::scatter_allgather,
                                    Algorithm::direct};

TaskGraph graph_of_plan(const Cluster& cluster, const CollectivePlan& plan, Bytes size) {
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = graph_of(cluster.ranks(), program, {});
  graph.links = link_capacities(cluster);
  graph.patterns = plan.patterns;
  graph.collectives = {collective(plan, size, 0)};
  return graph;
}

}  // namespace

// With sanitizers, a simulation of every message takes ten times as long: fewer counts there, all of them in
// Release.
#ifdef TRAINYARD_SANITIZED
constexpr int rank_counts[] = {2, 3, 8};
#else
constexpr int rank_counts[] = {2, 3, 4, 6, 7, 8, 15, 16, 32, 33, 64};
#endif

TEST_CASE("uncontended, every algorithm and operation takes its closed form in every fidelity") {
  constexpr Bytes size{3e6};
  for (const int ranks : rank_counts) {
    const Cluster cluster = flat_cluster(ranks);
    const Seconds latency = route(cluster, Rank{0}, Rank{1}).latency;
    for (const Operation operation : all_operations) {
      const CollectiveRequest request = over_all_ranks(cluster, operation);
      for (const Algorithm algorithm : algorithms) {
        if (!objection(cluster, request, algorithm).empty()) continue;
        CAPTURE(ranks);
        CAPTURE(config::name_of(operation));
        CAPTURE(config::name_of(algorithm));
        const double formula = formula_by(algorithm, operation, ranks, size, Bandwidth{10e9}, latency).si();
        const CollectivePlan plan = plan_by(algorithm, cluster, request);
        const TaskGraph graph = graph_of_plan(cluster, plan, size);
        const Timeline closed = run(graph, {.fidelity = Fidelity::closed, .recorded = {}});
        CHECK(closed.makespan.si() == doctest::Approx(formula).epsilon(1e-9));
        for (const Fidelity fidelity : {Fidelity::flow, Fidelity::rounds, Fidelity::messages}) {
          CAPTURE(config::name_of(fidelity));
          const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
          CHECK(timeline.makespan.si() == doctest::Approx(formula).epsilon(1e-9));
          double worst = 0;
          for (std::size_t link = 0; link < closed.link_bytes.size(); ++link)
            worst = std::max(worst, std::abs(timeline.link_bytes[link] - closed.link_bytes[link]));
          CHECK(worst < 1e-9 * size.si());
        }
      }
    }
  }
}

TEST_CASE(
    "where edges of a collective share links unevenly, flow is slower than messages by what README.md says") {
  struct Case {
    const char* platform;
    int nodes, ranks;
    Algorithm algorithm;
    double least, most;  ///< time in flow over that in messages
  };
  constexpr Case cases[] = {{"dgx1v", 2, 13, Algorithm::halving_doubling, 1.3, 1.5},
                            {"dgx1v", 2, 13, Algorithm::recursive_doubling, 1.3, 1.5},
                            {"dgx1v", 2, 16, Algorithm::torus2d, 1.01, 1.1},
                            {"dgx1v", 2, 16, Algorithm::hierarchical, 1, 1.1},
                            {"dgx1v", 2, 13, Algorithm::ring, 1, 1},
                            {"dgx1v", 2, 13, Algorithm::tree, 1, 1}};
  for (const Case& one : cases) {
    CAPTURE(config::name_of(one.algorithm));
    const Cluster cluster = shipped_cluster(one.platform, one.nodes, one.ranks);
    const CollectivePlan plan =
        plan_by(one.algorithm, cluster, over_all_ranks(cluster, Operation::all_reduce));
    const TaskGraph graph = graph_of_plan(cluster, plan, Bytes{16e6});
    const auto time = [&](Fidelity fidelity) {
      return run_in_child(graph, {.fidelity = fidelity, .recorded = {}}).makespan.si();
    };
    const double flow = time(Fidelity::flow);
    CHECK(flow == doctest::Approx(time_alone(cluster, plan, Bytes{16e6}).si()).epsilon(1e-9));
    const double ratio = flow / time(Fidelity::messages);
    CHECK(ratio >= one.least * (1 - 1e-6));
    CHECK(ratio <= one.most * (1 + 1e-6));
  }
}

TEST_CASE("switches that add take their closed form, alone and beside another group") {
  const Cluster cluster = shipped_cluster("dgx_h100", 1);
  const std::vector<Rank> all = all_ranks(cluster);
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  const RankGroups concurrent{{all.begin() + 4, all.end()}};
  for (const bool is_split : {false, true}) {
    if (is_split) {
      request.group.resize(4);
      request.concurrent = concurrent;
    }
    const CollectivePlan plan = plan_by(Algorithm::nvls, cluster, request);
    for (const double size : {1e3, 3e6, 1e9}) {
      const TaskGraph graph = graph_of_plan(cluster, plan, Bytes{size});
      const double formula = time_alone(cluster, plan, Bytes{size}).si();
      const double carried = size * (is_split ? 5.0 / 4 : 9.0 / 8);
      for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
        CAPTURE(config::name_of(fidelity));
        const Timeline timeline = run_in_child(graph, {.fidelity = fidelity, .recorded = {}});
        CHECK(timeline.makespan.si() == doctest::Approx(formula).epsilon(1e-9));
        const std::vector<double> carried_by_links = timeline.link_bytes.listed();
        CHECK(*std::ranges::max_element(carried_by_links) == doctest::Approx(carried).epsilon(1e-9));
      }
      CHECK_THROWS_AS((void)run_in_child(graph, {.fidelity = Fidelity::messages, .recorded = {}}),
                      InputError);
    }
  }
}
