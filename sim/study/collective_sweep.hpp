#pragma once
// Times a collective over a range of sizes on a platform, as nccl-tests does on a real one.

#include "collectives/collective.hpp"
#include "collectives/nccl.hpp"
#include "engine/engine.hpp"
#include "platform/cluster.hpp"
#include "schedule/experiment.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct CollectiveSweep {
  Operation operation{};
  Algorithm algorithm = Algorithm::automatic;
  std::vector<Bytes> sizes;  ///< one rank's buffer each
  NcclVersion nccl = NcclVersion::v2_7_8;
  Fidelity fidelity = Fidelity::flow;
};

struct CollectiveTiming {
  Bytes size;
  std::int64_t elements = 0;  ///< of 4 bytes
  Seconds time;
  Bandwidth algbw;
  Bandwidth busbw;
  Seconds bound;  ///< no algorithm on this network is faster
};

struct CollectiveReport {
  std::string platform;
  Operation operation{};
  int ranks = 0, nodes = 0;
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  std::vector<std::string> notes;  ///< what a reader should know
  std::vector<CollectiveTiming> rows;
  double average_busbw_gbs = 0;  ///< GB/s, as nccl-tests' last line
};

/// Times the operation alone on the cluster. Throws InputError if the algorithm cannot run on this shape.
CollectiveReport time_collective(const Cluster& cluster, const CollectiveSweep& sweep);

}  // namespace trainyard
