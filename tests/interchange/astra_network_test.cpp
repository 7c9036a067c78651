// Network configurations of ASTRA-sim as platforms.

#include "interchange/astra_network.hpp"

#include "interchange/astra_platform.hpp"
#include "interchange/inputs.hpp"
#include "platform/cluster.hpp"
#include "platform/plausible_limits.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <string_view>
#include <vector>

using namespace trainyard;
using testing::message_of;

namespace {

AstraNetwork network_in_text(const std::string& text) {
  return read_astra_network(plain_input("network.yml", text));
}

std::string second_version(const std::string& topology, const std::string& counts,
                           const std::string& bandwidths, const std::string& latencies) {
  return "# a comment\ntopology: [ " + topology + " ]  # Ring, Switch\nnpus_count: [ " + counts +
         " ]\nbandwidth: [ " + bandwidths + " ]  # GB/s\nlatency: [ " + latencies + " ]  # ns\n";
}

/// The platform that the program would write, read again, with all its nodes.
Cluster cluster_of(const AstraNetwork& network) {
  const PlatformDraft draft = make_platform(network, testing::answers("a100_sxm4_40gb"));
  return make_cluster(load_platform(config::parse("mine.yaml", platform_text(draft))), nodes_of(network));
}

Bandwidth narrowest(const Cluster& cluster, const Route& its) {
  Bandwidth rate = its.limit;
  for (const LinkId link : its.links) rate = std::min(rate, capacity(cluster, link));
  return rate;
}

}  // namespace

TEST_CASE("both versions of a network are read with all their figures") {
  const AstraNetwork second = network_in_text(
      second_version("Ring, FullyConnected, Switch", "2, 8, 4", "200.0, 100.0, 50.0", "50.0, 500.0, 936.25"));
  CHECK_FALSE(second.is_first_version);
  CHECK(npus_of(second) == 64);
  REQUIRE(second.dimensions.size() == 3);
  CHECK(second.dimensions[1].topology == AstraTopology::fully_connected);
  CHECK(second.dimensions[1].count == 8);
  CHECK(second.dimensions[1].bandwidth == Bandwidth(100e9));
  CHECK(second.dimensions[2].latency == Seconds(936.25e-9));
  const AstraNetwork first = network_in_text(
      "{\n\t\"topology-name\": \"Hierarchical\", \"dimensions-count\": 2, \"topologies-per-dim\": [\"Ring\", "
      "\"Switch\"],\n\"units-count\": [16, 4], \"links-count\": [6, 1], \"link-latency\": [500, 700],\n"
      "\"link-bandwidth\": [25, 6.25], \"router-latency\": [0, 9]}");
  CHECK(first.is_first_version);
  CHECK(npus_of(first) == 64);
  CHECK(first.dimensions[0].links == 3);  // to either neighbour
  CHECK(first.dimensions[0].bandwidth == Bandwidth(25e9));
  CHECK(first.dimensions[1].links == 1);
  CHECK(first.dimensions[1].bandwidth == Bandwidth(6.25e9));
  CHECK(first.not_used == std::vector<std::string>{"topology-name: Hierarchical", "router-latency: [0, 9]"});
}

TEST_CASE("what a network does not say, or says twice, is an error at its line") {
  const auto refused = [](const std::string& text, int line, std::string_view part) {
    const auto errors = errors_of([&] { network_in_text(text); });
    REQUIRE_FALSE(errors.empty());
    CAPTURE(errors.front().message);
    CHECK(errors.front().line == line);
    CHECK(to_string(errors.front()).find(part) != std::string::npos);
  };
  refused(second_version("Ring", "4", "tbd", "500"), 4, "tbd");
  refused(second_version("Ring", "4", "50", "[ tbd ]"), 5, "");
  refused(second_version("Ring, Ring", "4", "50, 50", "500, 500"), 3, "1 values for 2 dimensions");
  refused(second_version("Mesh", "4", "50", "500"), 2, "Mesh");
  refused(second_version("Ring", "4", "-50", "500"), 4, "-50");
  refused(second_version("Ring", "4", "50", "-1"), 5, "-1");
  refused("topology: [ Ring ]\nnpus_count: [ 8 ]\nlatency: [ 5 ]\n", 1, "bandwidth");
  refused(
      "{\"topologies-per-dim\": [\"FullyConnected\"], \"units-count\": [4], \"links-count\": [4],\n"
      "\"link-latency\": [5], \"link-bandwidth\": [5]}",
      1, "4 links of an NPU for 3 connections");
}

TEST_CASE("each topology of a node keeps its rate, and a Switch counts its latency twice") {
  const struct {
    std::string topology;
    int second;         // a GPU that GPU 0 reaches
    double latency;     // ns to it
    std::size_t links;  // of the node
  } cases[] = {{"Ring", 1, 500, 8}, {"FullyConnected", 4, 500, 28}, {"Switch", 7, 1000, 8}};
  for (const auto& [topology, second, latency, links] : cases) {
    CAPTURE(topology);
    const Cluster cluster = cluster_of(network_in_text(second_version(topology, "8", "200", "500")));
    CHECK(cluster.ranks() == 8);
    CHECK(num_edges(cluster.platform.node) == links);
    const Route its = route(cluster, Rank{0}, Rank{second});
    CHECK(narrowest(cluster, its) == Bandwidth(200e9));
    CHECK(its.latency.si() * 1e9 == doctest::Approx(latency));
  }
  CHECK_FALSE(cluster_of(network_in_text(second_version("Ring", "8", "200", "500")))
                  .inside.gpu_to_gpu[0][2]
                  .reachable);
}

TEST_CASE("a latency of 0 is read, and filled in where a platform needs one") {
  const AstraNetwork network =
      network_in_text(second_version("Switch, Switch", "8, 4", "400, 50", "0, 1000"));
  CHECK(network.dimensions[0].latency == Seconds());
  const Route its = route(cluster_of(network), Rank{0}, Rank{7});
  CHECK(its.latency > Seconds());
  CHECK(its.latency.si() <= 2 * config::least_latency * (1 + 1e-9));  // of two links
}

TEST_CASE("one Switch behind the node is a rail for each GPU") {
  const Cluster cluster =
      cluster_of(network_in_text(second_version("Switch, Switch", "8, 4", "400, 50", "900, 1000")));
  CHECK(cluster.nodes == 4);
  CHECK(cluster.platform.fabric.kind == FabricKind::rail_optimised);
  const Route its = route(cluster, Rank{3}, Rank{3 + 8 * 3});
  CHECK(narrowest(cluster, its) == Bandwidth(50e9));
  CHECK(its.latency.si() * 1e9 == doctest::Approx(2000));
  // another rail: over the node, then along the rail
  const Route across = route(cluster, Rank{3}, Rank{4 + 8});
  CHECK(across.latency.si() * 1e9 == doctest::Approx(2 * 900 + 2000));
}

TEST_CASE("equally fast Rings behind the node are a torus, whose routers have the links of all GPUs") {
  const Cluster cluster = cluster_of(
      network_in_text(second_version("Ring, Ring, Ring", "4, 3, 5", "80, 20, 20", "1000, 700, 700")));
  CHECK(cluster.nodes == 15);
  CHECK(cluster.platform.fabric.kind == FabricKind::torus2d);
  CHECK(cluster.platform.fabric.torus.link.value == Bandwidth(4 * 20e9));
  CHECK(route(cluster, Rank{0}, Rank{4}).latency.si() * 1e9 == doctest::Approx(700));
  CHECK(route(cluster, Rank{0}, Rank{4 * (1 + 3 * 2)}).latency.si() * 1e9 == doctest::Approx(3 * 700));
  CHECK(cluster_of(network_in_text(second_version("Switch, Ring", "8, 2", "400, 50", "900, 1000")))
            .platform.fabric.torus.dimensions == std::vector<int>{2, 1});
  // all of them: GPUs that are not neighbours send through the routers between them
  const Cluster torus =
      cluster_of(network_in_text(second_version("Ring, Ring", "4, 8", "80, 80", "1000, 1000")));
  CHECK(torus.nodes == 32);
  CHECK(torus.platform.gpus.size() == 1);
  CHECK(torus.platform.fabric.torus.link.value == Bandwidth(80e9));
  CHECK(route(torus, Rank{0}, Rank{2 + 4}).latency.si() * 1e9 == doctest::Approx(3000));
}

TEST_CASE("other dimensions are listed link by link, and none is left out") {
  const AstraNetwork network = network_in_text(second_version(
      "Ring, FullyConnected, Switch, Ring", "2, 4, 2, 3", "200, 100, 50, 25", "50, 500, 2000, 9000"));
  const Cluster cluster = cluster_of(network);
  CHECK(cluster.nodes == 24);
  CHECK(cluster.platform.fabric.kind == FabricKind::custom);
  // 24 nodes with 2 cards each; 6 groups of 6 links; 12 switches of 2 links; 8 rings of 3 links
  CHECK(cluster.platform.fabric.custom.links.size() == 24 * 2 + 6 * 6 + 12 * 2 + 8 * 3);
  const auto latency = [&](int from, int to) {
    return route(cluster, Rank{2 * from}, Rank{2 * to}).latency.si() * 1e9;
  };
  CHECK(latency(0, 3) == doctest::Approx(500));
  CHECK(latency(0, 4) == doctest::Approx(2 * 2000));
  CHECK(latency(0, 8) == doctest::Approx(9000));
  CHECK(latency(0, 16) == doctest::Approx(9000));  // the other way around
  CHECK(latency(0, 3 + 4 + 8) == doctest::Approx(500 + 2 * 2000 + 9000));
  // 3 links of 100, 1 of 50 and 2 of 25 GB/s
  CHECK(cluster.platform.fabric.nic.value == Bandwidth(400e9));
}

TEST_CASE("a network that no platform holds is refused with the reason") {
  const auto refused = [](const std::string& counts) {
    return message_of([&] {
      cluster_of(network_in_text(second_version("Switch, Ring, Switch", counts, "5, 5, 5", "5, 5, 5")));
    });
  };
  CHECK(refused("512, 2, 2").find("at most 256 GPUs") != std::string::npos);
  CHECK(refused("8, 4096, 4096").find("nodes; a platform has at most") != std::string::npos);
  CHECK(refused("8, 4096, 16").find("links") != std::string::npos);
}

TEST_CASE("a written network reads back to the same dimensions") {
  const AstraNetwork network =
      network_in_text(second_version("Switch, Ring", "8, 2", "122.4, 12.09", "936.25, 0.125"));
  const AstraNetwork again = network_in_text(astra_network_text(network, {"one", "two"}));
  REQUIRE(again.dimensions.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(again.dimensions[i].topology == network.dimensions[i].topology);
    CHECK(again.dimensions[i].count == network.dimensions[i].count);
    CHECK(again.dimensions[i].bandwidth == network.dimensions[i].bandwidth);
    CHECK(again.dimensions[i].latency == network.dimensions[i].latency);
  }
}

TEST_CASE("a damaged network is read, or refused with a message") {
  const std::string first =
      "{\"topologies-per-dim\": [\"Ring\", \"Switch\"], \"units-count\": [6, 4], \"links-count\": [6, 1],\n"
      "\"link-latency\": [500, 700], \"link-bandwidth\": [25, 6.25]}";
  const std::string second =
      second_version("Ring, FullyConnected, Switch", "2, 8, 4", "200, 100, 50", "5, 50, 9");
  CHECK(rc::check([&] {
    std::string text = *rc::gen::arbitrary<bool>() ? first : second;
    const auto changes = *rc::gen::inRange(1, 5);
    for (int i = 0; i < changes; ++i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] =
          *rc::gen::elementOf(std::string(" \n\t-0129[]{},:#e\"*&"));
    try {
      const AstraNetwork network = network_in_text(text);
      RC_ASSERT(!make_platform(network, testing::answers("a100_sxm4_40gb")).file.name.empty());
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().front().message.empty());
    }
  }));
}
