// Counted edges against listed ones: the same plan to the bit, on any fabric.
#include "collectives/edge_counter.hpp"

#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/all_pairs.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

/// A fabric with room for `nodes` nodes.
std::string any_fabric(int nodes) {
  const int side = *rc::gen::inRange(1, 7);
  const int other = *rc::gen::inRange(1, 4);
  const auto rest = [&](int sides) { return (nodes + sides - 1) / sides; };
  const int leaf = *rc::gen::inRange(1, 4);
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return fmt::format(
          "{{kind: torus2d, nic: 10 GB/s, link: 5 GB/s, latency: 1 us, hop_latency: 0.3 us, "
          "dimensions: [{}, {}]}}",
          side, rest(side));
    case 1:
      return fmt::format(
          "{{kind: torus3d, nic: 10 GB/s, link: 5 GB/s, latency: 1 us, hop_latency: 0.3 us, "
          "dimensions: [{}, {}, {}]}}",
          side, other, rest(side * other));
    case 2:
      return fmt::format(
          "{{kind: fat_tree, nic: 10 GB/s, latency: 1 us, hop_latency: 0.3 us, levels: "
          "[{{nodes_per_switch: {}, oversubscription: 2}}, {{nodes_per_switch: {}, "
          "oversubscription: 3}}]}}",
          leaf, leaf * (1 + other));
    case 3:
      return fmt::format(
          "{{kind: dragonfly, nic: 10 GB/s, latency: 1 us, hop_latency: 0.3 us, groups: {}, "
          "routers_per_group: {}, nodes_per_router: {}, local_link: 5 GB/s, global_link: 4 GB/s}}",
          1 + rest(side * other), side, other);
    case 4:
      return fmt::format(
          "{{kind: rail_optimised, nic: 10 GB/s, latency: 1 us, hop_latency: 0.3 us, "
          "nodes_per_rail: {}, oversubscription: 2, pxn: {}}}",
          1 + leaf, other > 1);
    default:
      return "{kind: single_switch, nic: 10 GB/s, latency: 2 us}";
  }
}

Cluster any_cluster() {
  const int nodes = *rc::gen::inRange(2, 20);
  const int gpus = *rc::gen::inRange(1, 5);
  const std::string fabric = any_fabric(nodes);
  return gpus == 1 ? single_gpus(nodes, fabric) : even_cluster(nodes, gpus, fabric);
}

/// Overheads of every kind, different for each medium.
ProtocolOverheads any_overheads() {
  ProtocolOverheads overheads;
  if (*rc::gen::inRange(0, 3) == 0) return overheads;
  for (std::size_t type = 0; type < path_types; ++type) {
    for (std::size_t protocol = 0; protocol < protocols; ++protocol) {
      overheads.step[type][protocol] = Seconds{1e-7 * *rc::gen::inRange(0, 30)};
      overheads.efficiency[type][protocol] = 0.1 * *rc::gen::inRange(0, 11);
    }
    overheads.startup[type] = 0.5 * *rc::gen::inRange(0, 3);
  }
  if (*rc::gen::inRange(0, 4) == 0) overheads.sums = Bandwidth{2e9};
  return overheads;
}

void check_same(const CollectivePlan& counted, const CollectivePlan& listed) {
  RC_ASSERT(counted.phases.size() == listed.phases.size());
  RC_ASSERT(counted.channels == listed.channels);
  for (std::size_t i = 0; i < listed.phases.size(); ++i) {
    const PhasePlan& one = counted.phases[i];
    const PhasePlan& other = listed.phases[i];
    RC_ASSERT(one.pattern == other.pattern);
    RC_ASSERT(one.messages == other.messages);
    RC_ASSERT(one.share == other.share);
    RC_ASSERT(one.hops == other.hops);
    RC_ASSERT(one.latency == other.latency);
    RC_ASSERT(one.limit == other.limit);
    RC_ASSERT(one.startup == other.startup);
    RC_ASSERT(one.sums == other.sums);
  }
  RC_ASSERT(counted.patterns.size() == listed.patterns.size());
  for (std::size_t i = 0; i < listed.patterns.size(); ++i) {
    RC_ASSERT(counted.patterns[i].edges.empty());
    RC_ASSERT(counted.patterns[i].edge_count() == listed.patterns[i].edge_count());
    RC_ASSERT(with_edges(counted.patterns[i]).links == listed.patterns[i].links);
    const std::vector<LinkUse> found = link_uses(counted.patterns[i]);
    const std::vector<LinkUse> expected = link_uses(listed.patterns[i]);
    RC_ASSERT(found.size() == expected.size());
    for (std::size_t link = 0; link < found.size(); ++link) {
      RC_ASSERT(found[link].link == expected[link].link);
      RC_ASSERT(found[link].times == expected[link].times);
    }
  }
}

}  // namespace

TEST_CASE("counted edges make the plan of listed edges, to the bit") {
  CHECK(rc::check("on any fabric", [] {
    const bool is_rccl = *rc::gen::inRange(0, 3) == 0;  // rings that turn at every node
    const Cluster cluster =
        is_rccl ? shipped_cluster("server_mi300x", *rc::gen::inRange(2, 6)) : any_cluster();
    const ProtocolOverheads overheads = any_overheads();
    const Operation operation =
        *rc::gen::element(Operation::all_reduce, Operation::all_reduce, Operation::reduce_scatter,
                          Operation::broadcast, Operation::reduce);
    CollectiveRequest request = over_all_ranks(cluster, operation, *rc::gen::inRange(0, cluster.ranks()));
    request.protocol = *rc::gen::element(Protocol::ll, Protocol::ll128, Protocol::simple);
    std::vector<Algorithm> possible = possible_algorithms(cluster, request);
    std::erase_if(possible, [](Algorithm algorithm) {
      return algorithm == Algorithm::direct || algorithm == Algorithm::chain ||
             algorithm == Algorithm::binomial || algorithm == Algorithm::scatter_allgather;
    });
    if (operation != Operation::all_reduce) std::erase(possible, Algorithm::tree);
    const Algorithm algorithm = *rc::gen::elementOf(possible);
    request.edges = PatternEdges::listed;
    const CollectivePlan listed = plan_by(algorithm, cluster, overheads, request);
    request.edges = PatternEdges::counted;
    check_same(plan_by(algorithm, cluster, overheads, request), listed);
  }));
}

TEST_CASE("traffic between all ranks, counted by formula, is that of all pairs") {
  CHECK(rc::check("any ranks on any fabric", [] {
    const Cluster cluster = any_cluster();
    const ProtocolOverheads overheads = any_overheads();
    CollectiveRequest request = over_all_ranks(cluster, Operation::all_to_all);
    const int kept = *rc::gen::inRange(1, 4);  // all ranks, a part of them, or the first ones
    if (kept == 2) std::erase_if(request.group, [](Rank) { return *rc::gen::inRange(0, 2) == 0; });
    if (kept == 3) request.group.resize(at(*rc::gen::inRange(1, cluster.ranks() + 1)));
    RC_PRE(request.group.size() >= 2);
    const AllPairs counted = counted_pairs(cluster, overheads, request);
    const AllPairs listed = all_pairs(cluster, overheads, request);
    RC_ASSERT(counted.pattern.edge_count() == listed.pattern.edge_count());
    RC_ASSERT(std::abs(counted.latency / listed.latency - 1) < 1e-12);
    RC_ASSERT(counted.startup == listed.startup);
    RC_ASSERT(counted.limit == listed.limit || std::abs(counted.limit / listed.limit - 1) < 1e-12);
    const std::vector<LinkUse> found = link_uses(counted.pattern);
    const std::vector<LinkUse> expected = link_uses(listed.pattern);
    RC_ASSERT(found.size() == expected.size());
    for (std::size_t link = 0; link < found.size(); ++link) {
      RC_ASSERT(found[link].link == expected[link].link);
      RC_ASSERT(found[link].times == expected[link].times);
    }
  }));
}

TEST_CASE("sampled channels repeat from node to node") {
  const Cluster cluster = shipped_cluster("dgx1v", 40);
  const std::vector<Rank> ranks = all_ranks(cluster);
  const std::vector<Channel> whole = ring_channels(cluster, ranks);
  const std::vector<Channel> sample = sample_channels(cluster, ranks);
  REQUIRE(sample.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK(sample[i].order.size() == 16);
    CHECK(sample[i].nic == whole[i].nic);
    CHECK(sample[i].limit == whole[i].limit);
    for (std::size_t rank = 0; rank < whole[i].order.size(); ++rank) {
      CHECK(index(whole[i].order[rank]) == index(sample[i].order[rank % 8]) + 8 * static_cast<int>(rank / 8));
    }
  }
}
