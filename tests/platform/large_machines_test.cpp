// The shipped machines beyond one box: the rack of GB200, Meta's pods, Summit's sockets, and the instances of
// clouds, against what their makers publish.

#include "platform/channels.hpp"
#include "platform/min_cut.hpp"
#include "platform/shipped_platform.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace trainyard;
using trainyard::testing::shipped_platform;

namespace {

/// Rate of an all-reduce's rings as bus bandwidth, if each of the links that they share is divided evenly.
double ring_rate(const Cluster& cluster) {
  std::map<LinkId, int> uses;
  std::vector<LinkId> links;
  const std::vector<Channel> channels = ring_channels(cluster);
  for (const Channel& channel : channels) {
    for (std::size_t i = 0; i < channel.order.size(); ++i)
      append_route(cluster, channel.order[i], channel.order[(i + 1) % channel.order.size()], channel.nic,
                   links);
  }
  for (const LinkId link : links) ++uses[link];
  double slowest = 1e15;
  for (const auto& [link, count] : uses) slowest = std::min(slowest, capacity(cluster, link).si() / count);
  return slowest * static_cast<double>(channels.size());
}

/// Links of the fabric between the first GPUs of two nodes.
std::vector<std::string> fabric_links(const Cluster& cluster, int from_node, int to_node) {
  const auto first = [&](int node) { return Rank{cluster.first_rank[static_cast<std::size_t>(node)]}; };
  std::vector<std::string> names;
  for (const LinkId link : route(cluster, first(from_node), first(to_node)).links) {
    const std::string name = link_name(cluster, link);
    if (is_fabric(cluster, link) && name.find("nic") == std::string::npos) names.push_back(name);
  }
  return names;
}

/// The rate of the narrowest link of a way.
Bandwidth rate_of(const Cluster& cluster, const Route& way) {
  Bandwidth narrowest{std::numeric_limits<double>::infinity()};
  for (const LinkId link : way.links) narrowest = std::min(narrowest, capacity(cluster, link));
  return narrowest;
}

}  // namespace

TEST_CASE("72 GPUs of a GB200 rack are one NVLink domain, each as near to all others") {
  const Platform& rack = shipped_platform("gb200_nvl72");
  const Cluster cluster = make_cluster(rack, 1);
  REQUIRE(cluster.ranks() == 72);
  for (int other = 1; other < 72; ++other) {
    const Route way = route(cluster, Rank{0}, Rank{other});
    CAPTURE(other);
    CHECK(way.type == PathType::nvlink5);
    CHECK(way.links.size() == 2);
  }
  // 18 lanes a GPU, one ring on each; NVIDIA: 130 TB/s for both directions of 72 GPUs
  CHECK(ring_channels(cluster).size() == 18);
  CHECK(ring_rate(cluster) == doctest::Approx(18 * 44.4e9));
  CHECK(2 * 2 * minimum_cut(rack, Rate::specified, true).si() == doctest::Approx(130e12).epsilon(0.01));
}

TEST_CASE("a GB200 rack has a card per GPU on the CPU that both share") {
  const Cluster cluster = make_cluster(shipped_platform("gb200_nvl72"), 2);
  REQUIRE(cluster.ranks() == 144);
  const std::vector<Channel> channels = ring_channels(cluster);
  CHECK(channels.size() == 72);
  std::set<int> nics;
  for (const Channel& channel : channels) nics.insert(channel.nic);
  CHECK(nics.size() == 72);
  for (const int gpu : {0, 1, 2, 71}) {
    CAPTURE(gpu);
    const Route way = route(cluster, Rank{gpu}, Rank{gpu + 72}, gpu);
    CHECK(way.links.size() == 6);  // GPU, CPU, card, fabric and the same down again
  }
}

TEST_CASE("ranks of every stride reach each other on two nodes of every shipped machine") {
  for (const auto& entry : std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    const Platform& platform = shipped_platform(entry.path().stem().string());
    if (platform.fabric.kind == FabricKind::none || platform.gpus.empty()) continue;
    CAPTURE(platform.name);
    const Cluster cluster = make_cluster(platform, 2);
    for (int stride = 1; stride < cluster.ranks(); stride *= 2) {
      CAPTURE(stride);
      std::vector<Rank> group;
      for (int rank = 0; rank < cluster.ranks(); rank += stride) group.push_back(Rank{rank});
      for (const Channel& channel : ring_channels(cluster, group)) {
        for (std::size_t i = 0; i < channel.order.size(); ++i)
          CHECK_NOTHROW(
              route(cluster, channel.order[i], channel.order[(i + 1) % channel.order.size()], channel.nic));
      }
    }
  }
}

TEST_CASE("a GB300 rack is a GB200 rack with a card of twice the rate on each GPU") {
  const Platform& rack = shipped_platform("gb300_nvl72");
  CHECK(2 * 2 * minimum_cut(rack, Rate::specified, true).si() == doctest::Approx(130e12).epsilon(0.01));
  CHECK(rack.fabric.nic.value.si() == 2 * shipped_platform("gb200_nvl72").fabric.nic.value.si());
  const Cluster cluster = make_cluster(rack, 2);
  CHECK(ring_channels(make_cluster(rack, 1)).size() == 18);
  CHECK(ring_channels(cluster).size() == 72);
  for (const int gpu : {0, 1, 71}) {
    CAPTURE(gpu);
    const Route way = route(cluster, Rank{gpu}, Rank{gpu + 72}, gpu);
    CHECK(way.links.size() == 4);  // GPU, card, fabric and the same down again
    CHECK(rate_of(cluster, way).si() == doctest::Approx(0.96 * 100e9));
  }
}

TEST_CASE("a DGX B300 drives eight cards of 800 Gb/s without touching its CPUs") {
  const Cluster two = make_cluster(shipped_platform("dgx_b300"), 2);
  CHECK(ring_channels(two).size() == 8);
  for (const int gpu : {0, 3, 7}) {
    CAPTURE(gpu);
    const Route way = route(two, Rank{gpu}, Rank{gpu + 8}, gpu);
    CHECK(way.links.size() == 6);  // GPU, switch, card, fabric and the same down again
    CHECK(rate_of(two, way).si() == doctest::Approx(0.96 * 100e9));
  }
}

TEST_CASE("pods of the Llama 3 cluster never block inside, and a seventh leaves them") {
  const Platform& meta = shipped_platform("llama3_cluster");
  constexpr int nodes = 2048;  // 16,384 GPUs
  const Cluster cluster = make_cluster(meta, nodes);
  REQUIRE(cluster.ranks() == 16384);
  CHECK(fabric_links(cluster, 0, 1).empty());    // one rack
  CHECK(fabric_links(cluster, 0, 383).empty());  // one pod of 3,072 GPUs
  const std::vector<std::string> across = fabric_links(cluster, 0, 384);
  REQUIRE(across.size() == 2);
  const LinkId uplink = find_link(cluster, across.front()).value();
  CHECK(specified_bandwidth(cluster, uplink).si() == doctest::Approx(3072 * 50e9 / 7));
  CHECK(route(cluster, Rank{0}, Rank{8 * 384}).latency > route(cluster, Rank{0}, Rank{8 * 383}).latency);
}

TEST_CASE("rails and the tapered tree have the links that their networks describe") {
  const Cluster tree = make_cluster(shipped_platform("fat_tree_1024"), 1024);
  CHECK(tree.ranks() == 8192);
  CHECK(fabric_links(tree, 0, 127).empty());
  const std::vector<std::string> across = fabric_links(tree, 0, 128);
  REQUIRE(across.size() == 2);
  CHECK(specified_bandwidth(tree, find_link(tree, across.front()).value()).si() ==
        doctest::Approx(128 * 8 * 25e9 / 2));

  const Cluster rails = make_cluster(shipped_platform("rail_optimised_2048"), 2048);
  CHECK(rails.ranks() == 16384);
  CHECK(fabric_links(rails, 0, 127).empty());
  CHECK(fabric_links(rails, 0, 128).size() == 2);
}

TEST_CASE("rings on Summit stay on NVLinks inside a socket and cross the X-bus once each way") {
  const Platform& summit = shipped_platform("summit");
  const Cluster socket = make_cluster(summit, 1, 3);
  CHECK(ring_channels(socket).size() == 4);  // two lanes to each neighbour, both ways round
  CHECK(ring_rate(socket) == doctest::Approx(4 * 22.6e9));

  const Cluster node = make_cluster(summit, 1);
  REQUIRE(node.ranks() == 6);
  CHECK(route(node, Rank{0}, Rank{2}).type == PathType::nvlink2);
  CHECK(route(node, Rank{0}, Rank{3}).type == PathType::sys);
  CHECK(ring_channels(node).size() == 1);
  CHECK(ring_rate(node) == doctest::Approx(32e9));  // what NCCL plans with on the X-bus

  // two EDR ports a node
  CHECK(ring_channels(make_cluster(summit, 4)).size() == 2);
}

TEST_CASE("instances of clouds send as much as their makers sell") {
  struct Sold {
    std::string platform;
    int gpus;
    double gbps;
  };
  for (const Sold& sold :
       {Sold{"p5_48xlarge", 8, 3200}, Sold{"azure_nd_a100_v4", 8, 1600}, Sold{"azure_nd_h100_v5", 8, 3200},
        Sold{"gcp_a2_highgpu", 8, 100}, Sold{"gcp_a2_megagpu", 16, 100}, Sold{"gcp_a3_highgpu", 8, 800},
        Sold{"gcp_a3_megagpu", 8, 1600}, Sold{"dgx_b200", 8, 3200}, Sold{"p3_brookhaven", 8, 10}}) {
    CAPTURE(sold.platform);
    const Platform& platform = shipped_platform(sold.platform);
    CHECK(static_cast<int>(platform.gpus.size()) == sold.gpus);
    CHECK(8 * platform.fabric.nic.value.si() * static_cast<double>(platform.nics.size()) ==
          doctest::Approx(sold.gbps * 1e9));
    CHECK(platform.price.hour.has_value());
    CHECK((platform.power.max || platform.power.overhead));
    const std::vector<Channel> channels = ring_channels(make_cluster(platform, 2));
    CHECK(channels.size() == platform.nics.size());
  }
}

TEST_CASE(
    "rings of a DGX B200 reach the fitted rate of their lanes, below the 830 GB/s with reductions in the "
    "switches") {
  const double rate = ring_rate(make_cluster(shipped_platform("dgx_b200"), 1));
  CHECK(rate == doctest::Approx(18 * 43.3e9));
  CHECK(rate < 830e9);
}
