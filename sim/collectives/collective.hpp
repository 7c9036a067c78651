#pragma once
// A collective as the engine sees it: a pattern of simultaneous transfers, repeated for a number of lock-step
// rounds. Algorithms (one file each) turn an operation, a size and channels into this; nothing here knows
// SimGrid.

#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard {

/// Who sends to whom over which links in one round. Edges are stored flat: `links` of edge e are
/// links[offsets[e] .. offsets[e+1]).
struct Pattern {
  struct Edge {
    Rank from{};
    Rank to{};
    int previous = -1;  ///< the edge of the round before whose data this one passes on; -1: the sender's own
  };
  std::vector<Edge> edges;
  std::vector<std::uint32_t> offsets{0};
  std::vector<LinkId> links;
  /// No edge is faster than this, whatever its links let through: the rate of the one lane a channel takes.
  Bandwidth limit{std::numeric_limits<double>::infinity()};

  void add_edge(Edge edge, std::span<const LinkId> route);
  [[nodiscard]] std::span<const LinkId> route(std::size_t edge) const;
};

/// How often a pattern uses each link in one round, links in ascending order.
struct LinkUse {
  LinkId link{};
  int times = 0;
};
std::vector<LinkUse> link_uses(const Pattern& pattern);

enum class Operation { all_reduce };

/// A number of identical rounds of one pattern: in each, every edge carries `bytes` after `latency`; a round
/// of an edge starts when its own last round and that of its `previous` edge are done.
struct Collective {
  Operation operation{};
  Bytes size;        ///< one rank's buffer
  Seconds overhead;  ///< once, before the first round
  int pattern = -1;
  int rounds = 0;
  Seconds latency;  ///< of each round
  Bytes bytes;      ///< of each edge in each round
};

/// What every edge of a pattern gets when all of them advance together and nothing else uses the network:
/// the smallest capacity / times of its links, at most the pattern's limit (infinite for a pattern without
/// either). `uses` are the pattern's link_uses().
Bandwidth lockstep_rate(const Pattern& pattern, std::span<const LinkUse> uses,
                        std::span<const Bandwidth> capacities);

/// Time of a collective that has the network for itself: overhead + rounds x (latency + bytes / lockstep rate
/// of its pattern), the alpha-beta model.
Seconds closed_form(const Collective& collective, Bandwidth lockstep_rate);

/// Bytes that all edges of all rounds carry together.
Bytes bytes_sent(const Collective& collective, const Pattern& pattern);

}  // namespace trainyard
