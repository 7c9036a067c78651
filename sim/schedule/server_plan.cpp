#include "schedule/server_plan.hpp"

#include "schedule/step_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

constexpr int push_memory_uses = 4;
constexpr int pull_memory_uses = 1;

class ServerPlanner {
public:
  ServerPlanner(const Cluster& cluster, int worker_nodes, ServerPlacement placement, ServerPlan& plan)
      : cluster_(cluster), worker_nodes_(worker_nodes), placement_(placement), plan_(plan) {}

  ServerWay way(Rank worker, const std::vector<int>& shards, bool is_push) {
    ServerWay all;
    for (const int shard : shards) {
      std::vector<LinkId> links;
      const RouteSummary one = append_way(worker, shard, is_push, links);
      all.latency = std::max(all.latency, one.latency);
      for (const LinkId link : links) all.links.push_back(static_cast<int>(index(link)));
      if (one.limit < Bandwidth{std::numeric_limits<double>::infinity()})
        all.links.push_back(connection(worker, shard, is_push, one.limit));
      if (const std::optional<int> memory = memory_link(shard))
        all.links.insert(all.links.end(), at(is_push ? push_memory_uses : pull_memory_uses), *memory);
    }
    return all;
  }

private:
  [[nodiscard]] HostMemory host(int shard) const {
    const int nodes =
        placement_ == ServerPlacement::own_nodes ? cluster_.nodes - worker_nodes_ : worker_nodes_;
    const int first = placement_ == ServerPlacement::own_nodes ? worker_nodes_ : 0;
    const int cpus = static_cast<int>(cluster_.platform.cpus.size());
    return {NodeId{first + shard % nodes}, shard / nodes % cpus};
  }

  RouteSummary append_way(Rank worker, int shard, bool is_push, std::vector<LinkId>& links) const {
    if (placement_ == ServerPlacement::gpu) {
      if (worker == Rank{0}) return {};
      return is_push ? append_route(cluster_, worker, Rank{0}, -1, links)
                     : append_route(cluster_, Rank{0}, worker, -1, links);
    }
    return is_push ? append_route(cluster_, worker, host(shard), links)
                   : append_route(cluster_, host(shard), worker, links);
  }

  /// A link of its own for a connection that reaches no more than `limit`.
  int connection(Rank worker, int shard, bool is_push, Bandwidth limit) {
    const auto [found, is_new] = connections_.try_emplace({index(worker), shard, is_push}, 0);
    if (is_new) {
      found->second = static_cast<int>(plan_.links.size());
      plan_.links.push_back(limit);
    }
    return found->second;
  }

  std::optional<int> memory_link(int shard) {
    const auto& bandwidth = cluster_.platform.host_memory_bandwidth;
    if (placement_ == ServerPlacement::gpu || !bandwidth) return std::nullopt;
    const HostMemory place = host(shard);
    const auto [found, is_new] = memories_.try_emplace({index(place.node), place.cpu}, 0);
    if (is_new) {
      found->second = static_cast<int>(plan_.links.size());
      plan_.memories.push_back({fmt::format("node{}.cpu{}", index(place.node), place.cpu), found->second});
      plan_.links.push_back(bandwidth->value);
    }
    return found->second;
  }

  const Cluster& cluster_;
  int worker_nodes_;
  ServerPlacement placement_;
  ServerPlan& plan_;
  std::map<std::tuple<int, int, bool>, int> connections_;
  std::map<std::pair<int, int>, int> memories_;
};

}  // namespace

ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, ServerPlacement placement,
                        std::vector<ServerMessage> messages) {
  ServerPlan plan{.messages = std::move(messages),
                  .group_of_message = {},
                  .workers = {},
                  .links = capacities(cluster),
                  .memories = {},
                  .notes = {}};
  if (placement != ServerPlacement::gpu && cluster.platform.cpus.empty())
    throw InputError("the platform has no CPU whose memory could hold parameters", "placement: gpu");
  ServerPlanner planner(cluster, worker_nodes, placement, plan);
  std::vector<std::vector<int>> groups;
  std::map<std::vector<int>, int> group_of_shards;
  for (const ServerMessage& message : plan.messages) {
    const auto number = static_cast<int>(groups.size());
    const auto [found, is_new] = group_of_shards.try_emplace(message.shards, number);
    if (is_new) groups.push_back(message.shards);
    plan.group_of_message.push_back(found->second);
  }
  for (int worker = 0; worker < workers; ++worker) {
    WorkerWays& ways = plan.workers.emplace_back();
    for (const std::vector<int>& shards : groups) {
      ways.push.push_back(planner.way(Rank{worker}, shards, true));
      ways.pull.push_back(planner.way(Rank{worker}, shards, false));
    }
  }
  if (placement != ServerPlacement::gpu && !cluster.platform.host_memory_bandwidth)
    plan.notes.emplace_back(
        "the platform does not say what its hosts' memory lets through: servers add up gradients in no time");
  if (placement == ServerPlacement::gpu)
    plan.notes.emplace_back("rank 0's GPU adds up gradients in no time, and in memory that is not counted");
  return plan;
}

}  // namespace trainyard
