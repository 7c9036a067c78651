#include "platform/channels.hpp"

#include "errors_of.hpp"
#include "platform/host_staging.hpp"
#include "platform/machines.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <rapidcheck.h>
#include <set>
#include <vector>

using namespace trainyard;

namespace {

std::vector<int> numbers(const Channel& channel) {
  std::vector<int> result;
  for (const Rank rank : channel.order) result.push_back(index(rank));
  return result;
}

bool visits_each_rank_once(const Cluster& cluster, const Channel& channel) {
  std::vector<int> order = numbers(channel);
  std::ranges::sort(order);
  std::vector<int> all(static_cast<std::size_t>(cluster.ranks()));
  std::iota(all.begin(), all.end(), 0);
  return order == all;
}

/// How often the channels use each link if every hop carries data.
std::map<LinkId, int> use(const Cluster& cluster, const std::vector<Channel>& channels) {
  std::map<LinkId, int> count;
  std::vector<LinkId> links;
  for (const Channel& channel : channels) {
    for (std::size_t i = 0; i < channel.order.size(); ++i) {
      append_route(cluster, channel.order[i], channel.order[(i + 1) % channel.order.size()], channel.nic,
                   links);
    }
  }
  for (const LinkId link : links) ++count[link];
  return count;
}

std::vector<int> nics(const std::vector<Channel>& channels) {
  std::vector<int> result;
  for (const Channel& channel : channels) result.push_back(channel.nic);
  return result;
}

}  // namespace

TEST_CASE("12 and 16 GPUs of a DGX-2 have six rings that fill every lane") {
  for (const int gpus : {2, 12, 16}) {
    CAPTURE(gpus);
    const Cluster cluster = make_cluster(dgx2(), 1, gpus);
    const std::vector<Channel> channels = ring_channels(cluster);
    CHECK(channels.size() == 6);
    for (const Channel& channel : channels) {
      CHECK(channel.nic == -1);
      CHECK_FALSE(channel.is_chain);
      CHECK(visits_each_rank_once(cluster, channel));
    }
    for (const auto& [link, count] : use(cluster, channels)) CHECK(count == 6);
  }
}

TEST_CASE("the cube mesh has the channels its measured bus bandwidths show, and a chain for five GPUs") {
  const std::vector<std::size_t> expected{1, 2, 4, 1, 2, 4, 6};
  for (int gpus = 2; gpus <= 8; ++gpus) {
    CAPTURE(gpus);
    const Cluster cluster = make_cluster(load_box(cube_mesh_text()), 1, gpus);
    const std::vector<Channel> channels = ring_channels(cluster);
    CHECK(channels.size() == expected[static_cast<std::size_t>(gpus - 2)]);
    for (const Channel& channel : channels) {
      CHECK(channel.is_chain == (gpus == 5));
      CHECK(visits_each_rank_once(cluster, channel));
      for (std::size_t i = 0; i + 1 < channel.order.size(); ++i) {
        CHECK(route(cluster, channel.order[i], channel.order[i + 1]).type == PathType::nvlink2);
      }
    }
  }
}

TEST_CASE("a search for rings that stopped before a proof says so") {
  std::string text = "name: box\nnode:\n  gpus: {count: 16, profile: some_gpu}\n  links:\n";
  const auto add = [&](std::size_t one, std::size_t other, int lanes) {
    text += fmt::format(
        "    - {{between: [gpu{}, gpu{}], kind: nvlink2, lanes: {}, bandwidth: {} GB/s, latency: 1 us}}\n",
        one, other, lanes, 25 * lanes);
  };
  for (std::size_t a = 0; a < 8; ++a) {
    add(a, 8 + a, 1);
    for (std::size_t b = a + 1; b < 8; ++b) {
      if (cube_mesh()[a][b] == 0) continue;
      add(a, b, cube_mesh()[a][b]);
      add(8 + a, 8 + b, cube_mesh()[a][b]);
    }
  }
  std::vector<std::string> notes;
  CHECK(ring_channels(make_cluster(load_box(text), 1), &notes).size() == 6);
  REQUIRE(notes.size() == 1);
  CHECK(facts_in(notes[0]) == "16 6");
  notes.clear();
  (void)ring_channels(make_cluster(dgx2(), 1), &notes);
  CHECK(notes.empty());
}

TEST_CASE("one rank has no channels") { CHECK(ring_channels(make_cluster(dgx2(), 1, 1)).empty()); }

TEST_CASE("without NVLinks one ring keeps neighbours on the PCIe tree together") {
  const std::vector<Channel> channels = ring_channels(make_cluster(load_box(pcie_box_text), 1));
  REQUIRE(channels.size() == 1);
  CHECK(numbers(channels[0]) == std::vector{0, 2, 1, 3});
  CHECK_FALSE(channels[0].is_chain);
}

TEST_CASE("NVLinks that join only some GPUs do not make rings of their own") {
  const std::vector<Channel> channels = ring_channels(make_cluster(load_box(R"(name: box
node:
  gpus: {count: 4, profile: some_gpu}
  devices: {cpu: {count: 2}}
  links:
    - {between: [gpu0, gpu2], kind: nvlink2, lanes: 3, bandwidth: 75 GB/s, latency: 1 us}
    - {between: [gpu1, gpu3], kind: nvlink2, lanes: 3, bandwidth: 75 GB/s, latency: 1 us}
    - {between: ["gpu[0,2]", cpu0], kind: nvlink2, lanes: 3, bandwidth: 75 GB/s, latency: 1 us}
    - {between: ["gpu[1,3]", cpu1], kind: nvlink2, lanes: 3, bandwidth: 75 GB/s, latency: 1 us}
    - {between: [cpu0, cpu1], kind: xbus, bandwidth: 32 GB/s, latency: 1 us}
)"),
                                                                   1));
  REQUIRE(channels.size() == 1);
  CHECK(numbers(channels[0]) == std::vector{0, 2, 1, 3});
}

TEST_CASE("between nodes of a DGX-2 each NIC has a ring that enters and leaves at the two GPUs beside it") {
  const Cluster cluster = make_cluster(dgx2(), 2);
  const std::vector<Channel> channels = ring_channels(cluster);
  REQUIRE(nics(channels) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
  for (const Channel& channel : channels) {
    CHECK(visits_each_rank_once(cluster, channel));
    CHECK(index(channel.order[0]) == 2 * channel.nic);
    CHECK(index(channel.order[15]) == 2 * channel.nic + 1);
    CHECK(index(channel.order[16]) == 16 + 2 * channel.nic);
    CHECK(index(channel.order[31]) == 16 + 2 * channel.nic + 1);
  }
  // each NIC once in and once out of each node; no NVLink more than its rate allows at 12 GB/s a ring
  for (const auto& [link, count] : use(cluster, channels)) {
    if (is_fabric(cluster, link)) CHECK(count == 1);
    CHECK(count * 12e9 <= capacity(cluster, link).si());
  }
}

TEST_CASE("nodes that hold different numbers of ranks use the NICs that both are near to") {
  const Cluster cluster = make_cluster(dgx2(), 2, 24);
  const std::vector<Channel> channels = ring_channels(cluster);
  CHECK(nics(channels) == std::vector{0, 1, 2, 3});
  for (const Channel& channel : channels) {
    CHECK(visits_each_rank_once(cluster, channel));
    CHECK(index(channel.order[0]) == 2 * channel.nic);
    CHECK(index(channel.order[16]) == 16 + 2 * channel.nic);
    CHECK(index(channel.order[23]) == 16 + 2 * channel.nic + 1);
  }
}

TEST_CASE("one GPU per node makes one ring through the NIC beside it") {
  const std::vector<Channel> channels = ring_channels(make_cluster(dgx2(), 4, 0, 1));
  REQUIRE(channels.size() == 1);
  CHECK(channels[0].nic == 0);
  CHECK(numbers(channels[0]) == std::vector{0, 1, 2, 3});
}

TEST_CASE("cube mesh nodes have a ring for each of their four NICs, on NVLinks inside") {
  const Cluster cluster = make_cluster(load_box(cube_mesh_text()), 3);
  const std::vector<Channel> channels = ring_channels(cluster);
  REQUIRE(nics(channels) == std::vector{0, 1, 2, 3});
  for (const Channel& channel : channels) {
    CHECK(visits_each_rank_once(cluster, channel));
    for (std::size_t i = 0; i + 1 < 8; ++i) {
      CHECK(route(cluster, channel.order[i], channel.order[i + 1]).type == PathType::nvlink2);
    }
  }
}

TEST_CASE("nodes without NVLinks that share one NIC enter and leave by the GPUs nearest to it") {
  std::string text = pcie_box_text;
  text.replace(text.find("pcie_switch: {count: 2}"), 23, "pcie_switch: {count: 2}, nic: {count: 1}");
  text +=
      "    - {between: [nic0, pcie_switch1], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}\n"
      "fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us}\n";
  const std::vector<Channel> channels = ring_channels(make_cluster(load_box(text), 2));
  REQUIRE(channels.size() == 1);
  CHECK(numbers(channels[0]) == std::vector{1, 0, 2, 3, 5, 4, 6, 7});
}

TEST_CASE("a GPU that no links join to the others stops the search with its name") {
  const Cluster cluster = make_cluster(load_box(R"(name: box
node:
  gpus: {count: 3, profile: some_gpu}
  links: [{between: [gpu0, gpu1], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}]
)"),
                                       1);
  CHECK_THROWS_WITH_AS((void)ring_channels(cluster),
                       "gpu2 of box cannot be reached from gpu0: no links lead from one to the other",
                       Unreachable);
  CHECK(ring_channels(make_cluster(cluster.platform, 1, 2)).size() == 1);
}

TEST_CASE("every channel visits each rank exactly once, whatever the cut of the cluster") {
  const Platform machines[] = {dgx2(), load_box(cube_mesh_text())};
  CHECK(rc::check([&] {
    const Platform& platform = machines[*rc::gen::inRange(0, 2)];
    const int in_node = static_cast<int>(platform.gpus.size());
    const int nodes = *rc::gen::inRange(1, 6);
    const int per_node = *rc::gen::inRange(1, in_node + 1);
    const int gpus = *rc::gen::inRange(1, nodes * per_node + 1);
    const Cluster cluster = make_cluster(platform, nodes, gpus, per_node);
    const std::vector<Channel> channels = ring_channels(cluster);
    RC_ASSERT(channels.empty() == (gpus == 1));
    std::set<int> used;
    for (const Channel& channel : channels) {
      RC_ASSERT(visits_each_rank_once(cluster, channel));
      RC_ASSERT((channel.nic < 0) == (cluster.nodes == 1));
      if (channel.nic >= 0) RC_ASSERT(used.insert(channel.nic).second);
    }
  }));
}

TEST_CASE("8,192 GPUs are numbered, searched and routed like few") {
  const Platform platform = dgx2();
  const Cluster cluster = make_cluster(platform, 512);
  const std::vector<Channel> channels = ring_channels(cluster);
  std::vector<LinkId> links;
  for (const Channel& channel : channels) {
    for (std::size_t i = 0; i < channel.order.size(); ++i) {
      append_route(cluster, channel.order[i], channel.order[(i + 1) % channel.order.size()], channel.nic,
                   links);
    }
  }
  // per node and ring: 15 hops of two NVLinks and one of six links through the network
  CHECK(links.size() == 8UL * 512 * (15 * 2 + 6));
}

TEST_CASE("a cube mesh whose GPUs send through host memory is one ring over PCIe with no NVLinks left") {
  const Platform box = load_box(cube_mesh_text());
  CHECK(has_gpu_links(box));
  const Platform staged = staged_through_host(box);
  CHECK_FALSE(has_gpu_links(staged));
  const Cluster cluster = make_cluster(staged, 1);
  const std::vector<Channel> channels = ring_channels(cluster);
  REQUIRE(channels.size() == 1);
  const std::optional<PathType> inside = channel_facts(cluster, channels).inside;
  CHECK(inside == PathType::staged);
  // gpu0 and gpu1 share a switch: to the CPU's memory and back
  const Route pair = route(cluster, Rank{0}, Rank{1});
  CHECK(pair.links.size() == 4);
  CHECK(pair.type == PathType::staged);
  // the path to a NIC stays
  CHECK(cluster.inside.gpu_to_nic[0][0].links.size() ==
        make_cluster(box, 1).inside.gpu_to_nic[0][0].links.size());
  for (const int gpus : {2, 4, 8})
    CHECK(ring_channels(make_cluster(staged_through_host(dgx2()), 1, gpus)).size() == 1);
}

TEST_CASE("RCCL's rings between nodes of eight MI300X each enter and leave by other GPUs and NICs") {
  for (const int nodes : {2, 3, 6}) {
    for (const int gpus : {2, 6, 8}) {
      CAPTURE(nodes);
      CAPTURE(gpus);
      const Cluster cluster = make_cluster(testing::shipped_platform("server_mi300x"), nodes, 0, gpus);
      const std::vector<Channel> channels = ring_channels(cluster);
      REQUIRE(static_cast<int>(channels.size()) == gpus);
      std::set<int> entries, exits;
      const auto per_node = static_cast<std::size_t>(gpus);
      for (const Channel& channel : channels) {
        CHECK(channel.turns);
        CHECK(visits_each_rank_once(cluster, channel));
        entries.insert(index(channel.order.front()));
        exits.insert(index(channel.order[per_node - 1]));
        CHECK(index(channel.order.front()) != index(channel.order[per_node - 1]));
        // the rail is kept: a ring goes on at the GPU of the next node that has the number of the one it left
        for (int node = 0; node + 1 < nodes; ++node) {
          const std::size_t last = static_cast<std::size_t>((node + 1) * gpus) - 1;
          CHECK(index(channel.order[last]) % gpus == index(channel.order[last + 1]) % gpus);
        }
      }
      CHECK(static_cast<int>(entries.size()) == gpus);
      CHECK(static_cast<int>(exits.size()) == gpus);
      if (nodes % 2 == 1)
        continue;  // the last and the first node are on other rails: data crosses a GPU more
      const auto counts = use(cluster, channels);
      for (const auto& [link, count] : counts) CHECK(count == 1);
    }
  }
}

TEST_CASE("GPUs that xGMI does not join all to all, or that share a NIC, have NCCL's rings") {
  const auto nic_of_each = [](Platform platform, int gpus_per_node) {
    return nics(ring_channels(make_cluster(std::move(platform), 2, 0, gpus_per_node)));
  };
  const Platform box = testing::shipped_platform("server_mi300x");
  CHECK(nic_of_each(box, 7) == std::vector{0, 1, 2, 3, 4, 5, 6});
  CHECK(nic_of_each(testing::shipped_platform("dgx_h100"), 0) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
}
