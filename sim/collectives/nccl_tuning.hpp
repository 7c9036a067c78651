#pragma once
// The algorithm and protocol that a version of NCCL would choose: its own tuning model with its own
// assumptions on link speeds and step times, which differ from real ones. The planner follows the choice and
// times it with measured costs (protocol_overheads.hpp). The input is plain numbers, not a machine.
//
// Sources: NVIDIA/nccl at v2.4.8-1 (src/enqueue.cc getKernelInfo, src/init.cc ncclTreeThreshold), v2.7.8-1,
// v2.12.10-1 and from v2.22.3-1 to v2.30.7-1 (src/graph/tuning.cc ncclTopoTuneModel and ncclTopoGetAlgoTime).
// Left out: CollNet, NVLS over several nodes and PAT, which need network switches that add, or one GPU per
// node.

#include "collectives/algorithm.hpp"
#include "collectives/nccl.hpp"
#include "collectives/operation.hpp"
#include "collectives/protocol_overheads.hpp"
#include "platform/path_type.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

enum class CpuVendor { intel, amd, power };

/// The vendor of a CPU from its model's name; Intel by default.
CpuVendor cpu_vendor(std::string_view model);

/// NCCL's knowledge when it chooses.
struct NcclShape {
  NcclVersion version = NcclVersion::v2_7_8;  ///< not none
  bool is_rccl = false;                       ///< RCCL chooses, by its own tables (rccl_tuning.hpp)
  Operation operation{};                      ///< not one that only `direct` carries out
  int ranks = 0;
  int nodes = 1;
  int channels = 1;             ///< rings, as NCCL counts them (nccl_channels)
  Bandwidth inside{};           ///< per channel inside a node; unused for rings over several nodes
  Bandwidth between{};          ///< per channel between nodes; unused on one node
  int switch_lanes = 0;         ///< of a GPU to an NVSwitch that adds; 0 if none does
  PathType worst_inside{};      ///< between neighbours in a node; PCIe if there is only a chain
  PathType worst_to_nic{};      ///< between a GPU and its NIC; unused on one node
  bool same_order = true;       ///< all rings visit the ranks in the same order, as through an NVSwitch
  int compute_capability = 70;  ///< of the oldest GPU: 70 is a V100
  CpuVendor cpu = CpuVendor::intel;
};

struct NcclChoice {
  Algorithm algorithm{};  ///< ring, tree or nvls; of RCCL also direct
  Protocol protocol{};
  friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};

/// The heads of NVLS in one node (nvls.hpp): ranks that add, all of them but at most 32. Source: NVIDIA/nccl
/// src/graph/search.cc v2.30.7-1, NCCL_MAX_NVLS_ARITY.
constexpr int nvls_heads(int ranks) { return ranks < 32 ? ranks : 32; }

/// NCCL's choice for `size` (as nccl-tests counts it). `demanded` (NCCL_ALGO): only this algorithm, ring or
/// tree.
NcclChoice nccl_choice(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded = {});

/// NCCL's estimate of the time of a choice; empty if NCCL would not consider it: trees for other operations
/// than all_reduce, NVLS unless an NVSwitch adds the data of GPUs of the Hopper generation or later (its
/// all_gather and reduce_scatter through the switch are left out: rings are always faster by its estimate),
/// LL128 unless links are NVLink inside nodes and PCIe switches to the NIC, and everything
/// in version 2.4, which compares sizes, not times.
std::optional<Seconds> nccl_time(const NcclShape& shape, NcclChoice choice, Bytes size);

/// The protocol of point-to-point messages of this size, also those of an all-to-all: LL up to 16 KiB,
/// in 2.22 to 2.28 up to 16 KiB for each of the `channels` that a message may take (channels_per_pair()),
/// else Simple. Only the tables of 2.27 and later, which stand for 2.18 and newer, have LL: NCCL introduced
/// it in 2.14, but its versions before 2.18 have the tables of 2.12, where it did not exist.
/// Source: NVIDIA/nccl src/enqueue.cc from v2.14.3-1 to v2.30.7-1, P2P_LL_THRESHOLD.
Protocol nccl_message_protocol(NcclVersion version, Bytes message, int channels);

/// Whether the limit of LL is per channel (2.22 to 2.28). Since 2.29 it is per channel that Simple would
/// take, which is one for messages of this size.
bool ll_counts_channels(NcclVersion version);

/// The smallest part of a message for which NCCL takes another channel in one node: an eighth of a step of
/// Simple's buffer, where ll_counts_channels() of the protocol's buffer. Source: minPartSize in addP2pToPlan,
/// src/enqueue.cc, v2.22.3-1 to v2.30.7-1; calcP2pChunkSize in v2.18.1-1.
Bytes nccl_least_part(NcclVersion version, Protocol protocol);

/// Channels that NCCL makes from rings in the link graph, and the bandwidth it assumes for each.
struct NcclChannels {
  int count = 0;
  Bandwidth each;
};

/// `rings`: one lane each over NVLink, or over PCIe (16 lanes of generation 3 up to generation 5) or between
/// sockets. Over NVLinks of Hopper and Blackwell in one node, the search (read from 2.22 on) takes fewer,
/// faster channels than lanes and divides them in two: 12 of 30 GB/s of an H100's 18 lanes, 16 of 45 GB/s of
/// a B200's. Versions before 2.12 make two channels of every NVLink ring within one node. Sources:
/// src/graph/topo.h and the end of ncclTopoCompute in src/graph/search.cc (and ncclTopoDupChannels), each
/// version; NCCL_MAX_CHANNELS is left out. RCCL counts 48 GB/s of each xGMI link (ROCm/rccl src/graph/topo.h,
/// GFX94X_XGMI_WIDTH).
NcclChannels nccl_channels(NcclVersion version, int rings, PathType path, int compute_capability,
                           int nodes = 1);

}  // namespace trainyard
