#include "engine/server_connections.hpp"

#include "engine/tight_links.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

// A tag holds the worker, the attempt and the way of a message.
constexpr std::uint64_t way_bits = 20;
constexpr std::uint64_t attempt_bits = 24;

std::uint64_t mask(std::uint64_t bits) { return (std::uint64_t{1} << bits) - 1; }

const std::vector<int>& links_of(const WorkerWays& worker, std::size_t connection) {
  const std::size_t groups = worker.push.size();
  return connection < groups ? worker.push[connection].links : worker.pull[connection - groups].links;
}

/// Messages that are needed at the same time have the same rank.
std::vector<int> ranks_by(std::span<const double> needed) {
  std::vector<double> sorted(needed.begin(), needed.end());
  std::ranges::sort(sorted);
  std::vector<int> ranks;
  for (const double part : needed)
    ranks.push_back(static_cast<int>(std::ranges::lower_bound(sorted, part) - sorted.begin()));
  return ranks;
}

}  // namespace

ServerConnections::ServerConnections(const ServerPlan& plan, std::span<const double> needed, bool by_priority)
    : plan_(plan),
      messages_(static_cast<int>(plan.messages.size())),
      groups_(static_cast<int>(plan.workers.front().push.size())),
      rank_of_message_(by_priority ? ranks_by(needed) : std::vector<int>(plan.messages.size(), 0)) {
  std::vector<std::span<const int>> ways;
  for (const WorkerWays& worker : plan_.workers) {
    std::vector<Connection>& mine = connections_.emplace_back(at(2 * groups_));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::vector<int>& links = links_of(worker, i);
      if (links.empty()) continue;
      mine[i].route = static_cast<int>(ways.size());
      ways.push_back(links);
    }
  }
  const TightLinks tight = tight_links(plan_.links, ways);
  network_.emplace(tight.links);
  for (const std::vector<int>& route : tight.routes) network_->add_route(route);
}

int ServerConnections::connection_of(int way) const {
  const int group = plan_.group_of_message[at(way % messages_)];
  return way < messages_ ? group : groups_ + group;
}

ServerConnections::Connection& ServerConnections::connection(int worker, int way) {
  return connections_[at(worker)][at(connection_of(way))];
}

bool ServerConnections::send(const Delivery& message) {
  Connection& its = connection(message.worker, message.way);
  if (its.route < 0) return false;
  if (its.is_busy)
    its.waiting.emplace(rank_of_message_[at(message.way % messages_)], sent_++, message.way, message.attempt);
  else
    start(message, its);
  return true;
}

void ServerConnections::start(const Delivery& message, Connection& connection) {
  connection.is_busy = true;
  ++under_way_;
  const std::uint64_t tag = static_cast<std::uint64_t>(message.worker) << (attempt_bits + way_bits) |
                            (static_cast<std::uint64_t>(message.attempt) & mask(attempt_bits)) << way_bits |
                            static_cast<std::uint64_t>(message.way);
  network_->start(connection.route, plan_.messages[at(message.way % messages_)].bytes, tag);
}

Delivery ServerConnections::delivered(std::uint64_t tag) {
  const Delivery message{.worker = static_cast<int>(tag >> (attempt_bits + way_bits)),
                         .way = static_cast<int>(tag & mask(way_bits)),
                         .attempt = static_cast<int>(tag >> way_bits & mask(attempt_bits))};
  --under_way_;
  Connection& its = connection(message.worker, message.way);
  its.carried += plan_.messages[at(message.way % messages_)].bytes.si();
  its.is_busy = false;
  if (!its.waiting.empty()) {
    const auto [rank, number, way, attempt] = *its.waiting.begin();
    its.waiting.erase(its.waiting.begin());
    start({message.worker, way, attempt}, its);
  }
  return message;
}

void ServerConnections::forget(int worker) {
  for (Connection& connection : connections_[at(worker)]) connection.waiting.clear();
}

std::vector<double> ServerConnections::link_bytes() const {
  std::vector<double> bytes(plan_.links.size(), 0);
  for (std::size_t worker = 0; worker < connections_.size(); ++worker) {
    for (std::size_t i = 0; i < connections_[worker].size(); ++i) {
      for (const int link : links_of(plan_.workers[worker], i))
        bytes[at(link)] += connections_[worker][i].carried;
    }
  }
  return bytes;
}

}  // namespace trainyard::engine
