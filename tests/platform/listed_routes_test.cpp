// Fabrics whose file lists the links of each route.

#include "platform/fabrics.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

const std::string listed_text =
    "  kind: routes\n"
    "  nic: 100 Gbps\n"
    "  latency: 1.5 us\n"
    "  efficiency: 0.9\n"
    "  shared_links:\n"
    "    - {name: cable0, bandwidth: 10 GB/s}\n"
    "    - {name: up1, bandwidth: 10 GB/s}\n"
    "    - {name: down1, bandwidth: 10 GB/s}\n"
    "    - {name: long, bandwidth: 4 GB/s}\n"
    "  ends:\n"
    "    - {nic: node0.nic0, out: [cable0], in: [cable0]}\n"
    "    - {nic: \"node[1-2].nic0\", out: [up1], in: [down1]}\n"
    "  routes:\n"
    "    - {from: \"node[0-2].nic0\", to: \"node[0-2].nic0\", over: [long, long]}\n"
    "    - {from: node2.nic0, to: node0.nic0, latency: 0.5 us}\n";

std::string listed_with(const std::string& from, const std::string& to) {
  std::string text = listed_text;
  return text.replace(text.find(from), from.size(), to);
}

std::string listed_error(const std::string& fabric) {
  try {
    machine_on(fabric);
  } catch (const InputError& wrong) {
    return wrong.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a listed route has the links of both ends and those between, and its own latency") {
  const Cluster cluster = make_cluster(machine_on(listed_text), 3);
  CHECK(fabric_way(cluster, 0, 1) == std::vector<std::string>{"cable0", "long", "long", "down1"});
  CHECK(fabric_way(cluster, 1, 0) ==
        std::vector<std::string>{"up1", "long", "long", "cable0"});  // the same link, in both directions
  CHECK(fabric_way(cluster, 2, 0) == std::vector<std::string>{"up1", "cable0"});  // the later entry
  const Seconds inside = route(cluster, Rank{0}, Rank{1}).latency - Seconds{1.5e-6};
  CHECK(route(cluster, Rank{2}, Rank{0}).latency.si() == doctest::Approx(inside.si() + 2e-6));
  const LinkId cable = *find_link(cluster, "cable0");
  CHECK(capacity(cluster, cable).si() == doctest::Approx(9e9));
  CHECK(specified_bandwidth(cluster, cable).si() == 10e9);
  CHECK(cluster.platform.fabric.places == 3);
}

TEST_CASE("without a route there is no way") {
  const Cluster cluster = make_cluster(machine_on(listed_with("node[0-2].nic0\", to: \"node[0-2].nic0",
                                                              "node[0-1].nic0\", to: \"node[0-1].nic0")),
                                       3);
  CHECK_THROWS_AS(route(cluster, Rank{0}, Rank{2}), Unreachable);
  CHECK(route(cluster, Rank{2}, Rank{0}).links.size() > 0);
  CHECK_THROWS_AS(make_cluster(machine_on(listed_text), 4), InputError);
}

TEST_CASE("wrong names in listed routes are errors at their place") {
  CHECK(
      mentions(listed_error(listed_with("over: [long, long]", "over: [long, lnog]")), "unknown link 'lnog'"));
  CHECK(mentions(listed_error(listed_with("over: [long, long]", "over: [long, lnog]")),
                 "fabric.routes[0].over[1]"));
  CHECK(mentions(listed_error(listed_with("name: up1", "name: cable0")), "listed twice"));
  CHECK(mentions(listed_error(listed_with("name: up1", "name: node1.up")), "is not a name for a link"));
  CHECK(mentions(listed_error(listed_with("nic: node0.nic0", "nic: host0")), "is not a NIC"));
  CHECK(mentions(listed_error(listed_with("nic: node0.nic0", "nic: node0.nic1")), "does not exist"));
  CHECK(mentions(listed_error(listed_with("nic: node0.nic0", "nic: node1.nic0")), "listed twice"));
  CHECK(
      mentions(listed_error(listed_with("    - {from: node2.nic0",
                                        "    - {from: node2.nic0, to: node0.nic0}\n    - {from: node2.nic0")),
               "a second route"));
  CHECK(mentions(listed_error(listed_with("  efficiency: 0.9\n", "  hop_latency: 1 us\n")),
                 "give its routes a latency"));
  CHECK(mentions(listed_error(listed_with("node[0-2].nic0\", to", "node[0-2048].nic0\", to")),
                 "more than 2048 NICs"));
}
