#pragma once
// The connections between workers and the shards of parameter servers: each sends one message after the
// other, as flows on the network.

#include "engine/flow_network.hpp"
#include "schedule/server_plan.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace trainyard::engine {

/// A message under way: way k below the number of messages is the push of message k, higher ways are pulls.
struct Delivery {
  int worker = 0;
  int way = 0;
  int attempt = 0;  ///< attempt of the worker when it was sent
};

class ServerConnections {
public:
  /// `needed`: by message, when in a step it is needed. With by_priority, a connection sends the waiting
  /// message that is needed first, otherwise the one that has waited longest. With on_simgrid, SimGrid
  /// simulates the flows.
  ServerConnections(const ServerPlan& plan, std::span<const double> needed, bool by_priority,
                    bool on_simgrid);

  /// False if the way has no links, or another rank pushes the gradient: the message has arrived at once.
  bool send(const Delivery& message);
  /// The message that has arrived; the next message on its connection starts.
  Delivery delivered(std::uint64_t tag);
  /// Drops the messages of other attempts that wait at a worker's connections.
  void forget(int worker, int attempt);

  [[nodiscard]] FlowNetwork& network() { return *network_; }
  [[nodiscard]] long under_way() const { return under_way_; }
  /// By link of the plan: all bytes delivered.
  [[nodiscard]] std::vector<double> link_bytes() const;

private:
  struct Path {
    int route = -1;      ///< index in the network; -1: the way has no links
    double carried = 0;  ///< bytes delivered to each shard
  };
  /// Between a worker and one set of shards, in one direction.
  struct Connection {
    bool is_busy = false;
    std::set<std::tuple<int, long, int, int>> waiting;  ///< rank, order of sending, way, attempt
  };

  Path& way_of(const Delivery& message);
  Connection& connection_of(const Delivery& message);
  void start(const Delivery& message, Connection& connection);

  const ServerPlan& plan_;
  int messages_;
  std::unique_ptr<FlowNetwork> network_;
  int ways_;  ///< per worker and direction
  int connections_each_;
  std::vector<int> rank_of_message_;
  std::vector<std::vector<Path>> ways_of_worker_;     ///< pushing ways before pulling ways
  std::vector<std::vector<Connection>> connections_;  ///< by worker, pushing ones first
  long sent_ = 0;
  long under_way_ = 0;
};

}  // namespace trainyard::engine
