#pragma once
// The earliest of a fixed number of dates, each of which may change at any time: a winner tree, several times
// as fast as a calendar if every worker has one future event (Knuth, The Art of Computer Programming 3,
// 5.4.1).

#include "units/ids.hpp"

#include <bit>
#include <limits>
#include <vector>

namespace trainyard::engine {

class Tournament {
public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// All dates are `never` at first.
  explicit Tournament(int players) : leaves_(std::bit_ceil(at(players))), nodes_(2 * leaves_) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) nodes_[leaves_ + leaf].player = static_cast<int>(leaf);
    settle_all();
  }

  /// Takes effect after settle(player), or settle_all() after many changes.
  void set(int player, double date) { nodes_[leaves_ + at(player)].date = date; }
  void settle(int player) {
    std::size_t node = leaves_ + at(player);
    Node winner = nodes_[node];
    while (node > 1) {
      const Node other = nodes_[node ^ 1U];
      const bool is_before =
          (other.date < winner.date) | ((other.date == winner.date) & (other.player < winner.player));
      winner.date = is_before ? other.date : winner.date;
      winner.player = is_before ? other.player : winner.player;
      node /= 2;
      nodes_[node] = winner;
    }
  }
  void settle_all() {
    for (std::size_t node = leaves_; node-- > 1;) nodes_[node] = better(node);
  }

  /// The lowest player among those with the earliest date.
  [[nodiscard]] int first() const { return nodes_[1].player; }
  [[nodiscard]] double date(int player) const { return nodes_[leaves_ + at(player)].date; }

private:
  struct Node {
    double date = never;
    int player = 0;
  };
  [[nodiscard]] Node better(std::size_t node) const {
    const std::size_t left = 2 * node;
    return nodes_[left + (nodes_[left + 1].date < nodes_[left].date ? 1 : 0)];  // branch-free
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;  ///< the earliest leaf below each node: root at 1, leaves last
};

}  // namespace trainyard::engine
