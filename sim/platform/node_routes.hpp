#pragma once
// The ways through one node, worked out once per platform: GPU to GPU, GPU to NIC and back. cluster.hpp
// places them on every node, so that a route costs a copy whatever the number of nodes.

#include "platform/path_type.hpp"
#include "platform/platform.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard {

/// One way through a node. A link of the node has two numbers, one per direction: 2e from the source to the
/// target of edge e of the graph, 2e + 1 back.
struct NodePath {
  std::vector<std::uint32_t> links;  ///< in travel order
  Seconds latency;                   ///< sum of the links' latencies
  int distance = 0;                  ///< NVLink links + 100 * other links of the shortest way
  PathType type = PathType::nvlink4;
  Bandwidth limit{std::numeric_limits<double>::infinity()};  ///< what one connection reaches on it at most
  bool reachable = false;
};

struct NodeRoutes {
  std::vector<std::vector<NodePath>> gpu_to_gpu;  ///< [from][to], numbered as in Platform::gpus
  std::vector<std::vector<NodePath>> gpu_to_nic;  ///< [gpu][nic]
  std::vector<std::vector<NodePath>> nic_to_gpu;  ///< [nic][gpu]: gpu_to_nic backwards
  std::vector<std::vector<NodePath>> cpu_to_gpu;  ///< [cpu][gpu], numbered as in Platform::cpus
  std::vector<std::vector<NodePath>> cpu_to_nic;  ///< [cpu][nic]
  std::vector<int> nic_of_cpu;                    ///< nearest to each CPU; -1 when it reaches none
  std::vector<int> nearest_nic;                   ///< of each GPU; -1 when it reaches none
  std::vector<Bandwidth> capacity;                ///< effective rate of each directed link of the node
  std::vector<Bandwidth> specified;               ///< its rate by specification
};

/// That way in the other direction.
NodePath reversed(NodePath path);

/// The shortest ways by `distance`, so NVLink before anything else and then the fewest links. They pass
/// through switches and CPUs and never through another GPU or a NIC, as NCCL's do by default. The way back
/// uses the same links. Where the fabric has no GPUDirect, ways between a GPU and a NIC pass the CPU nearest
/// to the GPU, in whose memory the data is staged; their distance, which says how near a NIC is, stays that
/// of the shortest way. Where GPUs have no peer-to-peer access, ways between two of them without NVLinks pass
/// the CPU nearest to the one with the lower number likewise.
NodeRoutes node_routes(const Platform& platform);

/// The devices on the shortest way between two devices of any kind, both ends included; empty if there is
/// none.
std::vector<DeviceId> devices_between(const NodeGraph& graph, DeviceId from, DeviceId to);

}  // namespace trainyard
