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
  struct Way {
    int route = -1;      ///< of the network; none where the way has no links
    double carried = 0;  ///< bytes delivered to each shard
  };
  /// Between a worker and the same shards, in one direction.
  struct Connection {
    bool is_busy = false;
    std::set<std::tuple<int, long, int, int>> waiting;  ///< rank, number of the message, its way and attempt
  };

  Way& way_of(const Delivery& message);
  Connection& connection_of(const Delivery& message);
  void start(const Delivery& message, Connection& connection);

  const ServerPlan& plan_;
  int messages_;
  std::optional<SimgridNetwork> network_;
  int ways_;  ///< of a worker, in one direction
  int connections_each_;
  std::vector<int> rank_of_message_;
  std::vector<std::vector<Way>> ways_of_worker_;      ///< those that push before those that pull
  std::vector<std::vector<Connection>> connections_;  ///< by worker, in the same order
  long sent_ = 0;
  long under_way_ = 0;
};

}  // namespace trainyard::engine
