#pragma once
// ProtocolOverheads that software adds to a transfer besides bytes over bandwidth, by protocol and medium of
// the edge. Values, not formulas: the same algorithms run without costs (the wire's alpha-beta model) and
// with constants calibrated on published curves (platforms/protocols/nccl.yaml).

#include "config/keys.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace trainyard {

/// NCCL's ways to move data: a flag with every word (ll) or every 128 bytes (ll128), or whole chunks with a
/// handshake each (simple). Latency and bandwidth grow in this order.
enum class Protocol { ll, ll128, simple };
constexpr int protocols = 3;

template <class T>
using ByProtocol = std::array<T, protocols>;

/// Messages between all pairs of GPUs in one NVLink domain (message_channels.hpp), with LL and Simple.
struct PairOverheads {
  Seconds base_ll, base_simple;          ///< before the first message
  Bandwidth channel_ll, channel_simple;  ///< rate of one channel
  double efficiency = 1;  ///< fraction of the links' rate that all pairs together reach with Simple
  double startup = 0;     ///< extra cost of a channel's first chunk, in chunks' worth of bytes
  Bytes least_part_ll, least_part_simple;  ///< of a message on one channel: nccl_least_part()
};

/// All-reduces of RCCL that send between all pairs of GPUs (rccl_tuning.hpp), by protocol.
struct AllPairsOverheads {
  ByProtocol<Seconds> step{};       ///< per phase: parts to their ranks, sums to all
  ByProtocol<double> efficiency{};  ///< fraction of the links' rate
};

/// NCCL's channels between nodes (turns.hpp).
struct BetweenOverheads {
  ByProtocol<Seconds> turn{};       ///< of a channel per step of a ring, besides its bytes
  ByProtocol<Seconds> tree_step{};  ///< per message of a tree, in addition to the wire's latency
  ByProtocol<Seconds> chunk{};      ///< of a channel per chunk of a tree over more than two nodes; 0: none
  ByProtocol<Bandwidth> channel{};  ///< rate of one channel in such a tree
  double of_two = 1;                ///< part of both times on two nodes, where no rank has two children
  Seconds base = {};                ///< of messages between all pairs of ranks
  Seconds peer = {};                ///< per rank on another node, of such messages
  double efficiency = 1;            ///< fraction of the network's rate that such messages reach
  double nic = 0;                   ///< GB/s that NCCL counts
  int compute_capability = 0;       ///< at least, by the generation of NVLink
};

struct ProtocolOverheads {
  ByProtocol<Seconds> base{};  ///< once per collective
  std::array<ByProtocol<Seconds>, path_types>
      step{};  ///< per message, in addition to the wire's latency or instead of it
  std::array<ByProtocol<double>, path_types>
      efficiency{};                          ///< fraction of the links' rate reached; 0: all of it
  std::array<double, path_types> startup{};  ///< extra cost of the first message, in messages' worth of bytes
  Seconds nvls_step;                   ///< per round of NVSwitches that add, instead of the wire's latency
  double nvls_efficiency = 1;          ///< fraction of the links' rate that these reach
  std::optional<PairOverheads> pairs;  ///< of the fastest NVLinks
  std::optional<AllPairsOverheads> all_pairs;  ///< of xGMI
  std::optional<BetweenOverheads> between;     ///< networks with measured turns
  Seconds launch;  ///< per GPU driven by one process: a lower limit on the time of a collective there
  /// At which a rank adds a message to its own data once it has arrived; infinite: meanwhile, as NCCL does.
  Bandwidth sums{std::numeric_limits<double>::infinity()};
  bool sums_beside = false;  ///< the rank adds one part of a message while it receives the next
};

/// Only the wire.
inline ProtocolOverheads no_overheads() { return {}; }

/// Latency of one message of an edge: between nodes the software's step plus the wire's latency (NCCL's own
/// rule), inside a node the step instead of it, plus the latency of links beyond usual_latency(); the wire's
/// latency if there is no step.
Seconds message_latency(const RouteSummary& route, const ProtocolOverheads& overheads, Protocol protocol);

/// A note for the reader of a result if the latency of some link between GPUs of the group is below
/// usual_latency() and so has no effect; otherwise nothing.
std::optional<std::string> note_on_latencies(const Cluster& cluster, const ProtocolOverheads& overheads,
                                             std::span<const Rank> group);

/// Keeps the worst path inside nodes that is no NVLink, for a pattern whose edges are looked at one by one.
void take_slower(std::optional<PathType>& slower, PathType type);

/// Fraction of its links' rate that an edge of this type reaches. `slower`: of the same pattern, as
/// take_slower() finds it. NVLinks are then no worse than that path: NCCL plans a ring by its worst path, and
/// without the NVLinks all of it would be such a path.
double efficiency(PathType type, std::optional<PathType> slower, const ProtocolOverheads& overheads,
                  Protocol protocol);

/// The extra cost of the first message over an edge of this type, with `slower` as above: NVLinks that wait
/// for other paths hide their own.
double startup(PathType type, std::optional<PathType> slower, const ProtocolOverheads& overheads);

/// Whether an edge of a ring takes as long as the slowest of these. If the software has measured steps, every
/// step over PCIe does: DeepBench's rings of four and eight GPUs over mixed paths cost the slowest path's
/// step at every edge.
bool keeps_pace(PathType type, const ProtocolOverheads& overheads, Protocol protocol);

/// The time nccl-tests measures if one process starts the collective on several GPUs in turn: at least the
/// longer of the two, and a little more if both are similar: the sixth root of the sum of sixth powers.
Seconds with_launches(Seconds time, Seconds launches);

namespace config {

template <>
struct Names<Protocol> {
  static constexpr std::string_view what = "protocol";
  static constexpr std::array table{Name{"LL", Protocol::ll, "one flag per 4 bytes"},
                                    Name{"LL128", Protocol::ll128, "one flag per 128 bytes"},
                                    Name{"Simple", Protocol::simple, "whole chunks with a handshake"}};
};

}  // namespace config
}  // namespace trainyard
