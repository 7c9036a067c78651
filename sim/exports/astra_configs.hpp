#pragma once
// The machine and the algorithm of a run as configurations of ASTRA-sim, so that the same job runs in both.

#include "interchange/astra_network.hpp"
#include "platform/cluster.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The network of the ranks of a cluster, at the rates that its simulation reaches: the GPUs of a node as a
/// Ring, FullyConnected or Switch, then the fabric as a Switch that never blocks or a Ring for each dimension
/// of a torus. A GPU's rate between nodes is its share if all GPUs of a node send at once; latencies are in
/// whole ps. Throws InputError for what ASTRA-sim cannot express: GPUs of a node that are not equally joined,
/// nodes with different numbers of ranks, fabrics that block or are listed link by link.
AstraNetwork astra_network_of(const Cluster& cluster);

struct AstraSystemText {
  std::string text;                   ///< JSON
  std::vector<std::string> comments;  ///< what ASTRA-sim cannot express
};

/// The run's algorithm, that of its largest all-reduce, with the GPU's peaks. `dimensions`: of its network.
AstraSystemText astra_system_text(const Run& run, int dimensions);

}  // namespace trainyard
