#pragma once
// How an operation is carried out by one algorithm with one protocol, whatever its size: patterns of edges
// and the stages that use them. Algorithms (ring.hpp, tree.hpp ...) make it; collective() turns it and a size
// into what the engine replays.

#include "collectives/algorithm.hpp"
#include "collectives/collective.hpp"
#include "collectives/costs.hpp"
#include "platform/cluster.hpp"

#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// What is asked for, without its size.
struct CollectiveRequest {
  Operation operation{};
  std::vector<Rank> group;  ///< who takes part, ascending
  Rank root{};              ///< of broadcast and reduce
  Protocol protocol = Protocol::simple;
};

/// A stage (collective.hpp) before the size is known.
struct StagePlan {
  int pattern = -1;  ///< index in the plan's patterns
  int messages = 0;  ///< in rounds: messages of each edge. Of a pipeline they follow from the size
  double share = 0;  ///< of the size: in rounds what each message carries, of a pipeline each edge in all
  int depth = 0;     ///< of a pipeline
  Seconds latency;   ///< of each message
  Bandwidth limit{std::numeric_limits<double>::infinity()};
  double startup = 0;  ///< messages' worth of bytes that the first message costs more
};

struct CollectivePlan {
  Operation operation{};
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 1;
  int participants = 0;
  Seconds overhead;
  std::vector<Pattern> patterns;
  std::vector<StagePlan> stages;
  std::vector<std::string> notes;  ///< what a reader of the result should know
};

/// The plan at a size. `first_pattern`: the index its first pattern has in the task graph.
Collective collective(const CollectivePlan& plan, Bytes size, int first_pattern);

/// A plan without stages yet: what all algorithms fill in alike.
CollectivePlan new_plan(const Costs& costs, const CollectiveRequest& request, Algorithm algorithm,
                        std::size_t channels = 1);

/// Chunks into which a pipeline of `depth` edges cuts what each of its edges carries: of 32 KiB, the smallest
/// that NCCL takes (NVIDIA/nccl src/enqueue.cc v2.7.8-1, trees with protocol Simple), but at most 512, or 16
/// times the depth where that is more. NCCL's own chunks grow with the size up to 512 KiB; on the chain of
/// five V100 that has been published (VIA-Research/vTrain) filling the pipeline takes no longer at 32 MiB
/// than at 1 MiB, so they cannot be stored and forwarded whole. LL and LL128 pass on what has arrived of a
/// chunk, each warp for itself: 4 KiB is one round of LL's 512 threads (NVIDIA/nccl src/device/prims_ll.h,
/// prims_ll128.h).
int pipeline_chunks(Bytes carried, int depth, Protocol protocol = Protocol::simple);

/// Makes a pattern edge by edge and knows what its edges cost besides bytes.
class PatternMaker {
public:
  /// Keeps references to `cluster` and `costs`.
  PatternMaker(const Cluster& cluster, const Costs& costs, Protocol protocol)
      : cluster_(cluster), costs_(costs), protocol_(protocol) {}
  PatternMaker(const Cluster& cluster, const Costs&& costs, Protocol protocol) = delete;

  /// Room for so many edges.
  void reserve(std::size_t edges);
  /// Adds an edge over the way that route() gives and returns its number. `passes_on` as Pattern::add_edge.
  int add(Rank from, Rank to, int nic = -1, std::span<const std::int32_t> passes_on = {});
  /// Leaves the edge one lane of each link inside a node, whatever more the links have.
  void hold_to_one_lane(int edge);

  [[nodiscard]] Seconds latency(int edge) const { return latencies_[static_cast<std::size_t>(edge)]; }
  [[nodiscard]] Seconds largest_latency() const;
  /// The largest mean latency of `edges` edges that follow each other, counted from the first.
  [[nodiscard]] Seconds largest_mean_latency(std::size_t edges) const;
  /// The rate of the slowest edge when all send at once, after what a single connection reaches and what the
  /// protocol leaves of it: the pace of a pipeline. `flows_per_edge`: connections over which an edge between
  /// nodes is spread.
  [[nodiscard]] Bandwidth pace(double flows_per_edge = 1) const;
  /// The same where something holds edges below what their links let through, else infinite: for rounds.
  [[nodiscard]] Bandwidth limit(double flows_per_edge = 1) const;
  /// The largest start-up of its edges.
  [[nodiscard]] double startup() const;
  /// Of a pipeline: the edges of its longest way, and the latency of its slowest.
  struct Way {
    int edges = 0;
    Seconds latency;
  };
  [[nodiscard]] Way longest_way() const;

  [[nodiscard]] const Pattern& pattern() const { return pattern_; }
  /// Hands the pattern over; the maker is of no more use.
  Pattern take() { return std::move(pattern_); }

private:
  const Cluster& cluster_;
  const Costs& costs_;
  Protocol protocol_;
  Pattern pattern_;
  // by edge
  std::vector<PathType> types_;
  std::vector<Seconds> latencies_;
  std::vector<Bandwidth> limits_;
};

/// The ranks of a group that one node holds.
struct NodeShare {
  NodeId node{};
  std::span<const Rank> ranks;
};

/// Nodes ascending; spans into `group`.
std::vector<NodeShare> node_shares(const Cluster& cluster, std::span<const Rank> group);

/// Connections that share what one of `channels` channels sends between two nodes: every GPU of a node has
/// one of its own.
double flows_per_channel(const Cluster& cluster, std::span<const Rank> group, std::size_t channels);

/// A stage of `messages` rounds, each carrying `share` of the size; takes the maker's pattern into the plan.
void add_rounds(CollectivePlan& plan, PatternMaker& maker, int messages, double share, Seconds latency,
                double flows_per_edge = 1);

/// Stage number `stage` once more: rounds over the same pattern.
void repeat_rounds(CollectivePlan& plan, std::size_t stage);

/// A stage whose edges carry `share` of the size each, in chunks, down the ways that the pattern's edges make
/// by passing on.
void add_pipeline(CollectivePlan& plan, PatternMaker& maker, double share, double flows_per_edge = 1);

}  // namespace trainyard
