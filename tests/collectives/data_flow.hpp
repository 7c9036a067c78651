#pragma once
// The contributions in every message of a plan, followed message by message: this distinguishes a collective
// from a pattern of transfers that merely costs the same.

#include "collectives/collective.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

namespace trainyard {

/// How often each rank's contribution is in a piece of data.
using Contributions = std::vector<int>;

inline Contributions only_of(int rank, int ranks) {
  Contributions data(at(ranks), 0);
  data[at(rank)] = 1;
  return data;
}

inline void add_to(Contributions& sum, const Contributions& other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

inline bool has_each_once(const Contributions& data) {
  return std::ranges::all_of(data, [](int times) { return times == 1; });
}

/// Edges [first, first + count) of a chunked phase for one chunk: an edge sends the sum of the data it passes
/// on and, if the operation sums and it is not included yet, of its sender's own data; a source sends its
/// own. Empty if an edge passes on one that ends elsewhere or comes later.
inline std::vector<Contributions> carried_by(const Pattern& pattern, std::size_t first, std::size_t count,
                                             int ranks, bool adds_up) {
  std::vector<Contributions> carried;
  for (std::size_t e = first; e < first + count; ++e) {
    const Pattern::Edge& edge = pattern.edges[e];
    Contributions data(at(ranks), 0);
    for (const std::int32_t before : pattern.passed_on_by(e)) {
      const std::size_t b = at(before);
      if (b < first || b >= e || pattern.edges[b].to != edge.from) return {};
      add_to(data, carried[b - first]);
    }
    const std::size_t own = at(index(edge.from));
    const bool is_source = pattern.passed_on_by(e).empty();
    if (is_source || (adds_up && data[own] == 0)) data[own] += 1;
    carried.push_back(std::move(data));
  }
  return carried;
}

/// Whether a chunked phase of `trees` trees with equally many edges carries out the operation: every rank
/// gets the root's data once, or the sum with each rank's data once.
inline bool tree_delivers(const Pattern& pattern, std::size_t trees, Operation operation, int ranks,
                          int root) {
  const std::size_t count = pattern.edges.size() / trees;
  if (count * trees != pattern.edges.size()) return false;
  for (std::size_t tree = 0; tree < trees; ++tree) {
    const std::size_t first = tree * count;
    const auto carried = carried_by(pattern, first, count, ranks, reduces(operation));
    if (carried.size() != count) return false;
    int results = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      Contributions sum = only_of(rank, ranks);
      int totals = 0;    // messages with the sum of all
      int received = 0;  // messages of any kind
      for (std::size_t e = first; e < first + count; ++e) {
        if (index(pattern.edges[e].to) != rank) continue;
        ++received;
        if (operation == Operation::broadcast) {
          totals += carried[e - first] == only_of(root, ranks) ? 1 : 0;
        } else if (carried[e - first][at(rank)] > 0) {
          totals += has_each_once(carried[e - first]) ? 1 : 100;
        } else {
          add_to(sum, carried[e - first]);
        }
      }
      const bool has_it = operation == Operation::broadcast ? totals == 1 && received == 1
                                                            : totals == 1 || has_each_once(sum);
      if (totals > 1) return false;
      if (operation == Operation::broadcast && rank == root ? received > 0 : false) return false;
      if (operation == Operation::reduce && rank == root && !has_it) return false;
      if (has_it || (operation == Operation::broadcast && rank == root)) ++results;
    }
    if (operation != Operation::reduce && results != ranks) return false;
  }
  return true;
}

/// The complete parts of the buffer on each rank after the rounds of a ring over the edges [first, first +
/// n): part i is the one that the edge's first sender, at place i, sends first.
inline std::vector<std::set<int>> parts_after_ring(const Pattern& pattern, std::size_t first, int n,
                                                   int messages, bool adds_up) {
  struct Piece {
    int part;
    std::set<int> places;  // places whose contributions are in it
  };
  std::vector<std::set<int>> has(at(n));
  if (!adds_up) {
    for (int place = 0; place < n; ++place) has[at(place)].insert(place);
  }
  std::vector<Piece> sent;
  for (int place = 0; place < n; ++place) sent.push_back({place, {place}});
  for (int message = 0; message < messages; ++message) {
    std::vector<Piece> next(at(n));
    for (int place = 0; place < n; ++place) {
      const int receiver = (place + 1) % n;
      // the edge after this one passes on its data
      const auto passed_on = pattern.passed_on_by(first + at(receiver));
      if (passed_on.size() != 1 || at(passed_on[0]) != first + at(place)) return {};
      if (pattern.edges[first + at(place)].to != pattern.edges[first + at(receiver)].from) return {};
      Piece piece = sent[at(place)];
      if (adds_up) piece.places.insert(receiver);
      if (!adds_up || static_cast<int>(piece.places.size()) == n) has[at(receiver)].insert(piece.part);
      next[at(receiver)] = std::move(piece);
    }
    sent = std::move(next);
  }
  return has;
}

/// Ranks that exchange parts of their buffers in pairs, round by round.
class PartExchange {
public:
  /// If the operation sums, every rank has all parts of its own data; otherwise only its own part.
  PartExchange(int ranks, int parts, bool adds_up) : parts_(parts), adds_up_(adds_up) {
    for (int rank = 0; rank < ranks; ++rank) {
      data_.emplace_back(at(parts), Contributions(at(ranks), 0));
      held_.push_back(adds_up ? Range{0, parts} : Range{rank, rank + 1});
      for (int part = 0; part < parts; ++part) {
        if (adds_up || part == rank) data_.back()[at(part)] = only_of(rank, ranks);
      }
    }
  }

  /// One round in which every edge carries `share` of the buffer. Returns false if that is impossible.
  bool exchange(const Pattern& pattern, double share) {
    const auto count = static_cast<int>(std::lround(share * parts_));
    const std::vector<std::vector<Contributions>> before = data_;
    const std::vector<Range> held = held_;
    for (const Pattern::Edge& edge : pattern.edges) {
      const std::size_t from = at(index(edge.from));
      const std::size_t to = at(index(edge.to));
      const Range there = held[from];
      const int width = there.end - there.begin;
      if (2 * count == width && adds_up_ && !is_complete(before[from], there)) {
        // halving: the receiver keeps the half on its side
        if (held[to].begin != there.begin || held[to].end != there.end) return false;
        const int middle = there.begin + count;
        held_[to] = from < to ? Range{middle, there.end} : Range{there.begin, middle};
        for (int part = held_[to].begin; part < held_[to].end; ++part)
          add_to(data_[to][at(part)], before[from][at(part)]);
      } else if (count != width) {
        return false;
      } else if (is_complete(before[from], there)) {
        for (int part = there.begin; part < there.end; ++part) data_[to][at(part)] = before[from][at(part)];
        held_[to] = {std::min(held[to].begin, there.begin), std::max(held[to].end, there.end)};
      } else {
        for (int part = there.begin; part < there.end; ++part)
          add_to(data_[to][at(part)], before[from][at(part)]);
      }
    }
    return true;
  }

  /// Whether the rank's part `part` is the result of the operation.
  [[nodiscard]] bool has(int rank, int part) const {
    const Contributions& data = data_[at(rank)][at(part)];
    return adds_up_ ? has_each_once(data) : data == only_of(part, static_cast<int>(data.size()));
  }

private:
  struct Range {
    int begin;
    int end;
  };

  [[nodiscard]] bool is_complete(const std::vector<Contributions>& data, Range range) const {
    if (!adds_up_) return true;
    for (int part = range.begin; part < range.end; ++part) {
      if (!has_each_once(data[at(part)])) return false;
    }
    return true;
  }

  int parts_;
  bool adds_up_;
  std::vector<std::vector<Contributions>> data_;  ///< by rank and part
  std::vector<Range> held_;                       ///< by rank: the parts it has to provide
};

}  // namespace trainyard
