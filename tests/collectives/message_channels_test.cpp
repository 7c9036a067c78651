#include "collectives/message_channels.hpp"

#include "collectives/algorithms.hpp"
#include "collectives/protocols.hpp"

#include <boost/range/iterator_range.hpp>
#include <doctest/doctest.h>
#include <string_view>

using namespace trainyard;

namespace {

constexpr double bytes_per_kib = 1024.0;
constexpr double bytes_per_mib = 1024 * bytes_per_kib;

/// Round numbers, so that every time below is a sum of a few terms.
ProtocolOverheads round_overheads() {
  ProtocolOverheads overheads;
  overheads.pairs = PairOverheads{.base_ll = Seconds{8e-6},
                                  .base_simple = Seconds{16e-6},
                                  .channel_ll = Bandwidth{5e9},
                                  .channel_simple = Bandwidth{20e9},
                                  .efficiency = 0.8,
                                  .startup = 0.5,
                                  .least_part_ll = Bytes{8 * bytes_per_kib},
                                  .least_part_simple = Bytes{64 * bytes_per_kib}};
  return overheads;
}

double time_of(const Cluster& cluster, const ProtocolOverheads& overheads, Protocol protocol, double size) {
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_to_all);
  request.protocol = protocol;
  const Collective made = collective(direct(cluster, overheads, request), Bytes{size}, 0);
  REQUIRE(made.phases.size() == 1);
  const CollectivePhase& phase = made.phases.front();
  CHECK(phase.messages == 1);
  return (made.overhead + closed_form(phase, phase.limit)).si();
}

double channels_among(int ranks) {
  const Cluster rack = shipped_cluster("gb200_nvl72", 1);
  const std::vector<Rank> all = all_ranks(rack);
  const auto group = std::span(all).first(static_cast<std::size_t>(ranks));
  return all_to_all_channels(rack, round_overheads(), group, Protocol::simple).most;
}

}  // namespace

TEST_CASE("a message takes its part of 32 channels, which the copy of a rank's own part shares") {
  CHECK(channels_among(2) == 16);
  CHECK(channels_among(3) == 8);
  CHECK(channels_among(4) == 8);
  CHECK(channels_among(8) == 4);
  CHECK(channels_among(32) == 1);
  CHECK(channels_among(33) == doctest::Approx(1.0 / 2));
  CHECK(channels_among(72) == doctest::Approx(1.0 / 3));
}

TEST_CASE("NCCL allows a message two channels per NVLink lane, and two without NVLinks") {
  const auto of = [](const char* platform, int nodes) {
    const Cluster cluster = shipped_cluster(platform, nodes);
    return channels_per_pair(cluster, all_ranks(cluster));
  };
  CHECK(of("dgx_a100", 1) == 32);  // 24, rounded up
  CHECK(of("dgx_h100", 1) == 32);
  CHECK(of("dgx_h100", 2) == 2);
  CHECK(of("v100_pcie_server", 1) == 2);
}

TEST_CASE("only NVLinks of one node and of generations with such costs have channels") {
  const auto most = [](const char* platform, int nodes, const ProtocolOverheads& overheads) {
    const Cluster cluster = shipped_cluster(platform, nodes);
    return all_to_all_channels(cluster, overheads, all_ranks(cluster), Protocol::simple).most;
  };
  CHECK(most("dgx_h100", 1, round_overheads()) == 4);
  CHECK(most("dgx_h100", 2, round_overheads()) == 0);
  CHECK(most("v100_pcie_server", 1, round_overheads()) == 0);
  CHECK(most("dgx_h100", 1, no_overheads()) == 0);
  for (const char* platform : {"dgx1v", "dgx2", "dgx_a100", "dgx_h100", "dgx_b200"}) {
    CAPTURE(platform);
    const Protocols constants =
        load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
    const bool is_old = std::string_view(platform) == "dgx1v" || std::string_view(platform) == "dgx2";
    const Cluster machine = shipped_cluster(platform, 1);
    CHECK(overheads_of(constants, NcclVersion::v2_30, machine.platform).pairs.has_value() != is_old);
  }
}

TEST_CASE("two GPUs are held to half of the channels, eight to their links") {
  const double link = 18 * 43.3e9;
  const Cluster two = shipped_cluster("dgx_b200", 1, 2);
  // 256 MiB a message on 16 channels: 512 KiB of each are the first chunk
  CHECK(time_of(two, round_overheads(), Protocol::simple, 512 * bytes_per_mib) ==
        doctest::Approx(16e-6 + (256 * bytes_per_mib + 0.5 * 8 * bytes_per_mib) / (16 * 20e9)));
  const Cluster eight = shipped_cluster("dgx_b200", 1, 8);
  const double each = std::min(4 * 20e9, 0.8 * link / 7);
  CHECK(each == doctest::Approx(80e9));
  CHECK(time_of(eight, round_overheads(), Protocol::simple, 512 * bytes_per_mib) ==
        doctest::Approx(16e-6 + (64 * bytes_per_mib + 0.5 * 2 * bytes_per_mib) / each));
  ProtocolOverheads fast = round_overheads();
  fast.pairs->channel_simple = Bandwidth{40e9};
  CHECK(time_of(eight, fast, Protocol::simple, 512 * bytes_per_mib) ==
        doctest::Approx(16e-6 + (64 * bytes_per_mib + 0.5 * 2 * bytes_per_mib) / (0.8 * link / 7)));
}

TEST_CASE("small messages take fewer channels, one for each smallest part") {
  const Cluster two = shipped_cluster("dgx_b200", 1, 2);
  const auto simple = [&](double message) {
    return time_of(two, round_overheads(), Protocol::simple, 2 * message);
  };
  // as long with every further channel, until all 16 are taken
  CHECK(simple(64 * bytes_per_kib) == doctest::Approx(16e-6 + 1.5 * 64 * bytes_per_kib / 20e9));
  CHECK(simple(512 * bytes_per_kib) == doctest::Approx(simple(64 * bytes_per_kib)));
  CHECK(simple(1024 * bytes_per_kib) == doctest::Approx(simple(64 * bytes_per_kib)));
  CHECK(simple(2048 * bytes_per_kib) > simple(1024 * bytes_per_kib) * 1.1);
  // LL stores no chunks
  const auto ll = [&](double message) { return time_of(two, round_overheads(), Protocol::ll, 2 * message); };
  CHECK(ll(4 * bytes_per_kib) == doctest::Approx(8e-6 + 4 * bytes_per_kib / 5e9));
  CHECK(ll(16 * bytes_per_kib) == doctest::Approx(8e-6 + 8 * bytes_per_kib / 5e9));
  CHECK(ll(512 * bytes_per_kib) == doctest::Approx(8e-6 + 512 * bytes_per_kib / (16 * 5e9)));
}

TEST_CASE("a slower link delays an all-to-all by what it adds to the usual latency") {
  Platform platform = testing::shipped_platform("dgx_b200");
  const auto time = [&](double latency) {
    for (const EdgeId edge : boost::make_iterator_range(edges(platform.node)))
      if (is_nvlink(platform.node[edge].kind)) platform.node[edge].latency.value = Seconds{latency};
    return time_of(make_cluster(platform, 1), round_overheads(), Protocol::simple, bytes_per_mib);
  };
  CHECK(time(3.25e-6) - time(1.25e-6) == doctest::Approx(2 * 2e-6));
}

TEST_CASE("groups beside each other in a node do not slow each other down") {
  const Cluster eight = shipped_cluster("dgx_b200", 1, 8);
  const std::vector<Rank> all = all_ranks(eight);
  const std::vector<std::vector<Rank>> others{{all[2], all[3]}, {all[4], all[5]}, {all[6], all[7]}};
  CollectiveRequest request{.operation = Operation::all_to_all, .group = {all[0], all[1]}};
  const auto time = [&] {
    const CollectivePlan plan = direct(eight, round_overheads(), request);
    const Collective made = collective(plan, Bytes{64 * bytes_per_mib}, 0);
    return made.overhead + closed_form(made.phases.front(), made.phases.front().limit);
  };
  const Seconds alone = time();
  request.concurrent = others;
  CHECK(time() == alone);
}
