// Groups of layouts: their ranks, nodes and links.

#include "run/group_links.hpp"

#include "schedule/layout_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

const GroupsOfKind& named(const std::vector<GroupsOfKind>& kinds, const std::string& name) {
  const auto found = std::ranges::find(kinds, name, &GroupsOfKind::name);
  REQUIRE(found != kinds.end());
  return *found;
}

const GroupLinks& named(const GroupsOfKind& kind, const std::string& name) {
  const auto found = std::ranges::find(kind.links, name, &GroupLinks::name);
  REQUIRE(found != kind.links.end());
  return *found;
}

}  // namespace

TEST_CASE("groups of GPT-3 175B on 1,024 GPUs: tensor inside nodes, the others over NICs that they share") {
  const ResolvedExperiment resolved = gpt3_layout({});
  const std::vector<GroupsOfKind> kinds = group_links(resolved, plan_layout_step(resolved).graph);
  const GroupsOfKind& tensor = named(kinds, "tensor");
  CHECK(tensor.groups == 128);
  CHECK(tensor.size == 8);
  CHECK(tensor.nodes == 1);
  CHECK(tensor.sockets == 2);
  REQUIRE(tensor.links.size() == 1);
  CHECK(tensor.links[0].medium == "nvlink3");
  CHECK(tensor.links[0].links == 2048);
  CHECK(tensor.links[0].groups == 1);
  CHECK(tensor.links[0].shared_with.empty());
  const GroupsOfKind& data = named(kinds, "data");
  CHECK(data.groups == 64);
  CHECK(data.size == 16);
  CHECK(data.nodes == 16);
  CHECK(named(data, "nic - fabric").shared_with.contains("pipeline"));
  const GroupsOfKind& pipeline = named(kinds, "pipeline");
  CHECK(pipeline.groups == 128);
  CHECK(pipeline.size == 8);
  CHECK(pipeline.members.front()[1] == Rank{128});
  for (const GroupsOfKind& kind : kinds) CHECK(kind.rate <= 8 * kind.links.front().capacity);

  const std::vector<NodeKind> nodes = node_kinds(*resolved.cluster, kinds);
  REQUIRE(nodes.size() == 2);  // the first and the last stage exchange the gradients of the embedding
  CHECK(nodes[0].nodes == 32);
  CHECK(nodes[1].nodes == 96);
  const auto place = static_cast<int>(&tensor - kinds.data());
  CHECK(nodes[0].group_of[at(place)] == std::vector<int>(8, 0));
  CHECK_FALSE(nodes[0].leaves[at(place)]);
  const auto of_data = static_cast<int>(&data - kinds.data());
  CHECK(nodes[0].group_of[at(of_data)] == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(nodes[0].leaves[at(of_data)]);
}

TEST_CASE("bytes that a rank of a ring sends are (n - 1) / n of each gather and scatter") {
  const ResolvedExperiment resolved =
      shipped_experiment("bert_large_dgx_a100", {{"nodes", "1"}, {"parallelism.shard", "optimizer"}});
  const TaskGraph graph = plan_layout_step(resolved).graph;
  const std::vector<GroupsOfKind> kinds = group_links(resolved, graph);
  const GroupsOfKind& data = named(kinds, "data");
  double expected = 0;
  for (const Collective& what : graph.collectives) {
    if (what.label.axis != Axis::data) continue;
    CHECK((what.operation == Operation::reduce_scatter || what.operation == Operation::all_gather));
    expected += what.rounds * what.size.si() * 7 / 8;
  }
  CHECK(data.size == 8);
  CHECK(data.bytes.si() == doctest::Approx(expected).epsilon(1e-9));
}

TEST_CASE("groups inside a node and groups across nodes are kinds of their own, each with its groups only") {
  const ResolvedExperiment resolved = small_layout("dgx_a100", 3, {{"parallelism.pipeline", "4"}});
  const std::vector<GroupsOfKind> kinds = group_links(resolved, plan_layout_step(resolved).graph);
  const auto firsts = [](const GroupsOfKind& kind) {
    std::vector<Rank> found;
    for (const auto& group : kind.members) found.push_back(group.front());
    return found;
  };
  const GroupsOfKind& inside = named(kinds, "data in nodes");
  const GroupsOfKind& across = named(kinds, "data across nodes");
  CHECK(inside.size == 6);
  CHECK(inside.groups == 2);
  CHECK(firsts(inside) == std::vector<Rank>{Rank{0}, Rank{18}});
  CHECK(inside.nodes == 1);
  CHECK(across.groups == 2);
  CHECK(firsts(across) == std::vector<Rank>{Rank{6}, Rank{12}});
  CHECK(across.nodes == 2);
}

TEST_CASE("an all-to-all of several groups whose edges are only counted has the rate of one with edges") {
  const ResolvedExperiment resolved = small_mixture("dgx_a100", 1, {{"parallelism.expert", "4"}});
  TaskGraph graph = plan_layout_step(resolved).graph;
  const GroupsOfKind listed = named(group_links(resolved, graph), "expert");
  CHECK(listed.size == 4);
  CHECK(listed.groups == 2);
  std::set<int> patterns;
  for (const Collective& what : graph.collectives) {
    if (what.label.axis != Axis::expert || what.operation != Operation::all_to_all) continue;
    for (const CollectivePhase& phase : what.phases) patterns.insert(phase.pattern);
  }
  for (const int number : patterns) {
    Pattern& pattern = graph.patterns[at(number)];
    REQUIRE(pattern.edges.size() == 24);  // 2 groups x 4 x 3
    Pattern counted;
    counted.uses = link_uses(pattern);
    counted.summed_edges = pattern.edge_count();
    pattern = counted;
  }
  const GroupsOfKind counted = named(group_links(resolved, graph), "expert");
  CHECK(counted.rate.si() == doctest::Approx(listed.rate.si()).epsilon(1e-12));
  CHECK(counted.groups == 2);
}

TEST_CASE("an experiment without a layout has no kinds of groups") {
  const ResolvedExperiment resolved = shipped_experiment("bert_large_dgx_a100", {});
  CHECK(group_links(resolved, {}).empty());
}
