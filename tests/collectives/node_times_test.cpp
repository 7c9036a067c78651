#include "collectives/node_times.hpp"

#include "collectives/bounds.hpp"
#include "collectives/machines.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <memory>
#include <vector>

using namespace trainyard;

namespace {

/// All ranks of a node in groups of ranks `stride` apart.
RankGroups groups_in_node(int gpus, int size, int stride) {
  RankGroups groups;
  for (int first = 0; first < gpus; first += size * stride) {
    for (int place = 0; place < stride; ++place) {
      std::vector<Rank>& ranks = groups.emplace_back();
      for (int i = 0; i < size; ++i) ranks.push_back(Rank{first + place + i * stride});
    }
  }
  return groups;
}

/// What a comparison has found.
struct Counts {
  int compared = 0;
  int longer = 0;  ///< together than the slowest group alone
};

void compare(const Cluster& cluster, NodeTimes& in_node, const CollectiveSoftware& software,
             const RankGroups& groups, Counts& counts) {
  for (const Operation operation :
       {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::all_to_all}) {
    for (const Bytes bytes : {Bytes(1e5), Bytes(1e8)}) {
      CAPTURE(bytes.si());
      Planner planner(cluster, software, {.operation = operation, .groups = groups});
      std::vector<Pattern> patterns;
      const Collective all = planner.collective(bytes, patterns);
      const Seconds together =
          time_alone(all, [&](int pattern) { return rate_alone(cluster, patterns[at(pattern)]); });
      Seconds slowest;
      for (const std::vector<Rank>& group : groups)
        slowest = std::max(slowest, in_node.of(operation, group, bytes));
      CHECK(slowest <= together * (1 + 1e-12));
      if (groups.size() == 1) CHECK(slowest / together == doctest::Approx(1).epsilon(1e-12));
      CHECK(slowest >= collective_bound(cluster, software.overheads, operation, groups.front(), bytes));
      ++counts.compared;
      if (together > slowest * 1.01) ++counts.longer;
    }
  }
}

}  // namespace

TEST_CASE("a group inside a node takes no longer alone than with others, on nodes of each kind") {
  Counts counts;
  for (const char* const platform : {"dgx1v", "dgx1v_nccl29", "p3_16xlarge", "ac922", "summit", "p2_16xlarge",
                                     "server_3090", "dss8440", "workstation_rtx8000_nvlink", "dgx_h100"}) {
    CAPTURE(platform);
    const auto cluster = std::make_shared<const Cluster>(shipped_cluster(platform, 1));
    const int gpus = cluster->ranks();
    for (const NcclVersion version : {NcclVersion::v2_12, NcclVersion::v2_28}) {
      const CollectiveSoftware software{.version = version, .compute_capability = 90};
      NodeTimes in_node(cluster, software);
      for (int size = 2; size <= gpus; ++size) {
        for (int stride = 1; size * stride <= gpus; ++stride) {
          CAPTURE(size);
          CAPTURE(stride);
          if (gpus % (size * stride) == 0)
            compare(*cluster, in_node, software, groups_in_node(gpus, size, stride), counts);
        }
      }
    }
  }
  CHECK(counts.compared > 500);
  CHECK(counts.longer > 0);  // where they share links
}

TEST_CASE("groups on several nodes and single ranks have no time") {
  const auto cluster = std::make_shared<const Cluster>(shipped_cluster("dgx1v", 2));
  NodeTimes in_node(cluster, {});
  CHECK(in_node.of(Operation::all_reduce, {Rank{7}, Rank{8}}, Bytes(1e6)) == Seconds());
  CHECK(in_node.of(Operation::all_reduce, {Rank{7}}, Bytes(1e6)) == Seconds());
  CHECK(in_node.of(Operation::all_reduce, {Rank{6}, Rank{7}}, Bytes(1e6)) ==
        in_node.of(Operation::all_reduce, {Rank{14}, Rank{15}}, Bytes(1e6)));
}
