// Ring channels of groups with only some of the cluster's ranks, and their properties for NCCL's choice.

#include "platform/channels.hpp"
#include "platform/fabrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <numeric>
#include <rapidcheck.h>
#include <set>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::vector<Rank> ranks(const std::vector<int>& numbers) {
  std::vector<Rank> group;
  for (const int number : numbers) group.push_back(Rank{number});
  return group;
}

std::vector<int> order_of(const Channel& channel) {
  std::vector<int> order;
  for (const Rank rank : channel.order) order.push_back(index(rank));
  return order;
}

bool is_over(const Channel& channel, std::vector<int> group) {
  std::vector<int> order = order_of(channel);
  std::ranges::sort(order);
  return order == group;
}

using Lanes = std::vector<std::vector<int>>;

/// The largest number of directed rings over these GPUs that use no lane of `left` twice, by trying every set
/// of them: `orders` from number `from` on.
std::size_t most_rings(const std::vector<std::vector<int>>& orders, std::size_t from, Lanes left) {
  std::size_t best = 0;
  for (std::size_t k = from; k < orders.size(); ++k) {
    Lanes rest = left;
    bool fits = true;
    for (std::size_t i = 0; i < orders[k].size(); ++i) {
      int& lane = rest[static_cast<std::size_t>(orders[k][i])]
                      [static_cast<std::size_t>(orders[k][(i + 1) % orders[k].size()])];
      fits = fits && lane-- > 0;
    }
    if (fits) best = std::max(best, 1 + most_rings(orders, k, rest));
  }
  return best;
}

std::size_t brute_force(std::vector<int> group) {
  std::vector<std::vector<int>> orders;
  // the first stays in front: a ring has no beginning
  do orders.push_back(group);
  while (std::next_permutation(group.begin() + 1, group.end()));
  return most_rings(orders, 0, cube_mesh());
}

/// Some of the numbers below `of`, ascending. Shuffled by one drawn number: a separate draw for each could
/// repeat the same number for ever, since rapidcheck begins with small values.
std::vector<int> random_group(int of, int least, int most) {
  std::vector<int> group(static_cast<std::size_t>(of));
  std::iota(group.begin(), group.end(), 0);
  std::uint64_t state = *rc::gen::arbitrary<std::uint32_t>();
  for (std::size_t i = group.size() - 1; i > 0; --i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(group[i], group[(state >> 33U) % (i + 1)]);
  }
  group.resize(static_cast<std::size_t>(*rc::gen::inRange(least, most + 1)));
  std::ranges::sort(group);
  return group;
}

}  // namespace

TEST_CASE("any GPUs of the cube mesh have as many rings as trying every set of rings finds") {
  const Cluster cluster = make_cluster(load_box(cube_mesh_text()), 1);
  CHECK(ring_channels(cluster, ranks({0, 3, 5})).size() == 1);  // no two linked to the third: a PCIe ring
  CHECK(brute_force({0, 3, 5}) == 0);
  CHECK(rc::check([&] {
    const std::vector<int> group = random_group(8, 2, 5);
    const std::vector<Channel> channels = ring_channels(cluster, ranks(group));
    const std::size_t expected = brute_force(group);
    RC_ASSERT(channels.size() == std::max<std::size_t>(expected, 1));
    for (const Channel& channel : channels) {
      RC_ASSERT(is_over(channel, group));
      RC_ASSERT(!channel.is_chain || expected == 0);
    }
    const bool has_rings_of_nvlinks = expected > 0;
    if (has_rings_of_nvlinks) RC_ASSERT(channel_facts(cluster, channels).inside == PathType::nvlink2);
  }));
}

TEST_CASE("a group on one node of many has the channels it has on a node alone") {
  const Platform platform = load_box(cube_mesh_text());
  const Cluster alone = make_cluster(platform, 1);
  const Cluster many = make_cluster(platform, 3);
  CHECK(rc::check([&] {
    const std::vector<int> group = random_group(8, 2, 8);
    const int node = *rc::gen::inRange(0, 3);
    std::vector<int> shifted = group;
    for (int& rank : shifted) rank += 8 * node;
    const std::vector<Channel> there = ring_channels(many, ranks(shifted));
    const std::vector<Channel> here = ring_channels(alone, ranks(group));
    RC_ASSERT(there.size() == here.size());
    for (std::size_t k = 0; k < here.size(); ++k) {
      std::vector<int> order = order_of(here[k]);
      for (int& rank : order) rank += 8 * node;
      RC_ASSERT(order_of(there[k]) == order);
      RC_ASSERT(there[k].is_chain == here[k].is_chain);
    }
  }));
}

TEST_CASE("two groups on several nodes: the even GPUs and the odd ones") {
  const Cluster cluster = make_cluster(dgx2(), 2);
  for (const int first : {0, 1}) {
    CAPTURE(first);
    std::vector<int> group;
    for (int rank = first; rank < cluster.ranks(); rank += 2) group.push_back(rank);
    const std::vector<Channel> channels = ring_channels(cluster, ranks(group));
    REQUIRE(channels.size() == 8);
    for (const Channel& channel : channels) {
      CHECK(is_over(channel, group));
      // it enters at the group's only GPU near the NIC
      CHECK(index(channel.order[0]) == 2 * channel.nic + first);
      CHECK(index(channel.order[8]) == 16 + 2 * channel.nic + first);
    }
  }
}

TEST_CASE("a ring over GPUs of both sockets leaves through the GPU near its NIC, not over the socket link") {
  const Cluster cluster = make_cluster(testing::shipped_platform("dgx_a100"), 2);
  const std::vector<Channel> channels = ring_channels(cluster, ranks({0, 4, 8, 12}));
  REQUIRE(channels.size() == 4);  // of the NICs 0, 1, 4 and 5
  for (const Channel& channel : channels) {
    const Rank entry = channel.order[0];
    const Rank exit = channel.order[1];
    CHECK(sender_through(cluster, entry, channel.nic) == index(entry));
    CHECK(sender_through(cluster, exit, channel.nic) == channel.nic / 2 * 2);
    const Route out = route(cluster, exit, channel.order[2], channel.nic);
    for (const LinkId link : out.links) CHECK(link_name(cluster, link).find("cpu") == std::string::npos);
    CHECK(link_name(cluster, out.links[0]) == "node0.gpu" + std::to_string(index(exit)) + "->nvswitch0");
  }
  const ChannelFacts facts = channel_facts(cluster, channels);
  CHECK(facts.to_nic == PathType::pix);
  CHECK(facts.has_proxies);
  CHECK_FALSE(channel_facts(cluster, ring_channels(cluster)).has_proxies);

  // the neighbours' groups use the neighbours' GPUs
  CHECK(sender_through(cluster, Rank{5}, 0) == 1);
  CHECK(sender_through(cluster, Rank{1}, 5) == 5);

  // nobody else is there to hand the data on
  const Cluster lonely = make_cluster(testing::shipped_platform("dgx_a100"), 2, 0, 1);
  CHECK(sender_through(lonely, Rank{0}, 7) == 0);
}

TEST_CASE("GPUs equally near to several NICs take them in turn") {
  const Cluster cluster = make_cluster(testing::shipped_platform("dgx_a100"), 1);
  CHECK(cluster.inside.nearest_nic == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("nodes without a near NIC in common: every GPU at a border takes its own") {
  const Cluster cluster = make_cluster(dgx2(), 2);
  const std::vector<Channel> channels = ring_channels(cluster, ranks({0, 1, 2, 3, 30, 31}));
  REQUIRE(channels.size() == 1);  // the second node has one near NIC
  CHECK(channels[0].nic == -1);
  CHECK(is_over(channels[0], {0, 1, 2, 3, 30, 31}));
  const Route across = route(cluster, channels[0].order[3], channels[0].order[4], -1);
  CHECK(link_name(cluster, across.links.back()) == "node1.pcie_switch7->gpu14");
  CHECK(channel_facts(cluster, channels).to_nic == PathType::pix);
}

TEST_CASE("channels of any group on several nodes visit each of its ranks once and use no NIC twice") {
  const Platform machines[] = {dgx2(), load_box(cube_mesh_text())};
  CHECK(rc::check([&] {
    const Cluster cluster = make_cluster(machines[*rc::gen::inRange(0, 2)], 4);
    const std::vector<int> group = random_group(cluster.ranks(), 1, 12);
    const std::vector<Channel> channels = ring_channels(cluster, ranks(group));
    RC_ASSERT(channels.empty() == (group.size() == 1));
    std::set<int> used;
    for (const Channel& channel : channels) {
      RC_ASSERT(is_over(channel, group));
      if (channel.nic >= 0) RC_ASSERT(used.insert(channel.nic).second);
    }
  }));
}

TEST_CASE("all ranks are a group like any other") {
  const Cluster cluster = make_cluster(dgx2(), 2, 24);
  const std::vector<Channel> whole = ring_channels(cluster);
  const std::vector<Channel> group = ring_channels(cluster, all_ranks(cluster));
  REQUIRE(whole.size() == group.size());
  for (std::size_t k = 0; k < whole.size(); ++k) CHECK(whole[k].order == group[k].order);
  CHECK(ring_channels(cluster, std::vector<Rank>{}).empty());
}

TEST_CASE("what NCCL's choice needs: the number of channels, the worst way inside and to the NIC") {
  const Cluster one = make_cluster(dgx2(), 1);
  ChannelFacts facts = channel_facts(one, ring_channels(one));
  CHECK(facts.channels == 6);
  CHECK(facts.inside == PathType::nvlink2);
  CHECK(facts.to_nic == std::nullopt);
  CHECK(facts.has_nvlinks_alone());

  const Cluster two = make_cluster(dgx2(), 2);
  facts = channel_facts(two, ring_channels(two));
  CHECK(facts.channels == 8);
  CHECK(facts.inside == PathType::nvlink2);
  CHECK(facts.to_nic == PathType::pix);

  const Cluster single = make_cluster(dgx2(), 3, 0, 1);
  facts = channel_facts(single, ring_channels(single));
  CHECK(facts.inside == std::nullopt);
  CHECK(facts.has_nvlinks_alone());

  const Cluster pcie = make_cluster(load_box(pcie_box_text), 1);
  facts = channel_facts(pcie, ring_channels(pcie));
  CHECK(facts.inside == PathType::phb);
  CHECK_FALSE(facts.has_nvlinks_alone());
}

TEST_CASE("the older of two NVLinks is the worse, and any of them better than PCIe") {
  CHECK(worse(PathType::nvlink2, PathType::nvlink3) == PathType::nvlink2);
  CHECK(worse(PathType::nvlink4, PathType::nvlink1) == PathType::nvlink1);
  CHECK(worse(PathType::nvlink5, PathType::nvlink4) == PathType::nvlink4);
  CHECK(worse(PathType::nvlink5, PathType::pix) == PathType::pix);
  CHECK(worse(PathType::nvlink1, PathType::pix) == PathType::pix);
  CHECK(worse(PathType::sys, PathType::phb) == PathType::sys);
  CHECK(worse(PathType::pxb, PathType::pxb) == PathType::pxb);
}

TEST_CASE("a ring between nodes stands for a connection of each rank of a node") {
  const std::string text =
      "  {kind: single_switch, transport: efa, nic: 100 Gbps, latency: 20 us, per_flow: 2 GB/s}\n";
  const Cluster pairs = make_cluster(machine_on(text, 2), 3);
  const std::vector<Channel> channels = ring_channels(pairs);
  REQUIRE(channels.size() == 2);  // one NIC each, two ranks per node
  for (const Channel& channel : channels) CHECK(channel.limit == Bandwidth(2e9));
  CHECK(route(pairs, Rank{0}, Rank{2}).limit == Bandwidth(2e9));
  CHECK(std::isinf(route(pairs, Rank{0}, Rank{1}).limit.si()));

  const std::vector<Channel> one_nic = ring_channels(make_cluster(load_box(R"(name: box
node:
  gpus: {count: 4, profile: some_gpu}
  devices: {cpu: {count: 1}, nic: {count: 1}}
  links:
    - {between: ["gpu[0-3]", cpu], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: [nic, cpu], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
fabric:
)" + text),
                                                                  2));
  REQUIRE(one_nic.size() == 1);
  CHECK(one_nic[0].limit == Bandwidth(8e9));
}

TEST_CASE("without peer-to-peer data stops in host memory, but not on its way over NVLink") {
  const std::string text = R"(name: box
node:
  gpus: {count: 4, profile: some_gpu}
  devices: {cpu: {count: 2}, pcie_switch: {count: 1}}
  links:
    - {between: ["gpu[0-1]", pcie_switch], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: [pcie_switch, cpu0], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["gpu[2-3]", cpu1], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: [cpu0, cpu1], kind: qpi, bandwidth: 19.2 GB/s, latency: 0.5 us}
    - {between: [gpu2, gpu3], kind: nvlink2, lanes: 2, bandwidth: 50 GB/s, latency: 1 us}
  peer_to_peer: false
  effective: {staged: 4 GB/s}
)";
  const Cluster cluster = make_cluster(load_box(text), 1);
  const auto names = [&](int from, int to) {
    std::vector<std::string> all;
    const Route way = route(cluster, Rank{from}, Rank{to});
    for (const LinkId link : way.links) all.push_back(link_name(cluster, link));
    return all;
  };
  using Names = std::vector<std::string>;
  const Route staged = route(cluster, Rank{0}, Rank{1});
  CHECK(staged.type == PathType::staged);
  CHECK(staged.limit == Bandwidth(4e9));
  CHECK(staged.latency.si() == doctest::Approx(0.8e-6).epsilon(1e-12));
  CHECK(names(0, 1) == Names{"node0.gpu0->pcie_switch0", "node0.pcie_switch0->cpu0",
                             "node0.cpu0->pcie_switch0", "node0.pcie_switch0->gpu1"});
  CHECK(names(3, 0) == Names{"node0.gpu3->cpu1", "node0.cpu1->cpu0", "node0.cpu0->pcie_switch0",
                             "node0.pcie_switch0->gpu0"});
  CHECK(names(2, 3) == Names{"node0.gpu2->gpu3"});
  CHECK(route(cluster, Rank{2}, Rank{3}).type == PathType::nvlink2);
  CHECK(std::isinf(route(cluster, Rank{2}, Rank{3}).limit.si()));

  const std::vector<Channel> channels = ring_channels(cluster);
  REQUIRE(channels.size() == 1);
  CHECK(channels[0].limit == Bandwidth(4e9));
  CHECK(channel_facts(cluster, channels).inside == PathType::staged);
}

TEST_CASE("a ring through PCIe leaves a node at its far end where the NIC is as near to all") {
  const Platform box = load_box(R"(name: box
node:
  gpus: {count: 4, profile: some_gpu}
  devices: {cpu: {count: 1}, pcie_switch: {count: 2}, nic: {count: 1}}
  links:
    - {between: ["gpu[0-3]", "pcie_switch[0-1]"], pairing: in_order, kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["pcie_switch[0-1]", cpu], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: [nic, cpu], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}
fabric: {kind: single_switch, nic: 100 Gbps, latency: 2 us}
)");
  const std::vector<Channel> channels = ring_channels(make_cluster(box, 2));
  REQUIRE(channels.size() == 1);
  CHECK(order_of(channels[0]) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
}
