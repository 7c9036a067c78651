#include "collectives/algorithm_plans.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"
#include "collectives/rank_tree.hpp"

#include <bit>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

std::vector<int> children_counts(const BinaryTree& tree) {
  std::vector<int> counts(tree.parents.size(), 0);
  for (const int parent : tree.parents) {
    if (parent >= 0) ++counts[at(parent)];
  }
  return counts;
}

int height_of(const BinaryTree& tree) {
  int height = 0;
  for (std::size_t node = 0; node < tree.parents.size(); ++node) {
    int depth = 0;
    for (int up = tree.parents[node]; up >= 0; up = tree.parents[at(up)]) ++depth;
    height = std::max(height, depth);
  }
  return height;
}

}  // namespace

TEST_CASE("the double binary tree of 14 nodes is the one drawn in NCCL's source") {
  const auto [first, second] = double_binary_tree(14);
  CHECK(first.parents == std::vector{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12});
  // mirrored
  CHECK(second.parents == std::vector{1, 5, 3, 1, 3, 13, 7, 9, 7, 5, 11, 9, 11, -1});
}

TEST_CASE("two binary trees: logarithmic, and no node is inside both, up to 300 nodes and for any root") {
  for (int nodes = 2; nodes <= 300; ++nodes) {
    for (const int root : {-1, 0, 1, nodes / 2, nodes - 1}) {
      const auto trees = root < 0 ? double_binary_tree(nodes) : double_binary_tree(nodes, root);
      const std::vector<int> first = children_counts(trees[0]);
      const std::vector<int> second = children_counts(trees[1]);
      int inside_both = 0;
      for (int node = 0; node < nodes; ++node) {
        REQUIRE(first[at(node)] <= 2);
        REQUIRE(second[at(node)] <= 2);
        if (node != root && first[at(node)] > 0 && second[at(node)] > 0) ++inside_both;
        if (node == root) {
          REQUIRE(trees[0].parents[at(node)] == -1);
          REQUIRE(trees[1].parents[at(node)] == -1);
        }
      }
      // NCCL's shifted tree of an odd number makes the first tree's root inner: with one child in each
      REQUIRE(inside_both <= (root < 0 && nodes % 2 == 1 ? 1 : 0));
      for (const BinaryTree& tree : trees) {
        REQUIRE(height_of(tree) == static_cast<int>(std::bit_width(static_cast<unsigned>(nodes - 1))));
        REQUIRE(tree.top_down.size() == at(nodes));
        std::vector<bool> seen(at(nodes), false);
        for (const int node : tree.top_down) {
          REQUIRE(!seen[at(node)]);
          REQUIRE((tree.parents[at(node)] < 0 || seen[at(tree.parents[at(node)])]));
          seen[at(node)] = true;
        }
      }
    }
  }
}

TEST_CASE("trees equal their formula at 2 to 64 ranks") { CHECK(check_formula(Algorithm::tree) == 3 * 63); }

TEST_CASE("trees deliver, from and to any root, on nodes of one GPU and of several") {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const Cluster cluster = flat_cluster(ranks);
    for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::reduce}) {
      for (int root = 0; root < ranks; ++root) {
        const CollectivePlan plan = tree(cluster, no_overheads(), over_all_ranks(cluster, operation, root));
        CHECK(tree_delivers(plan.patterns[0], 2, operation, ranks, root));
      }
    }
  }
  const Cluster cluster = shipped_cluster("dgx1v", 3);
  for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::reduce}) {
    for (int root = 0; root < 24; root += 5) {
      const CollectivePlan plan = tree(cluster, no_overheads(), over_all_ranks(cluster, operation, root));
      CHECK(tree_delivers(plan.patterns[0], 2 * at(plan.channels), operation, 24, root));
    }
  }
}

TEST_CASE("between two nodes a tree sends every byte once in each direction, between more nodes twice") {
  for (const int nodes : {2, 8}) {
    const Cluster cluster = flat_cluster(nodes);
    const CollectivePlan plan = tree(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
    const Traffic traffic = traffic_of(cluster, plan, Bytes{1e6});
    CHECK(*std::ranges::max_element(traffic.sent) == doctest::Approx(nodes == 2 ? 1e6 : 2e6).epsilon(1e-12));
    double sent = 0;
    for (const double each : traffic.sent) sent += each;
    CHECK(sent == doctest::Approx(2e6 * (nodes - 1)).epsilon(1e-12));
    double received = 0;
    for (const double each : traffic.received) received += each;
    CHECK(received == doctest::Approx(sent).epsilon(1e-12));
  }
}

TEST_CASE("a tree's way is the chain of its node, the tree's height and the same back") {
  const Cluster cluster = shipped_cluster("dgx1v", 4);
  const CollectivePlan plan = tree(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  CHECK(plan.phases.at(0).hops == 2 * (7 + 2));
  CHECK(plan.patterns.at(0).edges.size() == at(plan.channels) * 2 * 2 * 31);
}

TEST_CASE("on one node a tree is the chain") {
  const Cluster cluster = shipped_cluster("dgx1v", 1);
  const CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  const CollectivePlan plan = tree(cluster, no_overheads(), request);
  CHECK(plan.algorithm == Algorithm::tree);
  CHECK(plan.phases.size() == 1);
  CHECK(time_alone(cluster, plan, Bytes{1e8}) ==
        time_alone(cluster, chain(cluster, no_overheads(), request), Bytes{1e8}));
}

TEST_CASE("a root outside the group is no root") {
  const Cluster cluster = flat_cluster(4);
  CollectiveRequest request = over_all_ranks(cluster, Operation::broadcast, 3);
  request.group.pop_back();
  CHECK(refusal_of(Algorithm::tree, cluster, request).message.starts_with("root 3 "));
}
