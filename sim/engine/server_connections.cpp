#include "engine/server_connections.hpp"

#include "engine/bottleneck_links.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

// A tag encodes worker, attempt and way of a message.
constexpr std::uint64_t way_bits = 20;
constexpr std::uint64_t attempt_bits = 24;

std::uint64_t mask(std::uint64_t bits) { return (std::uint64_t{1} << bits) - 1; }

const std::vector<int>& links_of(const WorkerWays& worker, std::size_t way) {
  const std::size_t pushing = worker.push.size();
  return way < pushing ? worker.push[way].links : worker.pull[way - pushing].links;
}

/// Messages needed at the same time have the same rank.
std::vector<int> ranks_by(std::span<const double> needed) {
  std::vector<double> sorted(needed.begin(), needed.end());
  std::ranges::sort(sorted);
  std::vector<int> ranks;
  for (const double part : needed)
    ranks.push_back(static_cast<int>(std::ranges::lower_bound(sorted, part) - sorted.begin()));
  return ranks;
}

}  // namespace

ServerConnections::ServerConnections(const ServerPlan& plan, std::span<const double> needed, bool by_priority,
                                     bool on_simgrid)
    : plan_(plan),
      messages_(static_cast<int>(plan.messages.size())),
      ways_(static_cast<int>(plan.workers.front().push.size())),
      connections_each_(1 + std::ranges::max(plan.connection_of_message)),
      rank_of_message_(by_priority ? ranks_by(needed) : std::vector<int>(plan.messages.size(), 0)),
      connections_(plan.workers.size(), std::vector<Connection>(at(2 * connections_each_))) {
  assert(static_cast<std::uint64_t>(2 * messages_) <= mask(way_bits));
  std::vector<std::span<const int>> routes;
  for (const WorkerWays& worker : plan_.workers) {
    std::vector<Path>& mine = ways_of_worker_.emplace_back(at(2 * ways_));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::vector<int>& links = links_of(worker, i);
      if (links.empty()) continue;
      mine[i].route = static_cast<int>(routes.size());
      routes.push_back(links);
    }
  }
  const BottleneckLinks kept = bottleneck_links(plan_.links, routes);
  network_ = on_simgrid ? make_simgrid_network(kept.links) : make_fair_network(kept.links);
  for (const std::vector<int>& links : kept.routes) network_->add_route(links);
}

ServerConnections::Path& ServerConnections::way_of(const Delivery& message) {
  const int number = plan_.way_of_message[at(message.way % messages_)];
  return ways_of_worker_[at(message.worker)][at(message.way < messages_ ? number : ways_ + number)];
}

ServerConnections::Connection& ServerConnections::connection_of(const Delivery& message) {
  const int number = plan_.connection_of_message[at(message.way % messages_)];
  return connections_[at(message.worker)][at(message.way < messages_ ? number : connections_each_ + number)];
}

bool ServerConnections::send(const Delivery& message) {
  const bool is_push = message.way < messages_;
  if (way_of(message).route < 0 || (is_push && !plan_.messages[at(message.way)].is_pushed)) return false;
  Connection& connection = connection_of(message);
  if (connection.is_busy)
    connection.waiting.emplace(rank_of_message_[at(message.way % messages_)], sent_++, message.way,
                               message.attempt);
  else
    start(message, connection);
  return true;
}

void ServerConnections::start(const Delivery& message, Connection& connection) {
  // bottleneck_links and the network rely on this: no way ever has two flows
  assert(!connection.is_busy);
  connection.is_busy = true;
  ++under_way_;
  const std::uint64_t tag = static_cast<std::uint64_t>(message.worker) << (attempt_bits + way_bits) |
                            (static_cast<std::uint64_t>(message.attempt) & mask(attempt_bits)) << way_bits |
                            static_cast<std::uint64_t>(message.way);
  network_->start(way_of(message).route, plan_.messages[at(message.way % messages_)].bytes, tag);
}

Delivery ServerConnections::delivered(std::uint64_t tag) {
  const Delivery message{.worker = static_cast<int>(tag >> (attempt_bits + way_bits)),
                         .way = static_cast<int>(tag & mask(way_bits)),
                         .attempt = static_cast<int>(tag >> way_bits & mask(attempt_bits))};
  --under_way_;
  Connection& connection = connection_of(message);
  way_of(message).carried += plan_.messages[at(message.way % messages_)].bytes.si();
  connection.is_busy = false;
  if (!connection.waiting.empty()) {
    const auto [rank, number, way, attempt] = *connection.waiting.begin();
    connection.waiting.erase(connection.waiting.begin());
    start({message.worker, way, attempt}, connection);
  }
  return message;
}

void ServerConnections::forget(int worker, int attempt) {
  for (Connection& connection : connections_[at(worker)])
    std::erase_if(connection.waiting, [&](const auto& message) { return std::get<3>(message) != attempt; });
}

std::vector<double> ServerConnections::link_bytes() const {
  std::vector<double> bytes(plan_.links.size(), 0);
  for (std::size_t worker = 0; worker < ways_of_worker_.size(); ++worker) {
    for (std::size_t i = 0; i < ways_of_worker_[worker].size(); ++i) {
      for (const int link : links_of(plan_.workers[worker], i))
        bytes[at(link)] += ways_of_worker_[worker][i].carried;
    }
  }
  return bytes;
}

}  // namespace trainyard::engine
