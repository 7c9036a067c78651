// Errors in the fabric of a platform file, and the result of valid ones.

#include "config/diagnostic.hpp"
#include "platform/fabrics.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

using Lines = std::vector<std::string>;

/// "key: message | hint" for each error, in the order of the text.
Lines refused(const std::string& fabric) {
  Lines lines;
  try {
    (void)machine_on(fabric);
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics())
      lines.push_back(found.key_path + ": " + found.message + " | " + found.hint);
  }
  return lines;
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
  CHECK(
      refused(with("fat_tree", ", dimensions: [2, 2], pxn: true")) ==
      Lines{
          "fabric.dimensions: a fabric of kind fat_tree has no 'dimensions' | kind: torus2d or kind: torus3d",
          "fabric.pxn: a fabric of kind fat_tree has no 'pxn' | kind: rail_optimised"});
  CHECK(refused(with("single_switch", ", oversubscription: 2, hop_latency: 1 us")) ==
        Lines{"fabric.oversubscription: a fabric of kind single_switch has no 'oversubscription' | kind: "
              "fat_tree or "
              "kind: rail_optimised",
              "fabric.hop_latency: a fabric of kind single_switch has no 'hop_latency' | latency"});
  CHECK(refused(with("torus2d", ", link: 80 Gbps, hop_latency: 0.1 us")) ==
        Lines{"fabric.dimensions: key 'dimensions' is missing | dimensions: [8, 8] for torus2d, [4, 4, 4] "
              "for torus3d"});
  CHECK(refused(with("rail_optimised", "")) ==
        Lines{"fabric.nodes_per_rail: key 'nodes_per_rail' is missing | nodes_per_rail: 32"});
  CHECK(refused(with("dragonfly", "")).size() == 6);
  CHECK(refused(with("custom", "")).size() == 1);
  CHECK(refused(with("hypercube", "")).size() == 1);
}

TEST_CASE("the levels of a tree are whole switches of the level below") {
  CHECK(refused(with("fat_tree", ", levels: [{nodes_per_switch: 8}, {nodes_per_switch: 12}]")) ==
        Lines{"fabric.levels[1].nodes_per_switch: 12 nodes are not several whole switches of 8 of the level "
              "below | "
              "nodes_per_switch: 16, 24, ..."});
  CHECK(refused(with("fat_tree", ", levels: [{nodes_per_switch: 8}, {nodes_per_switch: 8}]")).size() == 1);
  CHECK(refused(with("fat_tree", ", levels: [{nodes_per_switch: 0}]")).size() == 1);
  CHECK(refused(with("fat_tree", ", nodes_per_leaf: 4, levels: [{nodes_per_switch: 8}]")) ==
        Lines{"fabric.nodes_per_leaf: 'levels' says this for each level | levels: [{nodes_per_switch: 16, "
              "oversubscription: 2}], or nodes_per_leaf and oversubscription alone"});
}

TEST_CASE("the sizes of a torus and a dragonfly fit their kind and can be simulated") {
  const std::string rest = ", link: 80 Gbps, hop_latency: 0.1 us, dimensions: ";
  CHECK(refused(with("torus2d", rest + "[4, 4, 4]")) ==
        Lines{"fabric.dimensions: a torus2d has 2 dimensions, not 3 | dimensions: [8, 8]"});
  CHECK(refused(with("torus3d", rest + "[4, 4]")) ==
        Lines{"fabric.dimensions: a torus3d has 3 dimensions, not 2 | dimensions: [4, 4, 4]"});
  CHECK(refused(with("torus3d", rest + "[1024, 1024, 1024]")) ==
        Lines{"fabric.dimensions: 1073741824 routers | 1048576 at most"});
  CHECK(refused(with("torus2d", rest + "[4, 0]")).size() == 1);
  CHECK(refused(with("dragonfly",
                     ", groups: 4000, routers_per_group: 4000, nodes_per_router: 1, hop_latency: 0.1 us, "
                     "local_link: 5 GB/s, global_link: 5 GB/s"))
            .size() == 1);
}

TEST_CASE("the ends of a custom fabric's links are its switches and the NICs of nodes") {
  CHECK(refused(listed("[leaf0]", cable("[node0.nic0, leaf1]"))) ==
        Lines{"fabric.links[0].between[1]: there is no switch called 'leaf1' | did you mean 'leaf0'?"});
  CHECK(refused(listed("[leaf0]", cable("[node0.nic1, leaf0]"))) ==
        Lines{"fabric.links[0].between[0]: node0.nic1 does not exist: a node has 1 NIC | node0.nic0"});
  CHECK(refused(listed("[leaf0]", cable("[\"node[0-\", leaf0]"))) ==
        Lines{"fabric.links[0].between[0]: 'node[0-' is not a switch, a NIC or a list of them | leaf0, "
              "node0.nic0, "
              "\"leaf[0-3]\" or \"node[0-3].nic0\""});
  CHECK(refused(listed("[leaf0]", cable("[leaf0, leaf0]"))) ==
        Lines{"fabric.links[0].between: leaf0 is linked to itself | two different ends"});
  CHECK(refused(listed("[leaf0]", cable("[\"node[0-1].nic0\", leaf0]") + cable("[leaf0, node1.nic0]"))) ==
        Lines{"fabric.links[1].between: leaf0 and node1.nic0 are linked already, by fabric.links[0] | one "
              "link with "
              "more bandwidth"});
  CHECK(refused(listed("[leaf0]", cable("[leaf0]"))) ==
        Lines{"fabric.links[0].between: a link has two ends, not 1 | between: [\"node[0-3].nic0\", leaf0]"});
}

TEST_CASE("the names of switches are names, and different ones") {
  const std::string sound = cable("[node0.nic0, leaf0]");
  CHECK(refused(listed("[leaf0, \"leaf[0-1]\"]", sound)) ==
        Lines{"fabric.switches[1]: there is a switch called leaf0 already | another name"});
  CHECK(refused(listed("[leaf0, node7]", sound)) ==
        Lines{"fabric.switches[1]: 'node7' is not a name for a switch | letters, digits, - and _; not "
              "node... and not "
              "fabric; a list as \"leaf[0-3]\""});
  CHECK(refused(listed("[leaf0, \"a->b\"]", sound)).size() == 1);
  CHECK(refused(listed("[leaf0, \"\"]", sound)).size() == 1);
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
  CHECK(warnings[0].message ==
        "one connection's 25 GB/s is more than the NIC's 12.5 GB/s, so this has no effect");
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
    CHECK(error.diagnostics()[0].message == "data goes through host memory, and the node has no cpu");
  }
  std::vector<Diagnostic> warnings;
  (void)load_box(start + "  effective: {staged: 4 GB/s}\n", &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "node.effective.staged");
}
