// Collectives of several groups at the same time (Planner), which are one plan.
#include "collectives/algorithms.hpp"
#include "collectives/all_pairs.hpp"
#include "collectives/bounds.hpp"
#include "collectives/group_kinds.hpp"
#include "facts_in.hpp"

#include <doctest/doctest.h>
#include <map>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

/// Nodes of GPUs that share one NIC.
Cluster one_nic_cluster(int nodes, int gpus) {
  const std::string text = fmt::format(R"(name: box
node:
  gpus: {{count: {0}, profile: some_gpu}}
  devices: {{nvswitch: {{count: 1}}, nic: {{count: 1}}, pcie_switch: {{count: 1}}}}
  links:
    - {{between: ["gpu[0-{1}]", nvswitch], kind: nvlink2, bandwidth: 1000 GB/s, latency: 2 us}}
    - {{between: ["gpu[0-{1}]", pcie_switch], kind: pcie4, bandwidth: 1000 GB/s, latency: 1 us}}
    - {{between: [nic0, pcie_switch], kind: pcie4, bandwidth: 1000 GB/s, latency: 1 us}}
fabric: {{kind: single_switch, nic: 10 GB/s, latency: 2 us}}
)",
                                       gpus, gpus - 1);
  return make_cluster(load_platform(config::parse("box.yaml", text)), nodes);
}

/// `groups` groups of ranks `stride` apart, the first ranks of which follow one another.
RankGroups strided(int groups, int size, int stride) {
  RankGroups result;
  for (int group = 0; group < groups; ++group) {
    std::vector<Rank>& ranks = result.emplace_back();
    for (int i = 0; i < size; ++i)
      ranks.push_back(Rank{group / stride * stride * size + group % stride + i * stride});
  }
  return result;
}

struct Planned {
  Collective collective;
  CollectivePlan plan;
  std::vector<Pattern> patterns;
  Seconds bound;
};

Planned planned(const Cluster& cluster, PlannerRequest request, Bytes size,
                const ProtocolOverheads& overheads = no_overheads()) {
  Planner planner(cluster, {.overheads = overheads}, std::move(request));
  Planned result;
  result.collective = planner.collective(size, result.patterns);
  result.plan = planner.plan(size, result.patterns);
  result.bound = planner.bound(size);
  return result;
}

Seconds time_of(const Cluster& cluster, const Planned& made) {
  CollectivePlan plan = made.plan;
  plan.patterns = made.patterns;
  return time_alone(cluster, plan, made.collective.size);
}

/// Uses of every link by all patterns.
std::map<LinkId, int> uses_of(std::span<const Pattern> patterns) {
  std::map<LinkId, int> uses;
  for (const Pattern& pattern : patterns) {
    for (const LinkUse& use : link_uses(pattern)) uses[use.link] += use.times;
  }
  return uses;
}

/// Who sends to whom, in all patterns.
std::map<std::pair<Rank, Rank>, int> messages_of(std::span<const Pattern> patterns) {
  std::map<std::pair<Rank, Rank>, int> messages;
  for (const Pattern& pattern : patterns) {
    for (const Pattern::Edge& edge : pattern.edges) ++messages[{edge.from, edge.to}];
  }
  return messages;
}

Cluster some_machine() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return flat_cluster(*rc::gen::element(4, 8, 12));
    case 1:
      return even_cluster(*rc::gen::inRange(1, 5), *rc::gen::element(2, 4, 6));
    case 2:
      return one_nic_cluster(*rc::gen::inRange(1, 5), 4);
    case 3:
      return shipped_cluster("dgx1v", *rc::gen::inRange(1, 4));
    case 4:
      return even_cluster(8, 2,
                          "{kind: fat_tree, nic: 10 GB/s, latency: 2 us, nodes_per_leaf: 2, "
                          "oversubscription: 4}");
    default:
      return shipped_cluster("dgx_a100", *rc::gen::inRange(1, 4));
  }
}

/// All ranks in groups of one size: of neighbours, of distant ranks or of any.
RankGroups some_groups(const Cluster& cluster) {
  const int ranks = cluster.ranks();
  std::vector<int> sizes;
  for (int size = 2; size <= ranks; ++size) {
    if (ranks % size == 0) sizes.push_back(size);
  }
  const int size = *rc::gen::elementOf(sizes);
  std::vector<Rank> order = all_ranks(cluster);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return strided(ranks / size, size, 1);
    case 1:
      return strided(ranks / size, size, ranks / size);
    default:
      break;
  }
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  RankGroups groups;
  for (std::size_t i = 0; i < order.size(); i += at(size)) {
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i),
                        order.begin() + static_cast<std::ptrdiff_t>(i) + size);
    std::ranges::sort(groups.back());
  }
  return groups;
}

constexpr Bytes megabytes{64e6};

}  // namespace

TEST_CASE("groups are alike if their ranks are on the same GPUs of their nodes") {
  const Cluster cluster = even_cluster(4, 4);
  CHECK(group_kinds(cluster, strided(4, 4, 1)).size() == 1);
  CHECK(group_kinds(cluster, strided(4, 4, 4)).size() == 4);
  const std::vector<RankGroups> kinds = group_kinds(cluster, strided(5, 3, 1));
  REQUIRE(kinds.size() == 4);  // GPUs 0-2; 3 and 0-1; 2-3 and 0; 1-3; then 0-2 again
  CHECK(kinds[0].size() == 2);
  CHECK(kinds[0][1].front() == Rank{12});
  CHECK(group_kinds(cluster, {{Rank{0}, Rank{4}}, {Rank{4}, Rank{0}}, {Rank{0}, Rank{1}}}).size() == 2);
}

TEST_CASE("groups on disjoint nodes or NICs take as long as one of them alone") {
  const Cluster cluster = shipped_cluster("dgx_h100", 4);
  for (const auto& [groups, one] :
       {std::pair{strided(4, 8, 1), strided(1, 8, 1)}, std::pair{strided(2, 16, 1), strided(1, 16, 1)},
        std::pair{strided(8, 4, 8), strided(1, 4, 8)}}) {
    for (const Operation operation : {Operation::all_reduce, Operation::all_gather, Operation::all_to_all}) {
      const Planned all = planned(cluster, {.operation = operation, .groups = groups}, megabytes);
      const Planned alone = planned(cluster, {.operation = operation, .groups = one}, megabytes);
      CHECK(time_of(cluster, all).si() == doctest::Approx(time_of(cluster, alone).si()).epsilon(1e-12));
      CHECK(all.bound >= alone.bound);  // groups of one GPU of each node have 8 times the bytes for its NICs
      CHECK(all.bound <= time_of(cluster, all) * (1 + 1e-12));
      CHECK(all.plan.notes.empty());
      CHECK(all.collective.participants == 32);
      CHECK(all.collective.group_size == static_cast<int>(one.front().size()));
      CHECK(all.collective.groups == static_cast<int>(groups.size()));
      CHECK(alone.collective.groups == 1);
    }
  }
}

TEST_CASE(
    "groups that share a NIC wait for each other's bytes, also where protocols waste some of its rate") {
  const Cluster cluster = one_nic_cluster(4, 4);
  ProtocolOverheads wasteful;
  for (auto& efficiency : wasteful.efficiency) efficiency.fill(0.5);
  for (const auto& [overheads, factor] :
       {std::pair<ProtocolOverheads, double>{no_overheads(), 1}, {wasteful, 2}}) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::direct}) {
      const auto time = [&](int groups, Bytes size) {
        return time_of(cluster, planned(cluster,
                                        {.operation = Operation::all_reduce,
                                         .groups = strided(groups, 4, 4),
                                         .algorithm = algorithm,
                                         .protocol = Protocol::simple},
                                        size, overheads));
      };
      const Seconds latency = time(1, Bytes{1e-6});
      CHECK(((time(4, megabytes) - latency) / (time(1, megabytes) - latency)) ==
            doctest::Approx(4).epsilon(1e-6));
      if (algorithm == Algorithm::ring)
        CHECK((time(4, megabytes) - latency).si() ==
              doctest::Approx(4 * factor * 1.5 * 64e6 / 10e9).epsilon(1e-6));
    }
  }
}

TEST_CASE(
    "a plan of several groups has the messages of each, the largest latency and the pace of all together") {
  CHECK(rc::check([] {
    const Cluster cluster = some_machine();
    const RankGroups groups = some_groups(cluster);
    const Operation operation = *rc::gen::elementOf(all_operations);
    const std::size_t root = *rc::gen::inRange<std::size_t>(0, groups.front().size());
    const auto request_of = [&](const std::vector<Rank>& group) {
      return CollectiveRequest{.operation = operation, .group = group, .root = group[root]};
    };
    std::vector<Algorithm> possible = possible_algorithms(cluster, request_of(groups.front()));
    for (const auto& group : groups) {
      std::erase_if(possible, [&](Algorithm algorithm) {
        return !objection(cluster, request_of(group), algorithm).empty();
      });
    }
    const Algorithm algorithm = *rc::gen::elementOf(possible);
    RC_LOG() << config::name_of(algorithm) << ' ' << config::name_of(operation) << ' ' << groups.size()
             << " x " << groups.front().size() << " ranks\n";
    ProtocolOverheads overheads;
    for (auto& efficiency : overheads.efficiency) efficiency.fill(0.5);
    const Planned all = planned(cluster,
                                {.operation = operation,
                                 .groups = groups,
                                 .root = groups.front()[root],
                                 .algorithm = algorithm,
                                 .protocol = Protocol::simple},
                                megabytes, overheads);
    RC_TAG(all.plan.notes.empty() ? "united" : "the slowest");
    RC_ASSERT(all.collective.participants == cluster.ranks());
    RC_ASSERT(all.collective.group_size == static_cast<int>(groups.front().size()));
    std::map<LinkId, int> uses;
    std::map<std::pair<Rank, Rank>, int> messages;
    const Seconds bound =
        collective_bound(cluster, overheads, operation, bounding_groups(cluster, groups), megabytes);
    std::vector<Seconds> latencies(all.plan.phases.size());
    std::vector<Bandwidth> limits(all.plan.phases.size(), Bandwidth{1e300});
    Seconds longest;
    for (const auto& group : groups) {
      const CollectivePlan one = plan_by(algorithm, cluster, overheads, request_of(group));
      longest = std::max(longest, time_alone(cluster, one, megabytes));
      if (!all.plan.notes.empty()) continue;
      for (const auto& [link, times] : uses_of(one.patterns)) uses[link] += times;
      for (const auto& [ends, times] : messages_of(one.patterns)) messages[ends] += times;
      RC_ASSERT(one.phases.size() == latencies.size());
      for (std::size_t phase = 0; phase < latencies.size(); ++phase) {
        latencies[phase] = std::max(latencies[phase], one.phases[phase].latency);
        limits[phase] = std::min(limits[phase], one.phases[phase].limit);
      }
    }
    if (all.plan.notes.empty())
      RC_ASSERT(all.bound == bound);
    else
      RC_ASSERT(all.bound <= bound);  // those for which the slowest stand share no links with it
    RC_ASSERT(all.bound <= time_of(cluster, all) * (1 + 1e-12));
    RC_ASSERT(time_of(cluster, all) >= longest * (1 - 1e-12));
    if (!all.plan.notes.empty()) return;
    RC_ASSERT(all.collective.groups == static_cast<int>(groups.size()));
    RC_ASSERT(uses_of(all.patterns) == uses);
    RC_ASSERT(messages_of(all.patterns) == messages);
    for (std::size_t phase = 0; phase < latencies.size(); ++phase) {
      const PhasePlan& made = all.plan.phases[phase];
      RC_ASSERT(made.latency == latencies[phase]);
      RC_ASSERT(made.limit <= limits[phase]);
      Bandwidth links{1e300};
      for (const LinkUse& use : link_uses(all.patterns[at(made.pattern)]))
        links = std::min(links, capacity(cluster, use.link) / use.times);
      RC_ASSERT(made.limit <= links * 0.5 * (1 + 1e-12));
    }
  }));
}

TEST_CASE("the data of every group flows within it: an edge passes on what came to its sender") {
  const Cluster cluster = one_nic_cluster(4, 4);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
    const Planned all = planned(
        cluster, {.operation = Operation::all_reduce, .groups = strided(4, 4, 4), .algorithm = algorithm},
        megabytes);
    REQUIRE(all.patterns.size() == 1);
    const Pattern& pattern = all.patterns.front();
    for (std::size_t edge = 0; edge < pattern.edges.size(); ++edge) {
      for (const std::int32_t before : pattern.passed_on_by(edge))
        CHECK(pattern.edges[at(before)].to == pattern.edges[edge].from);
    }
  }
}

TEST_CASE("of groups that take different steps the slowest stand for all, and a note says which") {
  const Cluster cluster = shipped_cluster("dgx_a100", 3);
  // 0-5 and 18-23 in a node; 6-11 and 12-17 on two nodes
  const Planned all =
      planned(cluster, {.operation = Operation::all_reduce, .groups = strided(4, 6, 1)}, megabytes);
  REQUIRE(all.plan.notes.size() == 1);
  CHECK(facts_in(all.plan.notes.front()) == "4 6 all_reduce 2 6 7 8 9 10 11");
  CHECK(all.collective.participants == 24);
  CHECK(all.collective.group_size == 6);
  CHECK(all.collective.groups == 2);
  for (const auto& [ends, times] : messages_of(all.patterns)) CHECK(index(ends.first) >= 6);
  const RankGroups across{strided(4, 6, 1)[1]};
  CHECK(
      time_of(cluster, all) >=
      time_of(cluster, planned(cluster, {.operation = Operation::all_reduce, .groups = across}, megabytes)));
}

TEST_CASE("another protocol of a plan of several groups uses the same patterns") {
  const Cluster cluster = shipped_cluster("dgx_a100", 4);
  Planner planner(cluster, {.version = NcclVersion::v2_12, .overheads = {}, .compute_capability = 80},
                  {.operation = Operation::all_gather, .groups = strided(8, 4, 8)});
  std::vector<Pattern> patterns;
  const Collective large = planner.collective(Bytes{1e9}, patterns);
  const Collective small = planner.collective(Bytes{1024}, patterns);
  CHECK(planner.plan(Bytes{1024}, patterns).protocol != planner.plan(Bytes{1e9}, patterns).protocol);
  CHECK(patterns.size() == 1);
  CHECK(small.phases.front().pattern == large.phases.front().pattern);
}

TEST_CASE(
    "one-way pairs send from the first rank to the second, and take as long as one pair on other links") {
  const Cluster cluster = shipped_cluster("dgx_h100", 4);
  RankGroups pairs;
  for (int rank = 0; rank < 16; ++rank) pairs.push_back({Rank{rank + 16}, Rank{rank}});  // backwards
  const PlannerRequest request{.operation = Operation::send_recv, .groups = pairs, .one_way = true};
  const Planned all = planned(cluster, request, megabytes);
  REQUIRE(all.patterns.size() == 1);
  REQUIRE(all.patterns.front().edges.size() == 16);
  for (const Pattern::Edge& edge : all.patterns.front().edges) CHECK(index(edge.from) == index(edge.to) + 16);
  CHECK(all.collective.participants == 32);
  CHECK(all.collective.group_size == 2);
  CHECK(all.collective.one_way);
  PlannerRequest one = request;
  one.groups = {pairs.front()};
  const Planned alone = planned(cluster, one, megabytes);
  CHECK(time_of(cluster, all) == time_of(cluster, alone));
  CHECK(all.bound == alone.bound);
  CHECK(alone.bound == collective_bound(cluster, no_overheads(), Operation::send_recv,
                                        std::vector{Rank{0}, Rank{16}}, megabytes));
}

TEST_CASE("pairs of ranks that share a NIC share its rate, those of both directions do not") {
  const Cluster cluster = one_nic_cluster(2, 4);
  const auto time = [&](const RankGroups& pairs) {
    return time_of(
        cluster,
        planned(cluster, {.operation = Operation::send_recv, .groups = pairs, .one_way = true}, megabytes));
  };
  const Seconds one = time({{Rank{0}, Rank{4}}});
  const Seconds transfer = megabytes / Bandwidth{10e9};
  CHECK((time({{Rank{0}, Rank{4}}, {Rank{1}, Rank{5}}}) - one).si() ==
        doctest::Approx(transfer.si()).epsilon(1e-9));
  CHECK(time({{Rank{0}, Rank{4}}, {Rank{5}, Rank{1}}}) == one);
}

TEST_CASE("without one_way every rank of a group sends to the next") {
  const Cluster cluster = even_cluster(2, 4);
  const Planned shift =
      planned(cluster, {.operation = Operation::send_recv, .groups = {all_ranks(cluster)}}, megabytes);
  CHECK(shift.patterns.front().edges.size() == 8);
  CHECK_FALSE(shift.collective.one_way);
}

TEST_CASE("many messages are counted by link, for all groups together") {
  const Cluster cluster = even_cluster(4, 4);
  const RankGroups groups = strided(4, 4, 4);
  const CollectiveRequest request{.operation = Operation::all_to_all,
                                  .group = groups.front(),
                                  .concurrent = std::span(groups).subspan(1)};
  const CollectivePlan edges = plan_by(Algorithm::direct, cluster, request);
  const AllPairs counted = counted_pairs(cluster, no_overheads(), request);
  CHECK(counted.pattern.edge_count() == edges.patterns.front().edge_count());
  CHECK(uses_of({&counted.pattern, 1}) == uses_of(edges.patterns));
}

TEST_CASE("groups on the same nodes are bounded by the bytes of all through the nodes' NICs") {
  const Cluster cluster = shipped_cluster("dgx_a100", 4);
  const auto bound = [&](const RankGroups& groups, Operation operation) {
    return collective_bound(cluster, no_overheads(), operation, bounding_groups(cluster, groups), megabytes);
  };
  const Bandwidth nics = 8 * cluster.platform.fabric.nic.value;
  for (const int together : {1, 2, 4, 8}) {
    CAPTURE(together);
    // A node has one of the four parts of each group.
    CHECK(bound(strided(together, 4, 8), Operation::all_gather).si() ==
          doctest::Approx((together * megabytes * 0.75 / nics).si()));
  }
  // Pairs on different nodes share nothing, and ranks of pairs may send in opposite directions.
  CHECK(bound({{Rank{0}, Rank{8}}, {Rank{16}, Rank{24}}}, Operation::all_gather) ==
        bound({{Rank{0}, Rank{8}}}, Operation::all_gather));
  CHECK(bound(strided(8, 2, 8), Operation::send_recv) == bound(strided(1, 2, 8), Operation::send_recv));
}

TEST_CASE("a few groups have the bounds of all") {
  const Cluster cluster = shipped_cluster("dgx_a100", 16);
  const RankGroups groups = strided(32, 4, 32);
  CHECK(bounding_groups(cluster, groups).size() == 1);
  CHECK(bounding_groups(cluster, strided(16, 8, 1)).size() == 1);
  CHECK(bounding_groups(cluster, strided(21, 6, 1)).size() == 4);
}
