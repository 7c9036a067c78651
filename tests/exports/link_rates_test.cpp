// The rates of links over a step, and the bytes that each carried.

#include "exports/link_rates.hpp"

#include "platform/cluster.hpp"
#include "run/link_rows.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <map>
#include <string>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// Bytes of links.csv by kind, of a node's links.
std::map<std::string, double> carried(const Run& run, NodeId node) {
  const Cluster& cluster = *run.experiment.cluster;
  std::map<std::string, double> sums;
  for (const LinkRow& row : run.links.rows) {
    const LinkId link = find_link(cluster, row.name).value();
    if (node_of(cluster, link) != node) continue;
    std::string kind(link_medium(cluster, link));
    if (kind == "network") kind += row.name.starts_with("fabric") ? " in" : " out";
    sums[kind] += row.bytes.si();
  }
  return sums;
}

void check_bytes(const Run& run, NodeId node) {
  const std::vector<NodeLinkRates> rates = node_link_rates(run, node);
  const auto bytes = carried(run, node);
  REQUIRE(!bytes.empty());
  REQUIRE(rates.size() == bytes.size());
  for (const NodeLinkRates& kind : rates) {
    CAPTURE(kind.kind);
    double sum = 0;
    Seconds end;
    for (const LinkRateSpan& span : kind.spans) {
      CHECK(span.start == end);
      CHECK(span.rate.si() >= 0);
      end = span.end;
      sum += (span.rate * (span.end - span.start)).si();
    }
    CHECK(end == step_of(run).time);
    CHECK(sum == doctest::Approx(bytes.at(kind.kind)).epsilon(1e-9));
  }
}

Run simulated_links(const std::string& name, const Overrides& overrides, Fidelity fidelity) {
  return simulate(shipped_experiment(name, overrides), {.fidelity = fidelity});
}

}  // namespace

TEST_CASE("the rates of links over a step add up to the bytes that they carried") {
  const Run one_node = simulated_links("resnet50_dgx2", {{"gpus", "4"}}, Fidelity::closed);
  check_bytes(one_node, NodeId{0});
  CHECK(node_link_rates(one_node, NodeId{0}).front().kind == "nvlink2");
  const Run two_nodes = simulated_links("bert_base_p3dn", {{"gpus", "16"}, {"nodes", "2"}}, Fidelity::closed);
  check_bytes(two_nodes, NodeId{0});
  check_bytes(two_nodes, NodeId{1});
}

TEST_CASE("the rates of links add up where flows share them, and in every micro-batch of a pipeline") {
  check_bytes(simulated_links("bert_base_p3dn", {{"gpus", "16"}, {"nodes", "2"}, {"accumulation", "2"}},
                              Fidelity::flow),
              NodeId{0});
  const Run layout = simulated_links("mixtral_8x7b_dgx_h100", {}, Fidelity::closed);
  check_bytes(layout, NodeId{0});
}
