// Errors in the fabric of a platform file, and the result of valid ones.

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/fabrics.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

using Lines = std::vector<std::string>;

/// "key: facts of the message | facts of the hint" for each error, in the order of the text.
Lines refused(const std::string& fabric) {
  Lines lines;
  try {
    (void)machine_on(fabric);
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics())
      lines.push_back(found.key_path + ": " + facts_in(found.message) + " | " + facts_in(found.hint));
  }
  return lines;
}

/// The keys with an error, in the order of the text.
Lines refused_keys(const std::string& fabric) {
  Lines keys = refused(fabric);
  for (std::string& line : keys) line.erase(line.find(": "));
  return keys;
}

std::string with(const std::string& kind, const std::string& rest) {
  return "  {kind: " + kind + ", nic: 100 Gbps, latency: 1 us" + rest + "}\n";
}

std::string listed(const std::string& switches, const std::string& links) {
  return "  kind: custom\n  nic: 100 Gbps\n  latency: 1 us\n  switches: " + switches + "\n  links:\n" + links;
}

std::string cable(const std::string& between) {
  return "    - {between: " + between + ", bandwidth: 100 Gbps}\n";
}

}  // namespace

TEST_CASE("a fabric has the keys of its kind and no others") {
  CHECK(refused(with("fat_tree", ", dimensions: [2, 2], pxn: true")) ==
        Lines{"fabric.dimensions: 'dimensions' fat_tree | torus2d torus3d",
              "fabric.pxn: 'pxn' fat_tree | rail_optimised"});
  CHECK(refused(with("single_switch", ", oversubscription: 2, hop_latency: 1 us")) ==
        Lines{"fabric.oversubscription: 'oversubscription' single_switch | fat_tree rail_optimised",
              "fabric.hop_latency: 'hop_latency' single_switch | "});
  CHECK(refused(with("torus2d", ", link: 80 Gbps, hop_latency: 0.1 us")) ==
        Lines{"fabric.dimensions: 'dimensions' | [8 8] torus2d [4 4 4] torus3d"});
  CHECK(refused(with("rail_optimised", "")) ==
        Lines{"fabric.nodes_per_rail: 'nodes_per_rail' | nodes_per_rail 32"});
  CHECK(refused_keys(with("dragonfly", "")) == Lines{"fabric.groups", "fabric.routers_per_group",
                                                     "fabric.nodes_per_router", "fabric.local_link",
                                                     "fabric.global_link", "fabric.hop_latency"});
  CHECK(refused_keys(with("custom", "")) == Lines{"fabric.links"});
  CHECK(refused_keys(with("hypercube", "")) == Lines{"fabric.kind"});
}

TEST_CASE("the levels of a tree are whole switches of the level below") {
  CHECK(refused(with("fat_tree", ", levels: [{nodes_per_switch: 8}, {nodes_per_switch: 12}]")) ==
        Lines{"fabric.levels[1].nodes_per_switch: 12 8 | nodes_per_switch 16 24"});
  CHECK(refused_keys(with("fat_tree", ", levels: [{nodes_per_switch: 8}, {nodes_per_switch: 8}]")) ==
        Lines{"fabric.levels[1].nodes_per_switch"});
  CHECK(refused_keys(with("fat_tree", ", levels: [{nodes_per_switch: 0}]")) ==
        Lines{"fabric.levels[0].nodes_per_switch"});
  CHECK(refused(with("fat_tree", ", nodes_per_leaf: 4, levels: [{nodes_per_switch: 8}]")) ==
        Lines{"fabric.nodes_per_leaf: 'levels' | [{nodes_per_switch 16 2}] nodes_per_leaf"});
}

TEST_CASE("the sizes of a torus and a dragonfly fit their kind and can be simulated") {
  const std::string rest = ", link: 80 Gbps, hop_latency: 0.1 us, dimensions: ";
  CHECK(refused(with("torus2d", rest + "[4, 4, 4]")) == Lines{"fabric.dimensions: torus2d 2 3 | [8 8]"});
  CHECK(refused(with("torus3d", rest + "[4, 4]")) == Lines{"fabric.dimensions: torus3d 3 2 | [4 4 4]"});
  CHECK(refused(with("torus3d", rest + "[1024, 1024, 1024]")) ==
        Lines{"fabric.dimensions: 1073741824 | 1048576"});
  CHECK(refused_keys(with("torus2d", rest + "[4, 0]")) == Lines{"fabric.dimensions[1]"});
  CHECK(
      refused_keys(with("dragonfly",
                        ", groups: 4000, routers_per_group: 4000, nodes_per_router: 1, hop_latency: 0.1 us, "
                        "local_link: 5 GB/s, global_link: 5 GB/s")) == Lines{"fabric.routers_per_group"});
}

TEST_CASE("the ends of a custom fabric's links are its switches and the NICs of nodes") {
  CHECK(refused(listed("[leaf0]", cable("[node0.nic0, leaf1]"))) ==
        Lines{"fabric.links[0].between[1]: 'leaf1' | 'leaf0'"});
  CHECK(refused(listed("[leaf0]", cable("[node0.nic1, leaf0]"))) ==
        Lines{"fabric.links[0].between[0]: node0.nic1 1 | node0.nic0"});
  CHECK(refused(listed("[leaf0]", cable("[\"node[0-\", leaf0]"))) ==
        Lines{"fabric.links[0].between[0]: 'node[0-' | leaf0 node0.nic0 \"leaf[0-3]\" \"node[0-3].nic0\""});
  CHECK(refused(listed("[leaf0]", cable("[leaf0, leaf0]"))) == Lines{"fabric.links[0].between: leaf0 | "});
  CHECK(refused(listed("[leaf0]", cable("[\"node[0-1].nic0\", leaf0]") + cable("[leaf0, node1.nic0]"))) ==
        Lines{"fabric.links[1].between: leaf0 node1.nic0 fabric.links[0] | "});
  CHECK(refused(listed("[leaf0]", cable("[leaf0]"))) ==
        Lines{"fabric.links[0].between: 1 | [\"node[0-3].nic0\" leaf0]"});
}

TEST_CASE("the names of switches are names, and different ones") {
  const std::string sound = cable("[node0.nic0, leaf0]");
  CHECK(refused(listed("[leaf0, \"leaf[0-1]\"]", sound)) == Lines{"fabric.switches[1]: leaf0 | "});
  CHECK(refused(listed("[leaf0, node7]", sound)) == Lines{"fabric.switches[1]: 'node7' | _ \"leaf[0-3]\""});
  CHECK(refused_keys(listed("[leaf0, \"a->b\"]", sound)) == Lines{"fabric.switches[1]"});
  CHECK(refused_keys(listed("[leaf0, \"\"]", sound)) == Lines{"fabric.switches[1]"});
}

TEST_CASE("a custom fabric needs no switch: two nodes back to back") {
  const Cluster cluster =
      make_cluster(machine_on("  kind: custom\n  nic: 100 Gbps\n  latency: 1 us\n  links:\n" +
                              cable("[node0.nic0, node1.nic0]")),
                   2);
  CHECK(fabric_way(cluster, 1, 0) == std::vector<std::string>{"node1.nic0->node0.nic0"});
}

TEST_CASE("a fabric's transport and flows are read, and a flow faster than the NIC is doubted") {
  const Platform platform = machine_on(with("single_switch", ", transport: tcp, per_flow: 10 Gbps"));
  CHECK(platform.fabric.transport == Transport::tcp);
  CHECK(platform.fabric.per_flow.value == Bandwidth(1.25e9));
  CHECK(machine_on(single_switch_text).fabric.transport == Transport::infiniband);
  std::vector<Diagnostic> warnings;
  (void)load_box(node_on(with("single_switch", ", per_flow: 200 Gbps")), &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "fabric.per_flow");
}

TEST_CASE("keys about the memory of GPUs are doubted on a node with processors, whatever their value") {
  const std::string start =
      "name: box\nnode:\n  processors: {profile: some_processor}\n  devices: {cpu: {count: 1}, nic: {count: "
      "1}}\n  links: [{between: [cpu0, nic0], kind: pcie3, bandwidth: 12 GB/s, latency: 1 us}]\n";
  const std::string fabric = "fabric: {kind: single_switch, nic: 100 Gbps, latency: 1 us";
  const auto doubted = [&](const std::string& text) {
    std::vector<Diagnostic> warnings;
    (void)load_box(text, &warnings);
    std::vector<std::string> keys;
    for (const Diagnostic& warning : warnings) keys.push_back(warning.key_path);
    return keys;
  };
  CHECK(doubted(start + fabric + "}\n").empty());
  CHECK(doubted(start + "  peer_to_peer: true\n" + fabric + ", gpudirect: true, redirected: false}\n") ==
        std::vector<std::string>{"node.peer_to_peer", "fabric.gpudirect", "fabric.redirected"});
}

TEST_CASE("copies through host memory need a host, and are not set where GPUs reach each other") {
  const std::string start =
      "name: box\nnode:\n  gpus: {count: 2, profile: some_gpu}\n  links: [{between: [gpu0, gpu1], kind: "
      "nvlink2, bandwidth: 25 GB/s, latency: 1 us}]\n";
  try {
    (void)load_box(start + "  peer_to_peer: false\n");
    FAIL("no error");
  } catch (const InputError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    CHECK(error.diagnostics()[0].key_path == "node.peer_to_peer");
  }
  std::vector<Diagnostic> warnings;
  (void)load_box(start + "  effective: {staged: 4 GB/s}\n", &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "node.effective.staged");
}
