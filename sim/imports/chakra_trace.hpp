#pragma once
// An execution trace of Chakra as a trace of one step: its nodes in an order in which each comes after those
// it depends on.

#include "imports/chakra_graph.hpp"
#include "imports/profile_trace.hpp"
#include "workload/trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ChakraImport {
  Trace trace;
  std::vector<LeftOut> left_out;
  std::vector<std::string> warnings;
  std::int64_t data_edges = 0, control_edges = 0, dangling_parents = 0;  ///< of the file
  int collectives = 0;                                                   ///< of the trace
  Bytes collective_bytes;
};

/// Nodes of the GPU, or all if the trace does not tell them from those of the host. Their order is that of
/// data_deps, or of ctrl_deps in a trace without. Throws InputError for cycles, with their ids, for messages
/// between two ranks, and if nothing computes.
/// `ranks`: of a group, which all-gathers need; without it their sizes stay as they are, with a warning.
ChakraImport trace_of(const ChakraGraph& graph, std::optional<int> ranks = {});

}  // namespace trainyard
