#pragma once
// The graphs that NCCL found on a node (NCCL_GRAPH_DUMP_FILE), beside the rings of a platform.

#include "interchange/input_text.hpp"
#include "platform/platform.hpp"
#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// One channel: the GPUs in their order.
struct NcclChannel {
  std::vector<int> gpus;
};

/// NCCL's numbers of patterns. Source: NVIDIA/nccl src/include/graph.h.
inline constexpr int nccl_ring_pattern = 4;

struct NcclGraph {
  int id = 0;
  int pattern = 0;
  Bandwidth inside, between;              ///< of a channel, as NCCL plans: inside a node and to network cards
  std::string type_inside, type_between;  ///< "NVL", "SYS"
  std::vector<NcclChannel> channels;
  int line = 0;
};

struct NcclGraphs {
  std::string file;
  std::vector<NcclGraph> graphs;
};

/// Throws InputError with the line: a topology in place of graphs, a number that is none, fewer channels than
/// stated.
NcclGraphs read_nccl_graphs(const InputText& input);

/// NCCL's rings and those of a platform's node.
struct RingComparison {
  int theirs = 0, ours = 0;        ///< channels
  Bandwidth their_rate, our_rate;  ///< of all of them
  int distinct = 0;                ///< orders among theirs, whatever their start and direction
  int common = 0;                  ///< orders among those that are ours too
  std::string type_inside, type_between;
};

/// For as many of the node's GPUs as the rings have. Throws InputError if there is no graph of rings, or the
/// node has fewer GPUs.
RingComparison compare_rings(const NcclGraphs& graphs, const Platform& platform);

/// In a few lines, for people.
std::string ring_comparison_text(const RingComparison& rings, const std::string& platform);

}  // namespace trainyard
