#pragma once
// Which algorithm and protocol NCCL of a version would take: its own tuning model with its own idea of link
// speeds and step times, which is not how long things take. The planner asks it and times the answer with
// measured costs (costs.hpp). Plain numbers in, no machine.
//
// Sources: NVIDIA/nccl at v2.4.8-1 (src/enqueue.cc getKernelInfo, src/init.cc ncclTreeThreshold), v2.7.8-1,
// v2.12.10-1 and v2.30.7-1 (src/graph/tuning.cc ncclTopoTuneModel and ncclTopoGetAlgoTime). Left out:
// CollNet, NVLS and PAT, which need switches that compute, or one GPU per node.

#include "collectives/algorithm.hpp"
#include "collectives/costs.hpp"
#include "collectives/nccl.hpp"
#include "collectives/operation.hpp"
#include "platform/path_type.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

enum class CpuVendor { intel, amd, power };

/// The vendor of a CPU by its model's name; Intel when nothing else is said.
CpuVendor cpu_vendor(std::string_view model);

/// What NCCL knows when it chooses.
struct NcclShape {
  NcclVersion version = NcclVersion::v2_7_8;  ///< not none
  Operation operation{};                      ///< not all_to_all or send_recv, of which there is one way only
  int ranks = 0;
  int nodes = 1;
  int channels = 1;             ///< rings, as NCCL counts them (nccl_channels)
  Bandwidth inside{};           ///< of one channel in a node; of rings on several nodes not used
  Bandwidth between{};          ///< of one channel between nodes; not used on one node
  PathType worst_inside{};      ///< between neighbours in a node; a chain without a ring counts as PCIe
  PathType worst_to_nic{};      ///< between a GPU and its NIC; not used on one node
  bool same_order = true;       ///< all rings visit the ranks in one order, as through an NVSwitch
  int compute_capability = 70;  ///< of the oldest GPU: 70 is a V100
  CpuVendor cpu = CpuVendor::intel;
};

struct NcclChoice {
  Algorithm algorithm{};  ///< ring or tree
  Protocol protocol{};
  friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};

/// What NCCL takes for `size` (as nccl-tests counts it); of one algorithm alone if that was demanded
/// (NCCL_ALGO): ring or tree.
NcclChoice nccl_choice(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded = {});

/// How long NCCL believes that a choice takes; none where it would not consider it: trees of anything but
/// all_reduce, LL128 beside anything but NVLink inside nodes and PCIe switches to the NIC, all of
/// version 2.4, which compares sizes and not times.
std::optional<Seconds> nccl_time(const NcclShape& shape, NcclChoice choice, Bytes size);

/// Channels NCCL makes of rings in the link graph, and the bandwidth it believes each to have.
struct NcclChannels {
  int count = 0;
  Bandwidth each;
};

/// Of `rings` of one lane each over NVLink, or of rings over PCIe (16 lanes of generation 3 up to generation
/// 5) or between sockets. Versions before 2.12 make two of every NVLink ring within one node. Sources:
/// src/graph/topo.h and the end of ncclTopoCompute in src/graph/search.cc, each version; NCCL_MAX_CHANNELS is
/// left out.
NcclChannels nccl_channels(NcclVersion version, int rings, PathType path, int compute_capability,
                           int nodes = 1);

}  // namespace trainyard
