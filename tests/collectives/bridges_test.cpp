// NVLink bridges on pairs of cards: a node's collectives take no longer with them than without, since NCCL
// could always leave them alone.

#include "collectives/algorithms.hpp"
#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

using namespace trainyard;

namespace {

/// A shipped box of PCIe cards, with bridges like those of a box of another generation on each pair.
Platform with_bridges(const std::string& name, LinkKind kind, int lanes) {
  Platform platform = testing::shipped_platform(name);
  for (std::size_t gpu = 0; gpu + 1 < platform.gpus.size(); gpu += 2) {
    Link link;
    link.kind = kind;
    link.lanes = lanes;
    link.bandwidth.value = Bandwidth(25e9 * lanes);
    link.effective.value = Bandwidth(17.3e9 * lanes);
    link.latency.value = usual_latency(kind);
    add_edge(platform.gpus[gpu], platform.gpus[gpu + 1], link, platform.node);
  }
  return platform;
}

Seconds time_of(const Cluster& cluster, const CollectiveSoftware& software, Operation operation, int ranks,
                Bytes size) {
  std::vector<Rank> group(at(ranks));
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = Rank{static_cast<int>(i)};
  Planner planner(cluster, software, {.operation = operation, .groups = {group}});
  std::vector<Pattern> patterns;
  const Collective one = planner.collective(size, patterns);
  return time_alone(one, [&](int pattern) { return rate_alone(cluster, patterns[at(pattern)]); });
}

}  // namespace

TEST_CASE("bridges between pairs of cards make no sum, gather or exchange of the node slower") {
  struct Bridges {
    const char* platform;
    LinkKind kind;
    int lanes;
  };
  const Protocols constants =
      load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
  for (const Bridges& bridges :
       {Bridges{"server_h100_pcie", LinkKind::nvlink4, 12}, Bridges{"server_a6000", LinkKind::nvlink3, 4},
        Bridges{"server_3090", LinkKind::nvlink3, 4}, Bridges{"server_rtx8000", LinkKind::nvlink2, 2}}) {
    CAPTURE(bridges.platform);
    const Platform bridged = with_bridges(bridges.platform, bridges.kind, bridges.lanes);
    const Platform plain = testing::shipped_platform(bridges.platform);
    const Cluster with = make_cluster(bridged, 1);
    const Cluster without = make_cluster(plain, 1);
    for (const NcclVersion version : {NcclVersion::v2_12, NcclVersion::v2_28}) {
      const auto software = [&](const Platform& platform) {
        return CollectiveSoftware{.version = version,
                                  .overheads = overheads_of(constants, version, platform),
                                  .compute_capability = 80};
      };
      for (const Operation operation : all_operations) {
        if (operation == Operation::send_recv) continue;  // of pairs
        // open: some trees and chains from one rank still take longer with bridges
        if (is_whole_with_root(operation)) continue;
        CAPTURE(config::name_of(operation));
        for (int ranks = 3; ranks <= without.ranks(); ++ranks) {
          CAPTURE(ranks);
          for (const double size : {64e3, 1e6, 16e6, 256e6}) {
            CAPTURE(size);
            CHECK(time_of(with, software(bridged), operation, ranks, Bytes(size)) <=
                  time_of(without, software(plain), operation, ranks, Bytes(size)) * (1 + 1e-9));
          }
        }
      }
    }
  }
}
