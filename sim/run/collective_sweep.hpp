#pragma once
// Times a collective over a range of sizes on a platform, as nccl-tests does on a real one; or several at
// once, on groups of ranks that share links.

#include "accuracy/collective_error.hpp"
#include "collectives/planner.hpp"
#include "engine/engine.hpp"
#include "platform/cluster.hpp"
#include "run/link_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The ranks of one collective, and how long after the others they begin.
struct CollectiveGroup {
  std::vector<Rank> ranks;  ///< ascending, at least 2
  Seconds start;
};

struct CollectiveSweep {
  Operation operation{};
  Algorithm algorithm = Algorithm::automatic;
  std::optional<TorusGrid> grid = {};     ///< for torus2d; none: torus_grid() of each group
  std::optional<Protocol> protocol = {};  ///< none: NCCL's choice
  int root = 0;                           ///< for broadcast and reduce: the root's index in each group
  std::vector<CollectiveGroup> groups;    ///< empty: all ranks of the cluster
  std::vector<Bytes> sizes;               ///< as nccl-tests counts them (operation.hpp)
  CollectiveSoftware software;
  int gpus_per_process = 1;  ///< one process starts their work one after the other, which sets a minimum time
  Seconds call = {};         ///< of a framework, added to every time
  Fidelity fidelity = Fidelity::flow;
  bool lists_links = true;  ///< whether the report has the rows of all links
};

struct CollectiveTiming {
  Bytes size;
  std::int64_t elements = 0;  ///< number of 4-byte elements
  int group = 0;
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  Seconds time;
  Bandwidth algbw;
  Bandwidth busbw;
  Seconds bound;        ///< no algorithm on this network is faster
  Seconds closed_form;  ///< the same collective alone on the network, by the closed formula
};

/// NCCL's choice changes between two consecutive sizes of a group: the curve of times has a kink there.
struct CollectiveSwitch {
  int group = 0;
  Bytes below, above;    ///< the last size before and the first after the change
  std::string from, to;  ///< "ring/LL128": algorithm and protocol; "ring" of a library without protocols
};

struct CollectiveReport {
  std::string platform;
  std::string changed = {};  ///< keys of the platform set on the command line, with their values
  std::string library = {};  ///< "NCCL", "Open MPI"
  Operation operation{};
  int ranks = 0, nodes = 0;  ///< ranks and nodes of the cluster
  int root = 0;
  std::vector<CollectiveGroup> groups;          ///< at least one
  std::vector<std::string> notes;               ///< for the reader
  std::vector<CollectiveTiming> rows;           ///< by size, then by group
  std::vector<CollectiveSwitch> switches = {};  ///< by group, then by size
  std::vector<LinkRow> links;                   ///< summed over all sizes; else the busiest alone
  double average_busbw_gbs = 0;                 ///< GB/s, like the last line of nccl-tests
  Known<CollectiveErrorsBySize> expected_error = unknown({});  ///< of the bandwidths; or why it is unknown
};

/// Times the operation on each group, all groups at once, nothing else on the network; one size after the
/// other. Throws InputError if the algorithm cannot run on this shape or a group is invalid, EngineError if a
/// result is faster than its lower bound.
CollectiveReport time_collective(const Cluster& cluster, const CollectiveSweep& sweep);

}  // namespace trainyard
