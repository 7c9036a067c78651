#include "platform/cluster.hpp"

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/machines.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::vector<std::string> names(const Cluster& cluster, const Route& route) {
  std::vector<std::string> result;
  for (const LinkId link : route.links) result.push_back(link_name(cluster, link));
  return result;
}

using Names = std::vector<std::string>;

Platform oversubscribed() {
  Platform platform = dgx2();
  platform.fabric.levels.front().nodes_per_switch.value = 2;
  platform.fabric.levels.front().oversubscription.value = 4;
  return platform;
}

}  // namespace

TEST_CASE("whole nodes give every GPU a rank, in node order") {
  const Cluster cluster = make_cluster(dgx2(), 3);
  CHECK(cluster.ranks() == 48);
  CHECK(cluster.gpus_on_node == std::vector{16, 16, 16});
  CHECK(cluster.first_rank == std::vector{0, 16, 32, 48});
  CHECK(cluster.node_of(Rank{0}) == NodeId{0});
  CHECK(cluster.node_of(Rank{15}) == NodeId{0});
  CHECK(cluster.node_of(Rank{16}) == NodeId{1});
  CHECK(cluster.node_of(Rank{47}) == NodeId{2});
  CHECK(cluster.platform.node[cluster.gpu_of(Rank{17})].name == "gpu1");
}

TEST_CASE("ranks fill the nodes in order, and nodes without a rank are left out") {
  CHECK(make_cluster(dgx2(), 2, 24).gpus_on_node == std::vector{16, 8});
  CHECK(make_cluster(dgx2(), 4, 0, 2).gpus_on_node == std::vector{2, 2, 2, 2});
  CHECK(make_cluster(dgx2(), 4, 5, 2).gpus_on_node == std::vector{2, 2, 1});
  CHECK(make_cluster(dgx2(), 4, 12).nodes == 1);
}

TEST_CASE("asking for more than there is says what there is and what to ask for") {
  const auto told = [](const Platform& platform, int nodes, int gpus = 0, int gpus_per_node = 0) {
    const Diagnostic found = only_error([&] { (void)make_cluster(platform, nodes, gpus, gpus_per_node); });
    return found.key_path + ": " + facts_in(found.message) + " | " + facts_in(found.hint);
  };
  CHECK(told(dgx2(), 1, 20) == "gpus: 20 1 dgx2 16 | 16 2");
  CHECK(told(dgx2(), 2, 20, 8) == "gpus: 20 2 dgx2 16 gpus_per_node 8 | 16 3");
  CHECK(told(dgx2(), 1, 0, 17) == "gpus_per_node: 17 dgx2 16 | gpus_per_node 16");
  CHECK(told(dgx2(), 0) == "nodes: 0 | 1");
  CHECK(told(dgx2(), 1, -1) == "gpus: -1 | 1");
  CHECK(told(dgx2(), 2'000'000'000) == "nodes: 2000000000 16 | 1048576");
  CHECK(told(load_box(pcie_box_text), 2) == "nodes: 2 | 1");
}

TEST_CASE("GPUs of a DGX-2 reach each other over the NVSwitch with the measured latency of a write") {
  const Cluster cluster = make_cluster(dgx2(), 1);
  const Route way = route(cluster, Rank{3}, Rank{12});
  CHECK(names(cluster, way) == Names{"node0.gpu3->nvswitch0", "node0.nvswitch0->gpu12"});
  CHECK(way.latency.si() == doctest::Approx(2.5e-6).epsilon(1e-12));
  CHECK(way.type == PathType::nvlink2);
  CHECK(capacity(cluster, way.links[0]).si() == doctest::Approx(122.4e9).epsilon(1e-12));
  CHECK(specified_bandwidth(cluster, way.links[0]) == Bandwidth(150e9));
}

TEST_CASE("a way between nodes goes through the NIC nearest to each GPU unless a NIC is asked for") {
  const Cluster cluster = make_cluster(dgx2(), 2);
  const Route way = route(cluster, Rank{3}, Rank{31});
  CHECK(names(cluster, way) == Names{"node0.gpu3->pcie_switch1", "node0.pcie_switch1->nic1",
                                     "node0.nic1->fabric", "fabric->node1.nic7", "node1.nic7->pcie_switch7",
                                     "node1.pcie_switch7->gpu15"});
  CHECK(way.type == PathType::network);
  // four PCIe hops of 0.2 us and the fabric's 1.8 us
  CHECK(way.latency.si() == doctest::Approx(2.6e-6).epsilon(1e-12));

  const Route asked = route(cluster, Rank{0}, Rank{16}, 1);
  CHECK(names(cluster, asked) == Names{"node0.gpu0->pcie_switch0", "node0.pcie_switch0->pcie_switch8",
                                       "node0.pcie_switch8->pcie_switch1", "node0.pcie_switch1->nic1",
                                       "node0.nic1->fabric", "fabric->node1.nic1", "node1.nic1->pcie_switch1",
                                       "node1.pcie_switch1->pcie_switch8", "node1.pcie_switch8->pcie_switch0",
                                       "node1.pcie_switch0->gpu0"});
}

TEST_CASE("a way never passes through another GPU") {
  // on the cube mesh GPU 0 has no lane to GPU 7, and two hops over GPU 3 would be the shortest path
  const Cluster cluster = make_cluster(load_box(cube_mesh_text()), 1);
  const Route way = route(cluster, Rank{0}, Rank{7});
  CHECK(names(cluster, way) == Names{"node0.gpu0->pcie_switch0", "node0.pcie_switch0->cpu0",
                                     "node0.cpu0->cpu1", "node0.cpu1->pcie_switch3",
                                     "node0.pcie_switch3->gpu7"});
  CHECK(way.type == PathType::sys);
  CHECK(names(cluster, route(cluster, Rank{0}, Rank{3})) == Names{"node0.gpu0->gpu3"});
}

TEST_CASE("a rank's way to itself has no links and takes no time") {
  const Route way = route(make_cluster(dgx2(), 1), Rank{5}, Rank{5});
  CHECK(way.links.empty());
  CHECK(way.latency == Seconds(0));
}

TEST_CASE("leaf uplinks appear only where they bind") {
  const Cluster free = make_cluster(dgx2(), 64);
  CHECK(link_count(free) == 64 * (2 * (16 + 16 + 8 + 8 + 4 + 1) + 2 * 8));

  const Cluster bound = make_cluster(oversubscribed(), 5);
  CHECK(link_count(bound) == 5 * 122 + 2 * 3);
  CHECK(names(bound, route(bound, Rank{0}, Rank{16}, 0)) ==
        Names{"node0.gpu0->pcie_switch0", "node0.pcie_switch0->nic0", "node0.nic0->fabric",
              "fabric->node1.nic0", "node1.nic0->pcie_switch0", "node1.pcie_switch0->gpu0"});
  const Route far = route(bound, Rank{0}, Rank{64}, 0);
  CHECK(names(bound, far) == Names{"node0.gpu0->pcie_switch0", "node0.pcie_switch0->nic0",
                                   "node0.nic0->fabric", "leaf0->core", "core->leaf2", "fabric->node4.nic0",
                                   "node4.nic0->pcie_switch0", "node4.pcie_switch0->gpu0"});
  // two nodes of eight NICs, a quarter of it upwards
  CHECK(capacity(bound, far.links[3]).si() == doctest::Approx(2 * 8 * 12e9 / 4).epsilon(1e-12));
  CHECK(specified_bandwidth(bound, far.links[4]).si() == doctest::Approx(2 * 8 * 12.5e9 / 4).epsilon(1e-12));

  CHECK(link_count(make_cluster(oversubscribed(), 2)) == 2 * 122);
}

TEST_CASE("fabric links are those of the NICs and of the leaves") {
  const Cluster cluster = make_cluster(oversubscribed(), 3);
  const Route way = route(cluster, Rank{0}, Rank{32}, 0);
  std::vector<bool> fabric;
  for (const LinkId link : way.links) fabric.push_back(is_fabric(cluster, link));
  CHECK(fabric == std::vector{false, false, true, true, true, true, false, false});
}

TEST_CASE("every link has a name of its own and a capacity within its specification") {
  const Cluster cluster = make_cluster(oversubscribed(), 3);
  std::vector<std::string> all;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
    all.push_back(link_name(cluster, LinkId{link}));
    CHECK(capacity(cluster, LinkId{link}) > Bandwidth(0));
    CHECK(capacity(cluster, LinkId{link}) <= specified_bandwidth(cluster, LinkId{link}));
  }
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
}

TEST_CASE("the way back has the links of the way there, backwards") {
  const Cluster cluster = make_cluster(oversubscribed(), 5);
  const auto backwards = [](const std::string& name) {
    const std::size_t arrow = name.find("->");
    std::string from = name.substr(0, arrow);
    std::string to = name.substr(arrow + 2);
    const std::size_t dot = from.find('.');
    // inside a node only the first end carries the node's name
    if (dot != std::string::npos && to != "fabric") {
      return from.substr(0, dot + 1) + to + "->" + from.substr(dot + 1);
    }
    return to + "->" + from;
  };
  CHECK(rc::check([&] {
    const Rank from{*rc::gen::inRange(0, cluster.ranks())};
    const Rank to{*rc::gen::inRange(0, cluster.ranks())};
    // a NIC beyond a CPU is fed by a proxy, which only data that leaves a node goes through
    const int place = index(from) - cluster.first_rank[at(index(cluster.node_of(from)))];
    const int nic = *rc::gen::element(-1, cluster.inside.nearest_nic[at(place)]);
    const int place_of_to = index(to) - cluster.first_rank[at(index(cluster.node_of(to)))];
    const bool sends_itself = nic < 0 || sender_through(cluster, to, nic) == place_of_to;
    RC_PRE(sends_itself);  // not the expression: its operators would read the NIC -1
    const Route there = route(cluster, from, to, nic);
    const Route back = route(cluster, to, from, nic);
    std::vector<std::string> expected;
    for (const LinkId link : there.links)
      expected.insert(expected.begin(), backwards(link_name(cluster, link)));
    RC_ASSERT(names(cluster, back) == expected);
    RC_ASSERT(back.type == there.type);
    RC_ASSERT(back.latency.si() <= there.latency.si() * (1 + 1e-12));
    RC_ASSERT(there.latency.si() <= back.latency.si() * (1 + 1e-12));
  }));
}

TEST_CASE("append_route adds the links of route to those that are there") {
  const Cluster cluster = make_cluster(dgx2(), 2);
  std::vector<LinkId> links{LinkId{7}};
  const RouteSummary summary = append_route(cluster, Rank{1}, Rank{30}, 3, links);
  const Route whole = route(cluster, Rank{1}, Rank{30}, 3);
  REQUIRE(links.size() == whole.links.size() + 1);
  CHECK(std::equal(whole.links.begin(), whole.links.end(), links.begin() + 1));
  CHECK(summary.latency == whole.latency);
  CHECK(summary.type == PathType::network);
}

TEST_CASE("the way between two hosts is that of their GPUs without the GPUs' own links") {
  const Cluster cluster = make_cluster(load_box(R"(name: box
node:
  gpus: {count: 1, profile: some_gpu}
  devices: {nic: {count: 1}, cpu: {count: 1}}
  links:
    - {between: [gpu0, cpu0], kind: pcie3, bandwidth: 12 GB/s, latency: 1 us}
    - {between: [nic0, cpu0], kind: pcie3, bandwidth: 12 GB/s, latency: 2 us}
fabric: {kind: single_switch, nic: 10 Gbps, latency: 5 us}
)"),
                                       2);
  std::vector<LinkId> links;
  const RouteSummary way = append_route(cluster, HostMemory{NodeId{0}, 0}, HostMemory{NodeId{1}, 0}, links);
  std::vector<std::string> named;
  for (const LinkId link : links) named.push_back(link_name(cluster, link));
  CHECK(named == std::vector<std::string>{"node0.cpu0->nic0", "node0.nic0->fabric", "fabric->node1.nic0",
                                          "node1.nic0->cpu0"});
  CHECK(way.latency.si() == doctest::Approx(9e-6));
  CHECK(way.type == PathType::network);
  links.clear();
  CHECK(append_route(cluster, HostMemory{NodeId{1}, 0}, HostMemory{NodeId{1}, 0}, links).latency ==
        Seconds{});
  CHECK(links.empty());
}

TEST_CASE("a GPU without links is unreachable when its way is asked for") {
  const Cluster cluster = make_cluster(load_box(R"(name: box
node:
  gpus: {count: 3, profile: some_gpu}
  links: [{between: [gpu0, gpu1], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}]
)"),
                                       1);
  CHECK_NOTHROW((void)route(cluster, Rank{0}, Rank{1}));
  CHECK_THROWS_WITH_AS((void)route(cluster, Rank{0}, Rank{2}),
                       "node0.gpu0 cannot reach node0.gpu2 on box: no links lead from one to the other",
                       Unreachable);
}
