#pragma once
// A collective in the form the engine replays: phases, one after the other, each a repeated pattern of
// simultaneous transfers. Algorithms (one file each) turn an operation and a group of ranks into phases
// (plan.hpp). Does not depend on SimGrid.

#include "collectives/algorithm.hpp"
#include "collectives/axis.hpp"
#include "collectives/operation.hpp"
#include "collectives/protocol_overheads.hpp"
#include "platform/link_values.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// How often a pattern uses a link when each of its edges sends once.
struct LinkUse {
  LinkId link{};
  int times = 0;
};

struct Pattern;

/// Makes the pattern with its edges for one that holds only the sums of their link uses.
using EdgeSource = std::function<const Pattern&()>;

/// Which rank sends to which over which links. Stored flat: `links` of edge e are links[offsets[e] ..
/// offsets[e+1]), and the edges whose data it passes on are previous[previous_offsets[e] ..
/// previous_offsets[e+1]).
struct Pattern {
  struct Edge {
    Rank from{};
    Rank to{};
  };
  std::vector<Edge> edges;
  std::vector<std::uint32_t> offsets{0};
  std::vector<LinkId> links;
  std::vector<std::uint32_t> previous_offsets{0};
  std::vector<std::int32_t> previous;
  /// Instead of edges if these are too many to hold (every rank to every other) or end in switches that add:
  /// the sum of their link uses, links in ascending order, and the number of edges.
  std::vector<LinkUse> uses;
  std::int64_t summed_edges = 0;
  /// In place of `uses` for many ranks: how often each link of the cluster is used.
  LinkValues<int> counted;
  /// The edges of such a pattern, for those who need them; null if these are too many. Refers to the cluster.
  std::shared_ptr<const EdgeSource> source;

  /// `passes_on`: edges whose data this one forwards; empty: it sends the sender's own data.
  void add_edge(Edge edge, std::span<const LinkId> route, std::span<const std::int32_t> passes_on = {});
  [[nodiscard]] std::span<const LinkId> route(std::size_t edge) const;
  [[nodiscard]] std::span<const std::int32_t> passed_on_by(std::size_t edge) const;
  [[nodiscard]] std::int64_t edge_count() const;
};

/// The pattern with its edges; itself if it has them, or if they are too many.
const Pattern& with_edges(const Pattern& pattern);

/// How often each link is used, links in ascending order: by all edges of a pattern, or in a list.
std::vector<LinkUse> link_uses(const Pattern& pattern);
std::vector<LinkUse> link_uses(std::span<const LinkId> links);

/// One part of a collective. Two ways to repeat a pattern:
/// - in rounds (hops 0): message m of an edge starts when its message m-1 and those of the edges it passes
///   on have arrived, as in a ring;
/// - chunked (hops > 0): message m starts when message m of all edges it passes on has arrived; an
///   edge sends one after the other, and their latencies overlap, as chunks flow down a tree.
/// A rank begins a phase when all messages of the previous phase, to and from it, have arrived.
struct CollectivePhase {
  int pattern = -1;
  int messages = 0;  ///< per edge
  int hops = 0;      ///< if chunked: edges on its longest path
  Seconds latency;   ///< per message, with `sums`
  Seconds sums{};    ///< per message: the receiver adds it to its own data after it has arrived
  Bytes bytes;       ///< per message
  /// Upper limit on the rate of every edge: that of one connection. Chunked phases have one, at most the rate
  /// of an edge when all are busy, so that filling it cannot outrun it.
  Bandwidth limit{std::numeric_limits<double>::infinity()};
};

/// A collective's place in a step, for reports. The engine reads only its name, for messages.
struct CollectiveLabel {
  std::string name;        ///< "bucket 0", "parameters 0"
  std::string purpose;     ///< the data sent: "gradients", "parameters", "buffers", "buckets" of a trace
  Axis axis = Axis::all;   ///< whose groups take part
  bool of_layers = false;  ///< sends values of layers that ranks divide, not gradients or parameters
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  int tensors = 0;
  int ready_op = -1;   ///< index of the op in the trace whose end completes the data; -1: ready at the
                       ///< beginning
  std::string held;    ///< the host's work before it: "cycle", "negotiation"
  std::string before;  ///< the kernels on the communication stream before it
  std::string after;   ///< and after it
  Seconds bound;       ///< no algorithm on this network is faster
};

struct Collective {
  Operation operation{};
  Bytes size;            ///< as nccl-tests counts it (operation.hpp)
  int participants = 0;  ///< ranks that meet in it, those of all groups
  int group_size = 0;    ///< ranks of one group: those that exchange data
  int groups = 1;        ///< groups whose edges are in the patterns
  bool one_way = false;  ///< send_recv from the first rank of each group of two to the second
  int rounds = 1;        ///< times that the ranks meet in it in a step
  Seconds overhead;      ///< once, before the first message
  std::vector<CollectivePhase> phases;
  CollectiveLabel label = {};
};

/// The rate of every edge of a pattern when all of them send at once and nothing else uses the network: the
/// smallest capacity / times of its links (infinite for a pattern without links). `uses` are the pattern's
/// link_uses().
Bandwidth lockstep_rate(std::span<const LinkUse> uses, const LinkValues<Bandwidth>& capacities);

/// The link uses of a pattern: a list, or a reference to the pattern's own counts.
struct LinkUses {
  std::vector<LinkUse> listed = {};
  const LinkValues<int>* counted = nullptr;  ///< in place of the list; of a pattern, which must outlive this
};

LinkUses uses_of(const Pattern& pattern);

/// Calls `act(link, times, capacity, number)` for the used links, where `number` of them are alike and `link`
/// is the first of these. The first link of all comes first.
template <class Act>
void for_each_use(const LinkUses& uses, const LinkValues<Bandwidth>& capacities, Act act) {
  for (const LinkUse& use : uses.listed) act(use.link, use.times, capacities[index(use.link)], 1U);
  if (uses.counted == nullptr) return;
  uses.counted->for_each_part_with(
      capacities, [&](std::uint32_t link, std::span<const int> times, std::span<const Bandwidth> of_links,
                      std::uint32_t number) {
        for (std::size_t i = 0; i < times.size(); ++i, ++link) {
          if (times[i] > 0) act(LinkId{link}, times[i], of_links[i], number);
        }
      });
}

Bandwidth lockstep_rate(const LinkUses& uses, const LinkValues<Bandwidth>& capacities);
bool share_links(const LinkUses& one, const LinkUses& other);
/// The sum of all uses.
double total_uses(const LinkUses& uses);

/// Time of a phase alone on the network, at the rate of its edges (including the phase's limit): in rounds
/// messages x (latency + bytes / rate), chunked hops x latency + (messages + hops - 1) x bytes /
/// rate, since its last edge begins hops - 1 messages late.
Seconds closed_form(const CollectivePhase& phase, Bandwidth rate);

/// How long a collective takes when nothing else is sent. `rate_of`: the rate of a pattern's edges, by its
/// number.
template <class RateOf>
Seconds time_alone(const Collective& collective, RateOf rate_of) {
  Seconds time = collective.overhead;
  for (const CollectivePhase& phase : collective.phases)
    time += closed_form(phase, std::min(rate_of(phase.pattern), phase.limit));
  return time;
}

/// Bytes carried by all edges of a phase together.
Bytes bytes_sent(const CollectivePhase& phase, const Pattern& pattern);

}  // namespace trainyard
