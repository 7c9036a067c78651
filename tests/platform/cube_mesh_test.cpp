// The shipped 8-GPU V100 boxes: their links compared with the published dumps, and the paths to their NICs.

#include "platform/channels.hpp"
#include "platform/connection.hpp"
#include "platform/machines.hpp"

#include <doctest/doctest.h>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Platform shipped_box(const std::string& name) { return testing::shipped_platform(name); }

Platform with_gpudirect(Platform platform, bool has_it) {
  platform.fabric.gpudirect.value = has_it;
  return platform;
}

/// NVLink lanes between each two GPUs.
std::vector<std::vector<int>> lanes_of_pairs(const Platform& platform) {
  std::vector<std::vector<int>> table(platform.gpus.size(), std::vector<int>(platform.gpus.size(), 0));
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    const Device& one = platform.node[source(*edge, platform.node)];
    const Device& other = platform.node[target(*edge, platform.node)];
    if (one.kind != DeviceKind::gpu || other.kind != DeviceKind::gpu) continue;
    const auto a = static_cast<std::size_t>(one.number);
    const auto b = static_cast<std::size_t>(other.number);
    table[a][b] = table[b][a] = platform.node[*edge].lanes;
  }
  return table;
}

/// Rate of a ring between nodes: the smallest capacity over the number of its uses.
Bandwidth rate_between_nodes(const Cluster& cluster) {
  const std::vector<Channel> channels = ring_channels(cluster);
  std::map<LinkId, int> uses;
  std::vector<LinkId> links;
  for (const Channel& channel : channels) {
    for (std::size_t i = 0; i < channel.order.size(); ++i) {
      append_route(cluster, channel.order[i], channel.order[(i + 1) % channel.order.size()], channel.nic,
                   links);
    }
  }
  for (const LinkId link : links) ++uses[link];
  Bandwidth rate{1e15};
  for (const auto& [link, times] : uses) rate = std::min(rate, capacity(cluster, link) / times);
  return rate * static_cast<double>(channels.size());
}

std::vector<std::string> names_of_links(const Cluster& cluster, Rank from, Rank to) {
  std::vector<std::string> names;
  for (const LinkId link : route(cluster, from, to).links) names.push_back(link_name(cluster, link));
  return names;
}

}  // namespace

TEST_CASE("a DLPerf node connects as nvidia-smi printed it") {
  // nvidia-smi topo -m of a node of OneFlow's cluster, Oneflow-Inc/DLPerf c89430ba; mlx5_0 is nic0
  std::istringstream dump(R"(
X    NV1  NV1  NV2  NV2  SYS  SYS  SYS  NODE
NV1  X    NV2  NV1  SYS  NV2  SYS  SYS  NODE
NV1  NV2  X    NV2  SYS  SYS  NV1  SYS  PIX
NV2  NV1  NV2  X    SYS  SYS  SYS  NV1  PIX
NV2  SYS  SYS  SYS  X    NV1  NV1  NV2  SYS
SYS  NV2  SYS  SYS  NV1  X    NV2  NV1  SYS
SYS  SYS  NV1  SYS  NV1  NV2  X    NV2  SYS
SYS  SYS  SYS  NV1  NV2  NV1  NV2  X    SYS
NODE NODE PIX  PIX  SYS  SYS  SYS  SYS  X
)");
  const Platform platform = shipped_box("dlperf");
  std::vector<DeviceId> devices = platform.gpus;
  devices.push_back(platform.nics.front());
  for (const DeviceId one : devices) {
    for (const DeviceId other : devices) {
      CAPTURE(platform.node[one].name);
      CAPTURE(platform.node[other].name);
      std::string word;
      dump >> word;
      CHECK(connection(platform, one, other) == word);
    }
  }
}

TEST_CASE("the three orderings of the cube mesh are those of the public dumps") {
  CHECK(lanes_of_pairs(shipped_box("dgx1v")) == cube_mesh());
  CHECK(lanes_of_pairs(shipped_box("dlperf")) == cube_mesh());
  // microsoft/msccl-tools, dgx1()
  CHECK(lanes_of_pairs(shipped_box("dgx1v_msccl")) ==
        std::vector<std::vector<int>>{{0, 2, 1, 1, 2, 0, 0, 0},
                                      {2, 0, 1, 2, 0, 1, 0, 0},
                                      {1, 1, 0, 2, 0, 0, 2, 0},
                                      {1, 2, 2, 0, 0, 0, 0, 1},
                                      {2, 0, 0, 0, 0, 2, 1, 1},
                                      {0, 1, 0, 0, 2, 0, 1, 2},
                                      {0, 0, 2, 0, 1, 1, 0, 2},
                                      {0, 0, 0, 1, 1, 2, 2, 0}});
  // NVIDIA/nccl-tests issue 29
  CHECK(lanes_of_pairs(shipped_box("dgx1v_nccl29")) ==
        std::vector<std::vector<int>>{{0, 2, 2, 1, 1, 0, 0, 0},
                                      {2, 0, 1, 2, 0, 1, 0, 0},
                                      {2, 1, 0, 1, 0, 0, 2, 0},
                                      {1, 2, 1, 0, 0, 0, 0, 2},
                                      {1, 0, 0, 0, 0, 2, 2, 1},
                                      {0, 1, 0, 0, 2, 0, 1, 2},
                                      {0, 0, 2, 0, 2, 1, 0, 1},
                                      {0, 0, 0, 2, 1, 2, 1, 0}});
}

TEST_CASE("a ring between DLPerf nodes enters and leaves beside the NIC and visits the others on NVLinks") {
  const Cluster cluster = make_cluster(shipped_box("dlperf"), 4);
  const std::vector<Channel> channels = ring_channels(cluster);
  REQUIRE(channels.size() == 1);
  for (int node = 0; node < 4; ++node) {
    const auto first = static_cast<std::size_t>(8 * node);
    CHECK(index(channels[0].order[first]) == 8 * node + 2);
    CHECK(index(channels[0].order[first + 7]) == 8 * node + 3);
    for (std::size_t i = first; i < first + 7; ++i)
      CHECK(route(cluster, channels[0].order[i], channels[0].order[i + 1]).type == PathType::nvlink2);
  }
}

TEST_CASE("without GPUDirect data stops in host memory, which halves what one NIC per node carries") {
  const Platform platform = shipped_box("dlperf");
  const Cluster direct = make_cluster(with_gpudirect(platform, true), 2);
  const Cluster staged = make_cluster(with_gpudirect(platform, false), 2);
  CHECK(names_of_links(direct, Rank{3}, Rank{10}) ==
        std::vector<std::string>{"node0.gpu3->pcie_switch1", "node0.pcie_switch1->nic0", "node0.nic0->fabric",
                                 "fabric->node1.nic0", "node1.nic0->pcie_switch1",
                                 "node1.pcie_switch1->gpu2"});
  CHECK(names_of_links(staged, Rank{3}, Rank{10}) ==
        std::vector<std::string>{"node0.gpu3->pcie_switch1", "node0.pcie_switch1->cpu0",
                                 "node0.cpu0->pcie_switch1", "node0.pcie_switch1->nic0", "node0.nic0->fabric",
                                 "fabric->node1.nic0", "node1.nic0->pcie_switch1", "node1.pcie_switch1->cpu0",
                                 "node1.cpu0->pcie_switch1", "node1.pcie_switch1->gpu2"});
  // the same GPUs stay at the border; NCCL is reported to reach 12 GB/s with and 6 without (nccl-tests issue
  // 29)
  CHECK(ring_channels(staged)[0].order == ring_channels(direct)[0].order);
  CHECK(rate_between_nodes(direct).si() == doctest::Approx(12e9));
  CHECK(rate_between_nodes(staged).si() == doctest::Approx(6e9));
  const Platform four_nics = shipped_box("dgx1v");
  CHECK(rate_between_nodes(make_cluster(four_nics, 2)).si() == doctest::Approx(48e9));
  CHECK(rate_between_nodes(make_cluster(with_gpudirect(four_nics, false), 2)).si() == doctest::Approx(24e9));
}

TEST_CASE("access control sends data through the root port, which NCCL does not see") {
  Platform platform = with_gpudirect(shipped_box("dlperf"), true);
  const Cluster direct = make_cluster(platform, 2);
  platform.fabric.redirected.value = true;
  const Cluster redirected = make_cluster(platform, 2);
  const Cluster staged = make_cluster(with_gpudirect(platform, false), 2);
  CHECK(names_of_links(redirected, Rank{3}, Rank{10}) == names_of_links(staged, Rank{3}, Rank{10}));
  CHECK(rate_between_nodes(redirected).si() == doctest::Approx(6e9));
  const auto worst_to_nic = [](const Cluster& cluster) {
    return channel_facts(cluster, ring_channels(cluster)).to_nic;
  };
  CHECK(worst_to_nic(redirected) == worst_to_nic(direct));
  CHECK(worst_to_nic(staged) != worst_to_nic(direct));
}

TEST_CASE("a rank whose way to the NIC passes a CPU is staged there anyway: GPUDirect changes nothing") {
  const Platform platform = shipped_box("dlperf");
  const Cluster direct = make_cluster(with_gpudirect(platform, true), 2);
  const Cluster staged = make_cluster(with_gpudirect(platform, false), 2);
  CHECK(names_of_links(staged, Rank{0}, Rank{8}) == names_of_links(direct, Rank{0}, Rank{8}));
  // from the other socket: switch, CPU, UPI, CPU, switch, NIC
  const Route far = route(staged, Rank{5}, Rank{13});
  CHECK(far.links == route(direct, Rank{5}, Rank{13}).links);
  CHECK(far.latency.si() == doctest::Approx(1.8e-6 + 2 * 5 * 0.2e-6).epsilon(1e-12));
}

TEST_CASE("a ring that only the other socket's NIC serves pays for the link between the sockets") {
  const Platform platform = load_box(R"(name: box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {cpu: {count: 2}, nic: {count: 1}}
  links:
    - {between: ["gpu[0-1]", cpu1], kind: pcie3, bandwidth: 16 GB/s, effective: 12 GB/s, latency: 0.2 us}
    - {between: [cpu0, cpu1], kind: qpi, bandwidth: 19.2 GB/s, effective: 6 GB/s, latency: 0.5 us}
    - {between: [nic, cpu0], kind: pcie3, bandwidth: 16 GB/s, effective: 12 GB/s, latency: 0.2 us}
fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us}
)");
  const Cluster cluster = make_cluster(platform, 2);
  CHECK(rate_between_nodes(cluster).si() == doctest::Approx(6e9));
  const Route way = route(cluster, Rank{0}, Rank{2});
  CHECK(way.links.size() == 8);
  CHECK(way.latency.si() == doctest::Approx(2e-6 + 2 * 0.9e-6).epsilon(1e-12));
  CHECK(way.type == PathType::network);
}
