#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <map>

using namespace trainyard;

namespace {

Cluster cube_mesh_of(int gpus) { return shipped_cluster("dgx1v", 1, gpus); }

/// Measured times of an all-reduce of 1 GiB by ranks; all_reduce_v100.csv names their source.
std::map<int, Seconds> measured_gibibytes() {
  std::map<int, Seconds> times;
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/collectives/all_reduce_v100.csv");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t size = line.find(",1073741824,");
    if (line.starts_with('#') || size == std::string::npos) continue;
    times[std::stoi(line)] = Seconds{std::stod(line.substr(size + 12)) * 1e-6};
  }
  return times;
}

}  // namespace

TEST_CASE("chains equal their formula at 2 to 64 ranks") { CHECK(check_formula(Algorithm::chain) == 3 * 63); }

TEST_CASE("the chain's formula: every byte crosses each port twice, chunk after chunk") {
  // 1 GB in 512 chunks down 2 * 4 hops
  const Seconds time = chain_time(Operation::all_reduce, 5, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6});
  CHECK(time.si() == doctest::Approx(0.2 * (512 + 7) / 512 + 8e-6).epsilon(1e-12));
  CHECK(chain_time(Operation::all_reduce, 1, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6}) == Seconds{});
}

TEST_CASE("a chain runs to its last rank and back, and each edge passes on what the one before delivered") {
  const Cluster cluster = cube_mesh_of(5);
  const CollectivePlan plan = chain(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  const std::vector<Rank> order = ring_channels(cluster).front().order;
  const Pattern& pattern = plan.patterns.at(0);
  REQUIRE(pattern.edges.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(pattern.edges[i].from == (i < 4 ? order[i] : order[8 - i]));
    CHECK(pattern.edges[i].to == (i < 4 ? order[i + 1] : order[7 - i]));
    CHECK(pattern.passed_on_by(i).size() == (i == 0 ? 0 : 1));
    CHECK(pattern.route(i).size() == 1);
  }
  CHECK(plan.phases.at(0).hops == 8);
  // every hop of this chain has two lanes, but it uses one
  CHECK(plan.phases[0].limit.si() == doctest::Approx(22.6e9));
}

TEST_CASE("chains deliver from and to any root, also from the middle of a chain of NVLinks") {
  for (const Cluster& cluster : {flat_cluster(6), cube_mesh_of(5)}) {
    for (int root = 0; root < cluster.ranks(); ++root) {
      for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::reduce}) {
        const CollectivePlan plan = chain(cluster, no_overheads(), over_all_ranks(cluster, operation, root));
        CHECK(tree_delivers(plan.patterns[0], at(plan.channels), operation, cluster.ranks(), root));
      }
    }
  }
  const Cluster cluster = cube_mesh_of(5);
  const int middle = index(ring_channels(cluster).front().order[2]);
  const CollectivePlan plan =
      chain(cluster, no_overheads(), over_all_ranks(cluster, Operation::broadcast, middle));
  CHECK(plan.phases[0].hops == 2);
}

TEST_CASE("a chain's ends send its bytes once, and those between them once each way") {
  const Cluster cluster = flat_cluster(5);
  const CollectivePlan plan = chain(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
  const std::vector<Rank> order = ring_channels(cluster).front().order;
  for (std::size_t i = 0; i < 5; ++i) {
    const double expected = i == 0 || i == 4 ? 1e6 : 2e6;
    CHECK(traffic.sent[at(index(order[i]))] == doctest::Approx(expected).epsilon(1e-12));
    CHECK(traffic.received[at(index(order[i]))] == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("cube mesh, 2 to 8 GPUs: within 7 % of the measured time of 1 GiB at every count") {
  const auto measured = measured_gibibytes();
  REQUIRE(measured.size() == 7);
  // the wire alone: steps are 1 % at this size
  for (const auto& [gpus, seconds] : measured) {
    const Cluster cluster = cube_mesh_of(gpus);
    const Algorithm algorithm = gpus == 5 ? Algorithm::chain : Algorithm::ring;
    const CollectivePlan plan = plan_by(algorithm, cluster, over_all_ranks(cluster, Operation::all_reduce));
    const double error = time_alone(cluster, plan, Bytes{1073741824}) / seconds - 1;
    CAPTURE(gpus);
    CAPTURE(error);
    CHECK(std::abs(error) < 0.07);
  }
}

TEST_CASE("chains cannot scatter or gather") {
  const Cluster cluster = flat_cluster(6);
  const Said said = refusal_of(Algorithm::chain, cluster, over_all_ranks(cluster, Operation::all_gather));
  CHECK(said.message.starts_with("chain cannot carry out all_gather on these 6 ranks: "));
  CHECK(said.hint == "algorithm: ring, hierarchical, torus2d, direct");
}
