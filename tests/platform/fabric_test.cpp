// The kinds of fabric: routes, names, numbers of links, and common properties.

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/fabric_definition.hpp"
#include "platform/fabrics.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <optional>
#include <queue>
#include <rapidcheck.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace trainyard;

namespace {

using Way = std::vector<std::string>;

double latency_of(const Cluster& cluster, int from, int to) {
  return route(cluster, Rank{from}, Rank{to}).latency.si();
}

constexpr double two_pcie_hops_at_both_ends = 4 * 0.2e-6;

/// The largest number of nodes tried with each of these fabrics.
struct Kind {
  std::string text;
  int nodes;
  int nics = 1;
  bool is_back_the_same = true;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {single_switch_text, 7},      {two_levels_text, 19}, {rails_text, 9, 2}, {torus2d_text, 20, 1, false},
      {torus3d_text, 24, 1, false}, {dragonfly_text, 40},  {custom_text, 4}};
  return all;
}

std::string backwards(const std::string& name) {
  const std::size_t arrow = name.find("->");
  return name.substr(arrow + 2) + "->" + name.substr(0, arrow);
}

/// Number of links between switches or routers from one to the other, by breadth-first search over the names.
std::optional<int> fewest_links(const Cluster& cluster, const std::string& from, const std::string& to) {
  std::map<std::string, std::vector<std::string>> next;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
    if (!is_fabric(cluster, LinkId{link})) continue;
    const std::string name = link_name(cluster, LinkId{link});
    const std::size_t arrow = name.find("->");
    next[name.substr(0, arrow)].push_back(name.substr(arrow + 2));
  }
  std::map<std::string, int> distance{{from, 0}};
  std::queue<std::string> open({from});
  while (!open.empty()) {
    const std::string here = open.front();
    open.pop();
    for (const std::string& there : next[here]) {
      if (there == "fabric" || !distance.emplace(there, distance[here] + 1).second) continue;
      open.push(there);
    }
  }
  const auto found = distance.find(to);
  return found == distance.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

TEST_CASE("a single switch has no links but those of the NICs") {
  const Cluster cluster = make_cluster(machine_on(single_switch_text), 7);
  CHECK(link_count(cluster) == 7 * (2 * 3 + 2));
  CHECK(fabric_way(cluster, 0, 6).empty());
  CHECK(latency_of(cluster, 0, 6) == doctest::Approx(2e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
}

TEST_CASE("a fat tree of two levels has up and down links as wide as the levels below leave them") {
  const Cluster cluster = make_cluster(machine_on(two_levels_text), 8);
  CHECK(link_count(cluster) == 8 * 8 + 2 * 4 + 2 * 2);
  CHECK(fabric_way(cluster, 0, 1).empty());
  CHECK(fabric_way(cluster, 0, 2) == Way{"leaf0->spine0", "spine0->leaf1"});
  CHECK(fabric_way(cluster, 1, 7) == Way{"leaf0->spine0", "spine0->core", "core->spine1", "spine1->leaf3"});
  CHECK(latency_of(cluster, 0, 1) == doctest::Approx(2e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  CHECK(latency_of(cluster, 1, 7) == doctest::Approx(2.4e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  // two nodes of 12.5 GB/s over 2; four over 2 and 3
  CHECK(capacity(cluster, *find_link(cluster, "leaf3->spine1")).si() ==
        doctest::Approx(12.5e9).epsilon(1e-12));
  CHECK(capacity(cluster, *find_link(cluster, "core->spine1")).si() ==
        doctest::Approx(4 * 12.5e9 / 6).epsilon(1e-12));
}

TEST_CASE("switches of three levels are numbered per level, and only levels that can bind have links") {
  const Cluster cluster = make_cluster(
      machine_on(
          "  {kind: fat_tree, nic: 100 Gbps, latency: 2 us, levels: [{nodes_per_switch: 2},\n"
          "   {nodes_per_switch: 4, oversubscription: 2}, {nodes_per_switch: 8, oversubscription: 2}]}\n"),
      16);
  CHECK(fabric_way(cluster, 0, 15) ==
        Way{"spine1.0->spine2.0", "spine2.0->core", "core->spine2.1", "spine2.1->spine1.3"});
  CHECK(fabric_way(cluster, 0, 3).empty());
}

TEST_CASE("rails: NICs of one number meet at their switch, everything else on the spine") {
  const Cluster cluster = make_cluster(machine_on(rails_text, 2), 8);
  CHECK(link_count(cluster) == 8 * (2 * 7 + 4) + 2 * 4);
  CHECK(fabric_way(cluster, 0, 6).empty());
  CHECK(fabric_way(cluster, 1, 9) == Way{"unit0.rail1->spine", "spine->unit1.rail1"});
  CHECK(capacity(cluster, *find_link(cluster, "unit1.rail0->spine")).si() ==
        doctest::Approx(4 * 12.5e9 / 2).epsilon(1e-12));
}

TEST_CASE("with PXN data for another rail takes an NVLink to the GPU beside that rail's NIC") {
  const auto all_names = [](const Cluster& cluster, int from, int to) {
    Way names;
    const Route way = route(cluster, Rank{from}, Rank{to});
    for (const LinkId link : way.links) names.push_back(link_name(cluster, link));
    return names;
  };
  const Cluster with = make_cluster(machine_on(rails_text, 2), 4);
  CHECK(all_names(with, 0, 3) == Way{"node0.gpu0->gpu1", "node0.gpu1->pcie_switch1",
                                     "node0.pcie_switch1->nic1", "node0.nic1->fabric", "fabric->node1.nic1",
                                     "node1.nic1->pcie_switch1", "node1.pcie_switch1->gpu1"});
  CHECK(latency_of(with, 0, 3) == doctest::Approx(1e-6 + 2e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));

  Platform platform = with.platform;
  platform.fabric.rail.pxn.value = false;
  const Cluster without = make_cluster(platform, 4);
  CHECK(fabric_way(without, 0, 3) == Way{"unit0.rail0->spine", "spine->unit0.rail1"});
  CHECK(latency_of(without, 0, 3) == doctest::Approx(2.2e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  // the GPU near the other NIC must have a rank, as for NCCL's proxies
  CHECK(fabric_way(make_cluster(with.platform, 2, 3), 2, 1) ==
        Way{"unit0.rail0->spine", "spine->unit0.rail1"});
}

TEST_CASE(
    "a torus goes along x, then y, then z, each the shorter way round, and upwards where both are equal") {
  const Cluster flat = make_cluster(machine_on(torus2d_text), 20);
  CHECK(link_count(flat) == 20 * (8 + 4));
  CHECK(fabric_way(flat, 0, 7) ==
        Way{"router0.0->router1.0", "router1.0->router2.0", "router2.0->router2.1"});
  CHECK(fabric_way(flat, 0, 4) == Way{"router0.0->router4.0"});
  CHECK(fabric_way(flat, 0, 10) == Way{"router0.0->router0.1", "router0.1->router0.2"});
  CHECK(fabric_way(flat, 10, 0) == Way{"router0.2->router0.3", "router0.3->router0.0"});
  CHECK(latency_of(flat, 0, 7) == doctest::Approx(1.3e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  CHECK(specified_bandwidth(flat, *find_link(flat, "router0.3->router0.0")) == Bandwidth(10e9));

  const Cluster deep = make_cluster(machine_on(torus3d_text), 24);
  // three along x: both ways; two along y: one link each; four along z: both ways
  CHECK(link_count(deep) == 24 * (8 + 2 + 1 + 2));
  CHECK(fabric_way(deep, 0, 23) ==
        Way{"router0.0.0->router2.0.0", "router2.0.0->router2.1.0", "router2.1.0->router2.1.3"});
}

TEST_CASE("a dragonfly goes to the router that leads to the other group, across, and to the node's router") {
  const Cluster cluster = make_cluster(machine_on(dragonfly_text), 40);
  CHECK(link_count(cluster) == 40 * 8 + 5 * 4 * 3 + 5 * 4);
  CHECK(fabric_way(cluster, 0, 1).empty());
  CHECK(fabric_way(cluster, 0, 7) == Way{"group0.router0->group0.router3"});
  // group 0 reaches groups 1 to 4 from routers 0 to 3; group 4 reaches group 0 from its router 0
  CHECK(fabric_way(cluster, 0, 39) ==
        Way{"group0.router0->group0.router3", "group0->group4", "group4.router0->group4.router3"});
  CHECK(fabric_way(cluster, 39, 0) ==
        Way{"group4.router3->group4.router0", "group4->group0", "group0.router3->group0.router0"});
  CHECK(fabric_way(cluster, 0, 15) == Way{"group0->group1"});
  CHECK(latency_of(cluster, 0, 39) == doctest::Approx(1.3e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  CHECK(capacity(cluster, *find_link(cluster, "group3->group1")) == Bandwidth(20e9));
  CHECK(capacity(cluster, *find_link(cluster, "group3.router1->group3.router0")) == Bandwidth(5e9));
}

TEST_CASE("a custom fabric takes the fewest links, and of equally short ways the first in the file") {
  const Cluster cluster = make_cluster(machine_on(custom_text), 6);
  CHECK(link_count(cluster) == 6 * 8 + 2 * (2 + 2 + 1 + 4));
  CHECK(fabric_way(cluster, 0, 1) == Way{"node0.nic0->leaf0", "leaf0->node1.nic0"});
  CHECK(fabric_way(cluster, 0, 3) ==
        Way{"node0.nic0->leaf0", "leaf0->spine0", "spine0->leaf1", "leaf1->node3.nic0"});
  CHECK(latency_of(cluster, 0, 3) ==
        doctest::Approx(1.5e-6 + 0.2e-6 + 2 * 0.3e-6 + two_pcie_hops_at_both_ends).epsilon(1e-12));
  CHECK(capacity(cluster, *find_link(cluster, "leaf1->node2.nic0")) == Bandwidth(6.25e9));
  CHECK_THROWS_AS((void)route(cluster, Rank{0}, Rank{5}), Unreachable);
  CHECK_THROWS_AS((void)route(cluster, Rank{0}, Rank{4}), Unreachable);
}

TEST_CASE("of two cables with one rate, that whose rate is assumed says so") {
  const Cluster cluster = make_cluster(
      machine_on("  kind: custom\n"
                 "  nic: 100 Gbps\n"
                 "  latency: 1 us\n"
                 "  switches: [leaf]\n"
                 "  links:\n"
                 "    - {between: [node0.nic0, leaf], bandwidth: 50 Gbps}\n"
                 "    - {between: [node1.nic0, leaf], bandwidth: {value: 50 Gbps, assumed: half}}\n"),
      2);
  const LinkId known = *find_link(cluster, "node0.nic0->leaf");
  const LinkId assumed = *find_link(cluster, "leaf->node1.nic0");
  CHECK(specified_bandwidth(cluster, known) == specified_bandwidth(cluster, assumed));
  CHECK_FALSE(is_assumed(cluster, known));
  CHECK(is_assumed(cluster, assumed));
}

TEST_CASE("the efficiency of a fabric holds for its links as for its NICs") {
  const Cluster cluster =
      make_cluster(machine_on("  {kind: torus2d, nic: 100 Gbps, efficiency: 0.8, latency: 1 us, hop_latency: "
                              "0.1 us, dimensions: [4, 4], link: 80 Gbps}\n"),
                   16);
  const LinkId link = *find_link(cluster, "router3.1->router0.1");
  CHECK(capacity(cluster, link).si() == doctest::Approx(8e9).epsilon(1e-12));
  CHECK(specified_bandwidth(cluster, link) == Bandwidth(10e9));
}

TEST_CASE("a cluster that no fabric is large enough for says what there is") {
  const auto told = [](const std::string& text, int nodes) {
    try {
      (void)make_cluster(machine_on(text), nodes);
    } catch (const InputError& error) {
      return facts_in(error.diagnostics().front().message) + " | " +
             facts_in(error.diagnostics().front().hint);
    }
    return std::string("nothing");
  };
  CHECK(told(torus2d_text, 21) == "21 20 | 20");
  CHECK(told(dragonfly_text, 41) == "41 40 | 40");
  CHECK(told(custom_text, 7) == "7 6 | 6");
  CHECK(told(rails_text, 700) == "nothing");
}

TEST_CASE("every link of every fabric has a name of its own, is found by it, and lets something through") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.text);
    const Cluster cluster = make_cluster(machine_on(kind.text, kind.nics), kind.nodes);
    std::set<std::string> names;
    for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
      const std::string name = link_name(cluster, LinkId{link});
      CHECK(names.insert(name).second);
      CHECK(find_link(cluster, name) == LinkId{link});
      CHECK(capacity(cluster, LinkId{link}) > Bandwidth(0));
      CHECK(capacity(cluster, LinkId{link}) <= specified_bandwidth(cluster, LinkId{link}));
    }
    CHECK(find_link(cluster, "node0.gpu0->nowhere") == std::nullopt);
    CHECK(find_link(cluster, "node999.nic0->fabric") == std::nullopt);
  }
}

TEST_CASE("ways are chains of links from NIC to NIC, and as long as the way back") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.text);
    const Cluster cluster = make_cluster(machine_on(kind.text, kind.nics), kind.nodes);
    CHECK(rc::check([&] {
      const int from = *rc::gen::inRange(0, cluster.ranks());
      const int to = *rc::gen::inRange(0, cluster.ranks());
      const int nic = *rc::gen::inRange(0, kind.nics);
      const Way there = fabric_way(cluster, from, to, nic);
      const Way back = fabric_way(cluster, to, from, nic);
      for (std::size_t i = 1; i < there.size(); ++i) {
        const std::string reached = there[i - 1].substr(there[i - 1].find("->") + 2);
        const std::string left = there[i].substr(0, there[i].find("->"));
        // a route reaches and leaves a group at one of its routers
        RC_ASSERT(reached == left || reached.starts_with(left + ".") || left.starts_with(reached + "."));
      }
      RC_ASSERT(there.size() == back.size());
      if (kind.is_back_the_same) {
        Way expected;
        for (const std::string& name : there) expected.insert(expected.begin(), backwards(name));
        RC_ASSERT(back == expected);
      }
      // inside the nodes only data that leaves one goes through a proxy
      const double difference = route(cluster, Rank{from}, Rank{to}).latency.si() -
                                route(cluster, Rank{to}, Rank{from}).latency.si();
      RC_ASSERT(std::abs(difference) < 1e-15);
    }));
  }
}

TEST_CASE("ways through a torus and a custom fabric are the shortest there are") {
  for (const std::string& text : {torus2d_text, torus3d_text, custom_text}) {
    CAPTURE(text);
    const bool is_custom = text == custom_text;
    const Cluster cluster = make_cluster(machine_on(text), is_custom ? 4 : 20);
    const auto place = [&](int node) {
      if (is_custom) return "node" + std::to_string(node) + ".nic0";
      const std::vector<int>& sizes = cluster.platform.fabric.torus.dimensions;
      std::string name = "router";
      for (std::size_t i = 0; i < sizes.size(); node /= sizes[i++])
        name += (i > 0 ? "." : "") + std::to_string(node % sizes[i]);
      return name;
    };
    for (int from = 0; from < cluster.nodes; ++from) {
      for (int to = 0; to < cluster.nodes; ++to) {
        if (from == to) continue;
        CHECK(static_cast<int>(fabric_way(cluster, from, to).size()) ==
              fewest_links(cluster, place(from), place(to)));
      }
    }
  }
}

TEST_CASE("every fabric spreads an all-to-all so that bytes in equal bytes out at each switch") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.text);
    const Cluster cluster = make_cluster(machine_on(kind.text, kind.nics), kind.nodes);
    std::map<std::string, int> balance;
    for (int from = 0; from < cluster.ranks(); ++from) {
      for (int to = 0; to < cluster.ranks(); ++to) {
        for (const std::string& name : fabric_way(cluster, from, to, 0)) {
          const std::size_t arrow = name.find("->");
          --balance[name.substr(0, arrow)];
          ++balance[name.substr(arrow + 2)];
        }
      }
    }
    for (const auto& [place, sum] : balance) {
      // routes begin and end at NICs and routers; only switches above them must balance by name, the others
      // by symmetry
      CAPTURE(place);
      CHECK(sum == 0);
    }
  }
}

TEST_CASE("every optional key of a fabric is for all kinds or in the definition of a kind") {
  const std::set<std::string_view> for_all{"transport", "nic",       "efficiency", "latency",
                                           "per_flow",  "gpudirect", "redirected"};
  std::set<std::string_view> defined;
  for (const auto& kind : config::Names<FabricKind>::table) {
    for (const KindKey& key : definition(kind.value).keys) defined.insert(key.name);
  }
  const auto check = [&](const auto& key) {
    CAPTURE(key.name);
    CHECK((std::string_view(key.name) == "kind" || for_all.contains(key.name) != defined.contains(key.name)));
  };
  config::Keys<FabricFile>::table()([&](const auto&... key) { (check(key), ...); });
}
