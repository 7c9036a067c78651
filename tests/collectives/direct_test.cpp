#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/all_pairs.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <set>
#include <string>

using namespace trainyard;

namespace {

const char* const fat_tree_text =
    "{kind: fat_tree, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, levels: [{nodes_per_switch: 2, "
    "oversubscription: 2}, {nodes_per_switch: 4, oversubscription: 2}]}";
const char* const rails_text =
    "{kind: rail_optimised, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, nodes_per_rail: 2, "
    "oversubscription: 2, per_flow: 3 GB/s}";
const char* const proxied_rails_text =
    "{kind: rail_optimised, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, nodes_per_rail: 2, "
    "oversubscription: 2, pxn: true}";
const char* const dragonfly_text =
    "{kind: dragonfly, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, groups: 2, routers_per_group: 2, "
    "nodes_per_router: 2, local_link: 10 GB/s, global_link: 10 GB/s}";
const char* const torus_text =
    "{kind: torus3d, nic: 40 GB/s, latency: 2 us, hop_latency: 1 us, dimensions: [2, 2, 2], link: 10 GB/s}";
const char* const cables_text = R"(
  kind: custom
  nic: 10 GB/s
  latency: 1 us
  switches: [left, right]
  links:
    - {between: ["node[0-3].nic[0-3]", left], bandwidth: 10 GB/s, latency: 1 us}
    - {between: ["node[4-7].nic[0-3]", right], bandwidth: 10 GB/s, latency: 1 us}
    - {between: [left, right], bandwidth: 15 GB/s, latency: 1 us})";

/// Checks that counting by switches equals the sum over all edges.
void check_counts(const Cluster& cluster, std::span<const Rank> group, const ProtocolOverheads& overheads) {
  const CollectiveRequest request{.operation = Operation::all_to_all, .group = {group.begin(), group.end()}};
  const AllPairs counted = counted_pairs(cluster, overheads, request);
  const AllPairs edges = all_pairs(cluster, overheads, request);
  REQUIRE(!edges.pattern.edges.empty());
  CHECK(counted.pattern.edges.empty());
  CHECK(counted.pattern.edge_count() == edges.pattern.edge_count());
  const std::vector<LinkUse> expected = link_uses(edges.pattern);
  const std::vector<LinkUse> found = link_uses(counted.pattern);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(link_name(cluster, expected[i].link));
    CHECK(found[i].link == expected[i].link);
    CHECK(found[i].times == expected[i].times);
  }
  CHECK(counted.latency.si() == doctest::Approx(edges.latency.si()).epsilon(1e-12));
  CHECK(std::isfinite(counted.limit.si()) == std::isfinite(edges.limit.si()));
  if (std::isfinite(edges.limit.si()))
    CHECK(counted.limit.si() == doctest::Approx(edges.limit.si()).epsilon(1e-12));
  CHECK(counted.startup == edges.startup);
}

}  // namespace

TEST_CASE("direct equals its formula for every operation at 2 to 64 ranks") {
  CHECK(check_formula(Algorithm::direct) == 9 * 63);
}

TEST_CASE("all pairs are all pairs, once each") {
  const Cluster cluster = flat_cluster(9);
  const CollectivePlan plan = direct(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_to_all));
  std::set<std::pair<int, int>> pairs;
  for (const Pattern::Edge& edge : plan.patterns.at(0).edges) {
    CHECK(edge.from != edge.to);
    pairs.emplace(index(edge.from), index(edge.to));
  }
  CHECK(pairs.size() == 9 * 8);
  CHECK(plan.patterns[0].edges.size() == 9 * 8);
}

TEST_CASE("direct: what every rank sends, by operation") {
  const Cluster cluster = flat_cluster(5);
  const auto sent = [&](Operation operation) {
    return traffic_of(cluster, direct(cluster, no_overheads(), over_all_ranks(cluster, operation, 2)),
                      Bytes{5.0})
        .sent;
  };
  CHECK(sent(Operation::all_to_all) == std::vector<double>(5, 4.0));
  CHECK(sent(Operation::all_reduce) == std::vector<double>(5, 8.0));
  CHECK(sent(Operation::send_recv) == std::vector<double>(5, 5.0));
  CHECK(sent(Operation::broadcast) == std::vector<double>{0, 0, 20, 0, 0});
  CHECK(sent(Operation::reduce) == std::vector<double>{5, 5, 0, 5, 5});
  CHECK(sent(Operation::gather) == std::vector<double>{1, 1, 0, 1, 1});
  CHECK(sent(Operation::scatter) == std::vector<double>{0, 0, 4, 0, 0});
}

TEST_CASE("the extra cost of a first message is that of one of those that a rank sends") {
  ProtocolOverheads held;
  held.startup.fill(0.5);
  for (const int ranks : {2, 5, 9}) {
    const Cluster cluster = flat_cluster(ranks);
    const CollectivePlan plan = direct(cluster, held, over_all_ranks(cluster, Operation::all_to_all));
    CHECK(plan.phases.at(0).startup == 0.5 / (ranks - 1));
  }
}

TEST_CASE("counting by switches equals adding up edges on every kind of fabric") {
  ProtocolOverheads held;
  for (ByProtocol<double>& part : held.efficiency) part.fill(0.9);
  held.efficiency[static_cast<std::size_t>(PathType::network)].fill(0.5);
  held.efficiency[static_cast<std::size_t>(PathType::nvlink2)].fill(0.1);
  for (const std::string fabric : {"{kind: single_switch, nic: 10 GB/s, latency: 2 us}", fat_tree_text,
                                   rails_text, proxied_rails_text, dragonfly_text, torus_text, cables_text}) {
    CAPTURE(fabric);
    const Cluster cluster = even_cluster(8, 4, fabric);
    const std::vector<Rank> uneven{Rank{0},  Rank{1},  Rank{4},  Rank{10}, Rank{13},
                                   Rank{14}, Rank{15}, Rank{22}, Rank{31}};
    for (const ProtocolOverheads& overheads : {no_overheads(), held}) {
      check_counts(cluster, all_ranks(cluster), overheads);
      check_counts(cluster, uneven, overheads);
    }
  }
  const Cluster one_node = shipped_cluster("dgx1v", 1);
  check_counts(one_node, all_ranks(one_node), held);
  const Cluster shipped = shipped_cluster("dgx1v", 3);
  check_counts(shipped, all_ranks(shipped), held);
}

TEST_CASE("all_to_all over 1,024 ranks holds no edges, and its time is still the formula's") {
  const Cluster cluster = flat_cluster(1024);
  const CollectivePlan plan = direct(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_to_all));
  CHECK(plan.patterns[0].edges.empty());
  CHECK(plan.patterns[0].edge_count() == 1024 * 1023);
  CHECK(bytes_sent(collective(plan, Bytes{1e6}, 0).phases[0], plan.patterns[0]).si() ==
        doctest::Approx(1e6 * 1023).epsilon(1e-12));
  const Seconds latency = route(cluster, Rank{0}, Rank{1}).latency;
  const Seconds formula = direct_time(Operation::all_to_all, 1024, Bytes{1e6}, Bandwidth{10e9}, latency);
  CHECK(time_alone(cluster, plan, Bytes{1e6}).si() == doctest::Approx(formula.si()).epsilon(1e-12));
}
