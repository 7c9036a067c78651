#pragma once
// Counts the edges of a pattern over all ranks of a cluster whose nodes are alike, and keeps none: how often
// each link is used, and the figures that PatternMaker has of unordered edges. A pattern over a million
// ranks then takes as long as its edges between nodes, and as much memory as its kinds of nodes.

#include "collectives/plan.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace trainyard {

/// Groups up to this size have patterns of edges.
constexpr std::size_t most_ranks_listed = 256;

/// Whether a request's patterns can be counted: all ranks of alike nodes, more than can be listed, on several
/// nodes.
bool can_count(const Cluster& cluster, const CollectiveRequest& request);

class EdgeCounter {
public:
  /// Keeps references to `cluster` and `overheads`. All nodes have equally many ranks.
  EdgeCounter(const Cluster& cluster, const ProtocolOverheads& overheads, Protocol protocol);
  EdgeCounter(const Cluster& cluster, const ProtocolOverheads&& overheads, Protocol protocol) = delete;

  /// An edge without its links.
  struct Edge {
    Seconds latency;
    PathType type = best_path;
  };

  /// Adds an edge, over the path given by route().
  Edge add(Rank from, Rank to, int nic = -1);
  /// Adds the edge between two GPUs of a node, `times` on every node.
  Edge add_on_all(int from_gpu, int to_gpu, int times = 1);
  /// Takes one of these away again, on one node.
  void remove(int node, int from_gpu, int to_gpu);
  /// Adds the edge between two GPUs of different nodes.
  Edge add_between(int from_node, int from_gpu, int to_node, int to_gpu, int nic);

  [[nodiscard]] Seconds largest_latency() const { return largest_latency_; }
  /// As PatternMaker::pace() and the like.
  [[nodiscard]] Bandwidth pace(double flows_per_edge = 1);
  [[nodiscard]] Bandwidth limit(double flows_per_edge = 1);
  [[nodiscard]] double startup() const;
  /// Whether the edge takes as long as the slowest of its ring (PatternMaker::largest_mean_latency()).
  [[nodiscard]] bool keeps_pace(const Edge& edge) const;

  /// The pattern with the counts; the counter cannot be used afterwards.
  Pattern take();

private:
  /// Links in a node that edges use together, and how many such edges each node has.
  struct Part {
    std::vector<std::uint32_t> links;  ///< by number in the node
    PathType type = best_path;
    int on_all = 0;
    std::vector<int> on_node = {};  ///< besides those; empty: none
  };
  /// An edge between two GPUs of a node, or of two nodes.
  struct Kind {
    int out = -1;  ///< the part in the sender's node
    int in = -1;   ///< in the receiver's node; -1: the edge stays in a node
    WayBetween way = {};
    Edge inside = {};
  };

  const Kind& kind(Rank from, Rank to, int nic);
  Kind made_kind(Rank from, Rank to, int nic, bool is_inside);
  [[nodiscard]] Rank rank_of(int node, int gpu) const { return Rank{node * per_node_ + gpu}; }
  int part(std::vector<std::uint32_t> links, PathType type);
  void count(int part, int node, int edges = 1);
  /// Takes the costs of an edge that do not depend on its ends into account.
  void note(const RouteSummary& way);
  void sum();
  void add_node_links(int node, int repeats);
  [[nodiscard]] bool are_alike(int node, int other) const;
  [[nodiscard]] bool is_held() const;

  const Cluster& cluster_;
  const ProtocolOverheads& overheads_;
  Protocol protocol_;
  std::optional<PathType> slower_;  ///< the worst path inside nodes that is no NVLink
  int per_node_;                    ///< ranks
  std::unique_ptr<RouteCounter> across_;
  /// By NIC, own_nics and the nearest one first; then inside nodes or between them, then by the GPUs of both
  /// ends.
  std::vector<std::vector<std::optional<Kind>>> kinds_;
  std::map<std::vector<std::uint32_t>, int> known_parts_;
  std::vector<Part> parts_;
  std::vector<bool> has_type_ = std::vector<bool>(path_types, false);
  std::vector<Bandwidth> limits_;  ///< by type: the lowest of single connections
  Seconds largest_latency_;
  std::int64_t edge_count_ = 0;
  // once all edges are there
  bool is_summed_ = false;
  LinkValues<int> times_;
  LinkValues<double> efficiencies_;  ///< by link: the least of its edges
};

/// The edges of a ring through the ranks, counted, and the mean latency of its edges.
class RingCounter {
public:
  explicit RingCounter(EdgeCounter& edges) : edges_(edges) {}

  void add(EdgeCounter::Edge edge) { ring_.push_back(edge); }
  /// All edges of a ring have been added: the mean counts if it is the largest so far.
  void end_ring();
  [[nodiscard]] Seconds largest_mean() const { return largest_; }

private:
  EdgeCounter& edges_;
  std::vector<EdgeCounter::Edge> ring_;
  Seconds largest_;
};

void add_rounds(CollectivePlan& plan, EdgeCounter& edges, int messages, double share, Seconds latency,
                double flows_per_edge = 1);

/// `way`: the longest path.
void add_chunked(CollectivePlan& plan, EdgeCounter& edges, PatternMaker::Path way, double share,
                 double flows_per_edge = 1);

/// Gives the plan's counted patterns the edges of `listed(request)`, the same plan with edges, for those who
/// ask. Keeps a reference to the cluster.
using ListedPlan = CollectivePlan (*)(const Cluster&, const ProtocolOverheads&, const CollectiveRequest&);
void add_sources(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                 const CollectiveRequest& request, ListedPlan listed);

}  // namespace trainyard
