#pragma once
// A platform's node as NCCL's topology file, which NCCL takes as NCCL_TOPO_FILE and `trainyard init platform`
// reads.

#include "compute/gpu_profile.hpp"
#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// Sockets, PCIe switches, GPUs and network cards as a tree, with the lanes of NVLinks. Bus numbers are made
/// up; what the format does not have (rates that collectives reach, the fabric, links between sockets) is
/// left out. Throws InputError for nodes that it cannot hold: without GPUs, with GPUs that are not below a
/// socket over PCIe, with links of AMD's GPUs.
std::string nccl_topology_xml(const Platform& platform, const GpuProfile& gpu);

}  // namespace trainyard
