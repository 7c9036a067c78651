#include "collectives/plan.hpp"

#include "collectives/machines.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("chunks are 32 KiB, larger only where there would be too many") {
  constexpr double kib = 1024;
  CHECK(chunk_count(Bytes{1}, 4) == 1);
  CHECK(chunk_count(Bytes{32 * kib}, 4) == 1);
  CHECK(chunk_count(Bytes{33 * kib}, 4) == 2);
  CHECK(chunk_count(Bytes{32 * kib * 511.5}, 4) == 512);
  CHECK(chunk_count(Bytes{1e12}, 4) == 512);
  CHECK(chunk_count(Bytes{1e12}, 100) == 1600);
  CHECK(chunk_count(Bytes{32 * kib}, 4, Protocol::ll) == 8);
  CHECK(chunk_count(Bytes{32 * kib}, 4, Protocol::ll128) == 18);
}

TEST_CASE("a plan at a size: bytes by share, patterns numbered on, the start-up beside the base") {
  CollectivePlan plan;
  plan.overhead = Seconds{1e-6};
  plan.participants = 4;
  plan.phases.push_back({.pattern = 0,
                         .messages = 6,
                         .share = 0.25,
                         .latency = Seconds{2e-6},
                         .limit = Bandwidth{1e9},
                         .startup = 0.5});
  plan.phases.push_back({.pattern = 1, .share = 0.5, .hops = 4, .latency = Seconds{3e-6}});
  const Collective made = collective(plan, Bytes{8e6}, 7);
  CHECK(made.size == Bytes{8e6});
  CHECK(made.participants == 4);
  CHECK(made.overhead.si() == doctest::Approx(1e-6 + 0.5 * 2e6 / 1e9));
  REQUIRE(made.phases.size() == 2);
  CHECK(made.phases[0].pattern == 7);
  CHECK(made.phases[0].messages == 6);
  CHECK(made.phases[0].bytes == Bytes{2e6});
  CHECK(made.phases[1].pattern == 8);
  CHECK(made.phases[1].messages == chunk_count(Bytes{4e6}, 4, plan.protocol));
  CHECK(made.phases[1].bytes.si() * made.phases[1].messages == doctest::Approx(4e6));
}

TEST_CASE("the longest path of a chunked phase, in edges and in time") {
  const Cluster cluster = shipped_cluster("dgx1v", 2);
  const ProtocolOverheads overheads = no_overheads();
  PatternMaker maker(cluster, overheads, Protocol::simple);
  const std::int32_t first = maker.add(Rank{0}, Rank{1});
  const std::int32_t second = maker.add(Rank{1}, Rank{2}, -1, std::span(&first, 1));
  const std::int32_t apart = maker.add(Rank{3}, Rank{8});
  const std::int32_t both[] = {second, first};
  const std::int32_t last = maker.add(Rank{2}, Rank{3}, -1, both);
  const PatternMaker::Path way = maker.longest_path();
  CHECK(way.edges == 3);
  const Seconds inside = maker.latency(first) + maker.latency(second) + maker.latency(last);
  CHECK(way.latency == std::max(inside, maker.latency(apart)));
  CHECK(maker.largest_latency() == maker.latency(apart));
}

TEST_CASE("a group's shares are its ranks node by node") {
  const Cluster cluster = even_cluster(4, 4);
  const std::vector<Rank> group{Rank{1}, Rank{3}, Rank{8}, Rank{12}, Rank{13}, Rank{15}};
  const std::vector<NodeShare> shares = node_shares(cluster, group);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].node == NodeId{0});
  CHECK(shares[0].ranks.size() == 2);
  CHECK(shares[1].node == NodeId{2});
  CHECK(shares[1].ranks.front() == Rank{8});
  CHECK(shares[2].ranks.back() == Rank{15});
  CHECK(flows_per_channel(cluster, group, 1) == 2);
  CHECK(flows_per_channel(cluster, group, 4) == 1);
}

TEST_CASE("what software costs an edge: the larger of both inside a node, the sum between nodes") {
  const Cluster cluster = shipped_cluster("dgx1v", 2);
  ProtocolOverheads overheads;
  for (ByProtocol<Seconds>& step : overheads.step) step.fill(Seconds{1e-3});
  PatternMaker maker(cluster, overheads, Protocol::ll);
  const int inside = maker.add(Rank{0}, Rank{1});
  const int between = maker.add(Rank{0}, Rank{8});
  CHECK(maker.latency(inside) == Seconds{1e-3});
  CHECK(maker.latency(between) == Seconds{1e-3} + route(cluster, Rank{0}, Rank{8}).latency);
}
