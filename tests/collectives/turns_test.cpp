#include "collectives/turns.hpp"

#include "collectives/algorithm_plans.hpp"
#include "collectives/machines.hpp"
#include "collectives/protocols.hpp"
#include "collectives/ring.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr double microsecond = 1e-6;
constexpr double kib = 1024;

/// A network on which channels take turns of 10 us with Simple.
ProtocolOverheads with_turns(double turn_us) {
  ProtocolOverheads overheads;
  BetweenOverheads between{.nic = 10, .compute_capability = 90};
  between.turn = {Seconds{turn_us * microsecond}, Seconds{turn_us * microsecond},
                  Seconds{turn_us * microsecond}};
  overheads.between = between;
  return overheads;
}

}  // namespace

TEST_CASE("up to four fast NICs of Hopper have twice the channels of eight") {
  CHECK(channels_between(1, 48, 90).planned == 2);
  CHECK(channels_between(2, 48, 90).planned == 4);
  CHECK(channels_between(4, 48, 90).planned == 8);
  CHECK(channels_between(8, 48, 90).planned == 8);
  CHECK(channels_between(4, 48, 90).started == 16);
  CHECK(channels_between(8, 48, 90).started == 16);
  CHECK(channels_between(8, 24, 80).planned == 8);  // slow ones stay whole
}

TEST_CASE("a step between nodes takes at least its turn and at least its bytes") {
  const RingTurns turns{
      .turn = Seconds{10 * microsecond}, .channels = 2, .part = 0.125, .rate = Bandwidth{50e9}};
  const Seconds latency{1 * microsecond};
  for (const double bytes : {1.0, 1e4, 1e6, 1e8}) {
    const Seconds transfer = Bytes{bytes} / turns.rate;
    const Seconds step = beyond_latency(turns, latency, Bytes{bytes}) + latency + transfer;
    CHECK(step >= turns.turn);
    CHECK(step >= transfer);
    // and not more than all of it one after the other
    CHECK(step <= turns.turn + latency + transfer * 1.2);
  }
}

TEST_CASE("the more channels share a NIC, the less a turn costs") {
  RingTurns turns{.turn = Seconds{20 * microsecond}, .channels = 2, .part = 0.125, .rate = Bandwidth{50e9}};
  const Bytes message{1 << 20};
  const Seconds of_two = beyond_latency(turns, Seconds{microsecond}, message);
  turns.channels = 4;
  CHECK(beyond_latency(turns, Seconds{microsecond}, message) < of_two);
}

TEST_CASE("chunks of trees with LL128 grow with the size up to a slot of the buffer") {
  const TreeTurns turns{.chunk = Seconds{microsecond},
                        .rate = Bandwidth{5e9},
                        .channels = 1,
                        .all_channels = 16,
                        .nodes = 16,
                        .per_node = 8,
                        .is_ll128 = true};
  CHECK(tree_chunk(turns, Bytes{1 << 20}) == Bytes{18000});
  CHECK(tree_chunk(turns, Bytes{64.0 * 1024 * kib}) == Bytes{72000});
  CHECK(tree_chunk(turns, Bytes{1e12}) == Bytes{576000});
}

TEST_CASE("a ring over nodes is slowed by turns, one inside a node is not") {
  const Cluster one = even_cluster(1, 4);
  const Cluster two = even_cluster(2, 4);
  for (const bool is_slow : {false, true}) {
    const ProtocolOverheads overheads = with_turns(is_slow ? 1000 : 1e-3);
    const auto time = [&](const Cluster& cluster) {
      const CollectiveRequest request = over_all_ranks(cluster, Operation::all_gather);
      return time_alone(cluster, ring(cluster, overheads, request), Bytes{1e6});
    };
    const auto bare = [&](const Cluster& cluster) {
      const CollectiveRequest request = over_all_ranks(cluster, Operation::all_gather);
      return time_alone(cluster, ring(cluster, no_overheads(), request), Bytes{1e6});
    };
    CHECK(time(one) == bare(one));
    CHECK((time(two).si() >= 7 * 1000 * microsecond) == is_slow);
  }
}

TEST_CASE("rings counted and listed have the same turns") {
  const Cluster cluster = even_cluster(3, 4);
  const ProtocolOverheads overheads = with_turns(50);
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  request.edges = PatternEdges::listed;
  const Collective listed = collective(ring(cluster, overheads, request), Bytes{1e6}, 0);
  request.edges = PatternEdges::counted;
  const Collective counted = collective(ring(cluster, overheads, request), Bytes{1e6}, 0);
  CHECK(listed.phases.front().latency.si() == doctest::Approx(counted.phases.front().latency.si()));
}

TEST_CASE("an all_to_all over nodes waits for each peer there") {
  const Cluster cluster = even_cluster(3, 4);
  ProtocolOverheads overheads = with_turns(1);
  overheads.between->base = Seconds{20 * microsecond};
  overheads.between->peer = Seconds{100 * microsecond};
  const CollectiveRequest request = over_all_ranks(cluster, Operation::all_to_all);
  const Collective made = collective(direct(cluster, overheads, request), Bytes{1e3}, 0);
  CHECK(made.overhead.si() == doctest::Approx(20 * microsecond));
  CHECK(made.phases.front().latency.si() == doctest::Approx(8 * 100 * microsecond));
}

TEST_CASE("an all_to_all over nodes starts no ring inside a node") {
  const Cluster cluster = even_cluster(2, 2);
  ProtocolOverheads overheads = with_turns(1);
  const CollectiveRequest request = over_all_ranks(cluster, Operation::all_to_all);
  const auto time = [&] {
    const Collective made = collective(direct(cluster, overheads, request), Bytes{1e9}, 0);
    return (made.overhead + closed_form(made.phases.front(), made.phases.front().limit)).si();
  };
  const double without = time();
  overheads.startup.fill(1);
  overheads.startup[static_cast<std::size_t>(PathType::network)] = 0;
  CHECK(time() == doctest::Approx(without));
  overheads.startup.fill(1);
  CHECK(time() > without);
}

TEST_CASE("costs of turns hold for the tables since 2.22 on the networks that have them") {
  const Protocols all = load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
  Platform platform;
  platform.fabric.gpudirect.value = true;
  platform.fabric.transport = Transport::roce;
  CHECK(overheads_of(all, NcclVersion::v2_30, platform).between.has_value());
  CHECK(!overheads_of(all, NcclVersion::v2_12, platform).between.has_value());
  platform.fabric.transport = Transport::tcp;
  CHECK(!overheads_of(all, NcclVersion::v2_30, platform).between.has_value());
}
