#pragma once
// The paths through one node, computed once per platform: GPU to GPU, GPU to NIC and back. cluster.hpp copies
// them for every node, so the cost of a route does not depend on the number of nodes.

#include "platform/path_type.hpp"
#include "platform/platform.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard {

/// One path through a node. A link of the node has two numbers, one per direction: 2e from the source to the
/// target of edge e of the graph, 2e + 1 back.
struct NodePath {
  std::vector<std::uint32_t> links;  ///< in travel order
  Seconds latency;                   ///< sum of the links' latencies
  Seconds beyond_usual;              ///< sum of latencies above usual_latency()
  Seconds below_usual;               ///< sum of what is missing to usual_latency()
  int distance = 0;                  ///< NVLink links + 100 * other links of the shortest path
  PathType type = best_path;
  Bandwidth limit{std::numeric_limits<double>::infinity()};  ///< highest rate of one connection
  bool reachable = false;
};

struct NodeRoutes {
  std::vector<std::vector<NodePath>> gpu_to_gpu;  ///< [from][to], numbered as in Platform::gpus
  std::vector<std::vector<NodePath>> gpu_to_nic;  ///< [gpu][nic]
  std::vector<std::vector<NodePath>> nic_to_gpu;  ///< [nic][gpu]: gpu_to_nic reversed
  std::vector<std::vector<NodePath>> cpu_to_gpu;  ///< [cpu][gpu], numbered as in Platform::cpus
  std::vector<std::vector<NodePath>> cpu_to_nic;  ///< [cpu][nic]
  std::vector<int> nic_of_cpu;                    ///< nearest to each CPU; -1 if it reaches none
  std::vector<int> nearest_nic;      ///< by GPU, in turn among equally near ones; -1 if it reaches none
  std::vector<Bandwidth> capacity;   ///< effective rate of each directed link of the node
  std::vector<Bandwidth> specified;  ///< its rate by specification
};

/// The path in the other direction.
NodePath reversed(NodePath path);

/// The shortest paths by `distance`: NVLink before anything else, then the fewest links. They pass through
/// switches and CPUs but never through another GPU or a NIC, as in NCCL by default. The opposite direction
/// uses the same links. If the fabric has no GPUDirect, paths between a GPU and a NIC pass through the CPU
/// nearest to the GPU, whose memory stages the data; their distance, which tells how near a NIC is, stays
/// that of the shortest path. If GPUs have no peer-to-peer access, paths between two of them without NVLinks
/// likewise pass through the CPU nearest to the one with the lower number.
NodeRoutes node_routes(const Platform& platform);

/// The devices on the shortest path between two devices of any kind, both ends included; empty if there is
/// none.
std::vector<DeviceId> devices_between(const NodeGraph& graph, DeviceId from, DeviceId to);

}  // namespace trainyard
