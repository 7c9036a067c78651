#pragma once
// The connections between workers and the shards of parameter servers: one message after the other on each,
// as flows on the network.

#include "engine/simgrid_network.hpp"
#include "schedule/server_plan.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace trainyard::engine {

/// A message on its way: way k below the number of messages is the push of message k, the others are pulls.
struct Delivery {
  int worker = 0;
  int way = 0;
  int attempt = 0;  ///< as it was sent
};

class ServerConnections {
public:
  /// `needed`: by message, when in a step it is needed; by_priority: of those that wait on a connection the
  /// one that is needed first goes next, otherwise the one that came first.
  ServerConnections(const ServerPlan& plan, std::span<const double> needed, bool by_priority);

  /// False if there is no way to go: it is there at once.
  bool send(const Delivery& message);
  /// What has arrived; the next on its connection starts.
  Delivery delivered(std::uint64_t tag);
  /// What waits at a worker's connections is not sent any more.
  void forget(int worker);

  [[nodiscard]] SimgridNetwork& network() { return *network_; }
  [[nodiscard]] long under_way() const { return under_way_; }
  /// By link of the plan: all that was delivered.
  [[nodiscard]] std::vector<double> link_bytes() const;

private:
  /// Between a worker and the same shards, in one direction.
  struct Connection {
    int route = -1;      ///< of the network; none where the way has no links
    double carried = 0;  ///< bytes delivered to each shard
    bool is_busy = false;
    std::set<std::tuple<int, long, int, int>> waiting;  ///< rank, number of the message, its way and attempt
  };

  /// Of a worker's, the pushing ones first.
  [[nodiscard]] int connection_of(int way) const;
  Connection& connection(int worker, int way);
  void start(const Delivery& message, Connection& connection);

  const ServerPlan& plan_;
  int messages_;
  std::optional<SimgridNetwork> network_;
  int groups_;
  std::vector<int> rank_of_message_;
  std::vector<std::vector<Connection>> connections_;  ///< by worker
  long sent_ = 0;
  long under_way_ = 0;
};

}  // namespace trainyard::engine
