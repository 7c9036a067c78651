#pragma once
// How one algorithm with one protocol carries out an operation, independent of the size: patterns of edges
// and the phases that use them. Algorithms (algorithm_plans.hpp, ring.hpp) make it; collective() turns it and
// a size into the engine's input.

#include "collectives/algorithm.hpp"
#include "collectives/collective.hpp"
#include "collectives/message_channels.hpp"
#include "collectives/protocol_overheads.hpp"
#include "collectives/turns.hpp"
#include "platform/cluster.hpp"
#include "units/ids.hpp"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Whether patterns hold their edges, or count them where they can (edge_counter.hpp): for many ranks, or
/// always.
enum class PatternEdges { by_ranks, listed, counted };

/// A requested collective without its size.
struct CollectiveRequest {
  Operation operation{};
  std::vector<Rank> group;  ///< participants, ascending
  Rank root{};              ///< for broadcast and reduce
  Protocol protocol = Protocol::simple;
  /// Groups that carry out the same operation at the same time, with as many ranks each: rank i of a group
  /// acts as rank i of `group`. All algorithms but `direct` need groups that are alike
  /// (group_kinds.hpp).
  std::span<const std::vector<Rank>> concurrent = {};
  /// send_recv: the group is two ranks in any order, and only the first one sends.
  bool one_way = false;
  std::optional<TorusGrid> grid = {};  ///< for torus2d; empty: torus_grid() (torus2d.hpp)
  bool keeps_paces = false;            ///< the plan is to be united with others (unite.hpp)
  PatternEdges edges = PatternEdges::by_ranks;
};

/// A phase (collective.hpp) before the size is known.
struct PhasePlan {
  int pattern = -1;  ///< index in the plan's patterns
  int messages = 0;  ///< per edge, in rounds; if chunked the number depends on the size
  double share = 0;  ///< part of the size: per message in rounds, per edge if chunked
  int hops = 0;      ///< if chunked: edges on its longest path
  /// If the number of rounds depends on the size: chunks of a round (nvls_rounds); `share` is that of all
  /// rounds.
  int chunks_at_once = 0;
  Seconds latency;  ///< per message
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  double startup = 0;             ///< extra cost of the first message, in messages' worth of bytes
  MessageChannels channels = {};  ///< in rounds: further limit on the rate of a message, by its size
  /// In rounds: mean rate at which receivers add messages to their own data once these have arrived.
  Bandwidth sums{std::numeric_limits<double>::infinity()};
  RingTurns ring_turns = {};  ///< in rounds between nodes
  TreeTurns tree_turns = {};  ///< if chunked, between nodes
};

/// The limits of the edges of a pattern below the rate of its links: PatternMaker::pace() before the minimum
/// over the edges, so that patterns can be united.
struct PatternPace {
  struct LinkPace {
    LinkId link{};
    int times = 0;          ///< edges over it
    double efficiency = 1;  ///< the smallest that one of them reaches
  };
  bool is_held = false;                                            ///< false: nothing does
  Bandwidth connections{std::numeric_limits<double>::infinity()};  ///< of the slowest connection
  std::vector<LinkPace> links = {};                                ///< ascending
};

struct CollectivePlan {
  Operation operation{};
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 1;
  int participants = 0;  ///< ranks of all groups
  int group_size = 0;
  int groups = 1;        ///< in the patterns
  bool one_way = false;  ///< as in CollectiveRequest
  Seconds overhead;
  std::vector<Pattern> patterns;
  std::vector<PhasePlan> phases;
  std::vector<std::string> notes;       ///< remarks for the reader of the result
  std::vector<PatternPace> paces = {};  ///< by pattern, if the request asks for them
};

/// The plan at a size. `first_pattern`: the index its first pattern has in the task graph.
Collective collective(const CollectivePlan& plan, Bytes size, int first_pattern);

/// A plan without phases, with the fields that all algorithms fill in the same way.
CollectivePlan new_plan(const ProtocolOverheads& overheads, const CollectiveRequest& request,
                        Algorithm algorithm, std::size_t channels = 1);

/// Number of chunks into which a chunked phase of `hops` edges cuts the bytes of each edge. Chunks are of 32
/// KiB, the smallest NCCL uses (NVIDIA/nccl src/enqueue.cc v2.7.8-1, trees with protocol Simple), but at most
/// 512, or 16 per edge of its longest path if that is more. NCCL's own chunks grow with the size up to 512
/// KiB; on the one published chain of five V100 (VIA-Research/vTrain) filling the chain takes no longer at 32
/// MiB than at 1 MiB, so chunks cannot be stored and forwarded whole. LL passes on 4 KiB, one round of
/// its 512 threads, and LL128 1920 bytes, one round of a warp, which waits for no other (NVIDIA/nccl
/// src/device/prims_ll.h, prims_ll128.h).
int chunk_count(Bytes carried, int hops, Protocol protocol = Protocol::simple);

/// Number of rounds in which NCCL's NVLS moves this size, with `chunks_at_once` chunks in each. Chunks are of
/// 128 KiB, for smaller sizes of 64, 32 or 16 KiB. Source: NVIDIA/nccl src/enqueue.cc v2.30.7-1.
int nvls_rounds(Bytes size, int chunks_at_once);

/// Makes a pattern edge by edge and keeps the edges' costs other than bytes. Edges are added for the first
/// group of a request; those of its other groups follow, group by group, when the first question about all
/// edges is asked.
class PatternMaker {
public:
  /// Keeps references to `cluster` and `overheads`.
  PatternMaker(const Cluster& cluster, const ProtocolOverheads& overheads, Protocol protocol)
      : cluster_(cluster), overheads_(overheads), protocol_(protocol) {}
  PatternMaker(const Cluster& cluster, const ProtocolOverheads&& overheads, Protocol protocol) = delete;
  /// Keeps a reference to the request as well.
  PatternMaker(const Cluster& cluster, const ProtocolOverheads& overheads, const CollectiveRequest& request)
      : cluster_(cluster), overheads_(overheads), protocol_(request.protocol), request_(&request) {}
  PatternMaker(const Cluster& cluster, const ProtocolOverheads& overheads,
               const CollectiveRequest&& request) = delete;

  /// Reserves memory for this many edges of the first group, and for those of the others.
  void reserve(std::size_t edges);
  /// Adds an edge over the path given by route() and returns its number. `passes_on` as Pattern::add_edge.
  int add(Rank from, Rank to, int nic = -1, std::span<const std::int32_t> passes_on = {});
  /// Limits the edge to one lane of each link inside a node.
  void hold_to_one_lane(int edge);

  [[nodiscard]] Seconds latency(int edge) const { return latencies_[static_cast<std::size_t>(edge)]; }
  [[nodiscard]] Seconds largest_latency();
  /// The largest mean latency of `edges` consecutive edges, in groups counted from the first edge.
  [[nodiscard]] Seconds largest_mean_latency(std::size_t edges);
  /// The rate of the slowest edge when all send at once, including the limits of single connections and the
  /// protocol's efficiency: the pace of a chunked phase. `flows_per_edge`: connections that share an edge
  /// between nodes.
  [[nodiscard]] Bandwidth pace(double flows_per_edge = 1);
  /// pace() if anything keeps edges below the rate of their links, otherwise infinite: for rounds.
  [[nodiscard]] Bandwidth limit(double flows_per_edge = 1);
  /// The pace by link, for patterns that are to be united. Empty if the request does not ask for it.
  [[nodiscard]] std::optional<PatternPace> pattern_pace(double flows_per_edge = 1);
  /// The largest startup of the edges.
  [[nodiscard]] double startup();
  /// The longest path of the pattern: its number of edges, and the latency of the slowest path.
  struct Path {
    int edges = 0;
    Seconds latency;
  };
  [[nodiscard]] Path longest_path();

  /// The edges so far, before those of other groups.
  [[nodiscard]] const Pattern& pattern() const { return pattern_; }
  /// Moves the pattern out; the maker cannot be used afterwards.
  Pattern take();

private:
  /// Adds the edges of the request's other groups, once. NVLinks then take no longer steps than the slower
  /// paths that they wait for.
  void complete();
  void add_other_groups();
  /// Whether anything keeps edges below the rate of their links.
  [[nodiscard]] bool is_held() const;

  const Cluster& cluster_;
  const ProtocolOverheads& overheads_;
  Protocol protocol_;
  const CollectiveRequest* request_ = nullptr;
  bool is_complete_ = false;
  Pattern pattern_;
  std::optional<PathType> slower_;  ///< the worst path inside nodes that is no NVLink
  // by edge
  std::vector<PathType> types_;
  std::vector<Seconds> latencies_;
  std::vector<Bandwidth> limits_;
  // by edge of the first group
  std::vector<int> nics_;
  std::vector<bool> is_one_lane_;
};

/// The ranks of a group on one node.
struct NodeShare {
  NodeId node{};
  std::span<const Rank> ranks;
};

/// Nodes ascending; spans into `group`.
std::vector<NodeShare> node_shares(const Cluster& cluster, std::span<const Rank> group);

/// The number of nodes with ranks of the group.
std::size_t node_count(const Cluster& cluster, std::span<const Rank> group);

/// Numbers of the ranks' GPUs in their node.
std::vector<int> gpus_of(const Cluster& cluster, NodeId node, std::span<const Rank> ranks);

/// Connections that share the traffic of one of `channels` channels between two nodes: each GPU of a node has
/// its own.
double flows_per_channel(const Cluster& cluster, std::span<const Rank> group, std::size_t channels);

/// A phase of `messages` rounds, each carrying `share` of the size; `maker` (also an EdgeCounter) gives up
/// its pattern to the plan.
void add_rounds(CollectivePlan& plan, PatternMaker& maker, int messages, double share, Seconds latency,
                double flows_per_edge = 1);

/// In the last phase a rank adds data to its own (ProtocolOverheads::sums): `part` messages, on average, for
/// each that an edge carries. A chunked phase receives meanwhile, and so do libraries with `sums_beside`:
/// their edges are no faster than sums.
void add_sums(CollectivePlan& plan, const ProtocolOverheads& overheads, double part);

/// The part of a ring's messages that are sums: half of those of an all_reduce, all of a reduce_scatter's.
double summed_part(Operation operation);

/// Limits the first `messages` rounds of the plan's only phase to `limit`.
void slow_down(CollectivePlan& plan, int messages, Bandwidth limit);

/// Gives the last phase, rounds of rings of which `part` of the edges lead between nodes, the turns of NCCL's
/// channels there. `rate`: of an edge when all send (pace()); `rings`: that divide the size.
void add_turns(CollectivePlan& plan, const ProtocolOverheads& overheads, Bandwidth rate, double part,
               int rings);

/// The same for the last phase of a tree over `nodes` with `ranks`.
void add_tree_turns(CollectivePlan& plan, const ProtocolOverheads& overheads, int nodes, int ranks,
                    int rings);

/// The costs with the latency of a tree's messages between nodes.
ProtocolOverheads for_trees(const ProtocolOverheads& overheads);

/// Repeats phase number `phase`: rounds over the same pattern, without sums.
void repeat_rounds(CollectivePlan& plan, std::size_t phase);

/// A phase whose edges carry `share` of the size each, in chunks, along the paths formed by the pattern's
/// edges that pass data on.
void add_chunked(CollectivePlan& plan, PatternMaker& maker, double share, double flows_per_edge = 1);

/// The phases of these two, of the pattern that the plan gets next, listed or counted. `startup`: of the
/// plan's first message.
PhasePlan rounds_phase(const CollectivePlan& plan, int messages, double share, Seconds latency,
                       Bandwidth limit, double startup);
PhasePlan chunked_phase(const CollectivePlan& plan, const PatternMaker::Path& longest, double share,
                        Bandwidth limit);

}  // namespace trainyard
