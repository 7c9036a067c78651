#include "schedule/server_plan.hpp"

#include "schedule/step_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace trainyard {

namespace {

constexpr int push_memory_uses = 4;
constexpr int pull_memory_uses = 1;

/// The location of a worker's gradients or a server's parameters.
using Place = ServerPlace;

/// Appends the route from one to the other, or the reverse route.
RouteSummary append_leg(const Cluster& cluster, const Place& from, const Place& to, bool is_there,
                        std::vector<LinkId>& links) {
  const auto& [begin, end] = is_there ? std::tie(from, to) : std::tie(to, from);
  return std::visit(
      [&](const auto& first, const auto& last) {
        if constexpr (std::is_same_v<decltype(first), const Rank&> &&
                      std::is_same_v<decltype(last), const Rank&>) {
          return first == last ? RouteSummary{} : append_route(cluster, first, last, -1, links);
        } else {
          return append_route(cluster, first, last, links);
        }
      },
      begin, end);
}

/// Messages with the same ends take the same way.
struct WayEnds {
  int rank = 0;  ///< of the worker's
  std::vector<int> shards;
  int turn = 0;  ///< selects the place of a node's sum
  auto operator<=>(const WayEnds&) const = default;
};

class ServerPlanner {
public:
  ServerPlanner(const Cluster& cluster, int worker_nodes, ServerPlacement placement, const ServerRules& rules,
                ServerPlan& plan)
      : cluster_(cluster), worker_nodes_(worker_nodes), placement_(placement), rules_(rules), plan_(plan) {}

  /// The way of a message between some shards and a rank, or a node if nodes are workers.
  ServerWay way(int sender, const WayEnds& ends, bool is_push) {
    ServerWay all;
    for (const int shard : ends.shards) append_part(sender, shard, ends.turn, is_push, all);
    return all;
  }

private:
  void append_part(int sender, int shard, int turn, bool is_push, ServerWay& all) {
    const Place server =
        server_place(cluster_, placement_, worker_nodes_, cluster_.nodes - worker_nodes_, shard);
    const Place sum = sum_of(sender, turn + shard, server);
    std::vector<LinkId> links;
    const RouteSummary one = append_leg(cluster_, sum, server, is_push, links);
    Seconds inside;
    if (rules_.node_reduce != NodeReduce::none) inside = append_inside(sender, sum, is_push, links);
    all.latency = std::max(all.latency, one.latency + inside);
    for (const LinkId link : links) all.links.push_back(static_cast<int>(index(link)));
    if (one.limit < Bandwidth{std::numeric_limits<double>::infinity()})
      all.links.push_back(connection(sender, shard, is_push, one.limit));
    add_memory(server, is_push ? push_memory_uses : pull_memory_uses, all.links);
    if (is_push) add_cores(server, 1, all.links);
    if (rules_.node_reduce == NodeReduce::host) {
      add_memory(sum, sum_memory_uses(sender, is_push), all.links);
      if (is_push) add_cores(sum, cluster_.gpus_on_node[at(sender)], all.links);
    }
  }

  /// The place from which a rank or a node pushes.
  [[nodiscard]] Place sum_of(int sender, int turn, const Place& server) const {
    if (rules_.node_reduce == NodeReduce::none) return Rank{sender};
    if (rules_.node_reduce == NodeReduce::gpus)
      return Rank{cluster_.first_rank[at(sender)] + turn % cluster_.gpus_on_node[at(sender)]};
    const auto* host = std::get_if<HostMemory>(&server);
    if (host != nullptr && host->node == NodeId{sender}) return *host;
    return HostMemory{NodeId{sender}, turn % static_cast<int>(cluster_.platform.cpus.size())};
  }

  /// Each GPU's gradient is written and read, the sum written and read; parameters are written once and read
  /// for each GPU.
  [[nodiscard]] int sum_memory_uses(int node, bool is_push) const {
    const int gpus = cluster_.gpus_on_node[at(node)];
    return is_push ? 2 * gpus + 2 : 1 + gpus;
  }

  /// Appends the routes between a node's GPUs and the place of their sum; returns the largest latency.
  Seconds append_inside(int node, const Place& sum, bool is_push, std::vector<LinkId>& links) const {
    Seconds longest;
    for (int rank = cluster_.first_rank[at(node)]; rank < cluster_.first_rank[at(node) + 1]; ++rank)
      longest = std::max(longest, append_leg(cluster_, Rank{rank}, sum, is_push, links).latency);
    return longest;
  }

  /// A separate link for a connection that is limited to `limit`.
  int connection(int sender, int shard, bool is_push, Bandwidth limit) {
    const auto [found, is_new] = connections_.try_emplace({sender, shard, is_push}, 0);
    if (is_new) {
      found->second = static_cast<int>(plan_.links.size());
      plan_.links.push_back(limit);
    }
    return found->second;
  }

  /// A host's memory carries the bytes `uses` times, if its bandwidth is known.
  void add_memory(const Place& place, int uses, std::vector<int>& links) {
    const auto* host = std::get_if<HostMemory>(&place);
    const auto& bandwidth = cluster_.platform.host_memory_bandwidth;
    if (host != nullptr && bandwidth)
      links.insert(links.end(), at(uses), resource(true, *host, bandwidth->value));
  }

  /// The place's cores add the bytes up, if their speed is known.
  void add_cores(const Place& place, int uses, std::vector<int>& links) {
    const auto* host = std::get_if<HostMemory>(&place);
    const auto& cores = cluster_.platform.cores_per_cpu;
    if (host == nullptr || !cores || !rules_.sum_per_core) return;
    const Bandwidth all = static_cast<double>(cores->value) * rules_.sum_per_core->value;
    links.insert(links.end(), at(uses), resource(false, *host, all));
  }

  /// The number of the resource's link.
  int resource(bool is_memory, const HostMemory& host, Bandwidth capacity) {
    const std::string name =
        fmt::format("{} of node{}.cpu{}", is_memory ? "memory" : "cores", index(host.node), host.cpu);
    const auto [found, is_new] = resources_.try_emplace(name, static_cast<int>(plan_.links.size()));
    if (is_new) {
      plan_.resources.push_back({name, found->second, host.node, is_memory});
      plan_.links.push_back(capacity);
    }
    return found->second;
  }

  const Cluster& cluster_;
  int worker_nodes_;
  ServerPlacement placement_;
  const ServerRules& rules_;
  ServerPlan& plan_;
  std::map<std::tuple<int, int, bool>, int> connections_;
  std::map<std::string, int> resources_;  ///< link numbers
};

/// The number of places in a node that compute the sums of its gradients in turn, message by message.
int places_of_sums(const Cluster& cluster, NodeReduce reduce) {
  if (reduce == NodeReduce::gpus) return cluster.gpus_on_node.front();
  return reduce == NodeReduce::host ? static_cast<int>(cluster.platform.cpus.size()) : 1;
}

/// Numbers the ways and the connections of the plan's messages; `places`: of a node's sums.
std::vector<WayEnds> number_ways(int places, ServerPlan& plan) {
  std::vector<WayEnds> ways;
  std::map<WayEnds, int> number_of_way;
  std::map<std::pair<int, std::vector<int>>, int> number_of_connection;
  for (const ServerMessage& message : plan.messages) {
    const WayEnds ends{.rank = message.rank, .shards = message.shards, .turn = message.turn % places};
    const auto [found, is_new] = number_of_way.try_emplace(ends, static_cast<int>(ways.size()));
    if (is_new) ways.push_back(ends);
    plan.way_of_message.push_back(found->second);
    const auto next = static_cast<int>(number_of_connection.size());
    plan.connection_of_message.push_back(
        number_of_connection.try_emplace({message.rank, message.shards}, next).first->second);
  }
  return ways;
}

}  // namespace

ServerPlace server_place(const Cluster& cluster, ServerPlacement placement, int worker_nodes,
                         int server_nodes, int shard) {
  if (placement == ServerPlacement::gpu) return Rank{0};
  if (placement == ServerPlacement::gpus) return Rank{shard % cluster.ranks()};
  const bool is_apart = placement == ServerPlacement::own_nodes;
  const int nodes = is_apart ? server_nodes : worker_nodes;
  const int first = is_apart ? worker_nodes : 0;
  const int cpus = std::max(1, static_cast<int>(cluster.platform.cpus.size()));
  return HostMemory{NodeId{first + shard % nodes}, shard / nodes % cpus};
}

ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, ServerPlacement placement,
                        std::vector<ServerMessage> messages, const ServerRules& rules,
                        int ranks_per_replica) {
  ServerPlan plan{.messages = std::move(messages),
                  .way_of_message = {},
                  .connection_of_message = {},
                  .workers = {},
                  .links = capacities(cluster),
                  .resources = {},
                  .notes = {}};
  const bool has_no_cpu = cluster.platform.cpus.empty();
  const bool is_on_gpus = placement == ServerPlacement::gpu || placement == ServerPlacement::gpus;
  if (!is_on_gpus && has_no_cpu)
    throw InputError("the platform has no CPU to hold parameters in its memory", "use placement: gpu");
  if (rules.node_reduce == NodeReduce::host && has_no_cpu) {
    throw InputError("the platform has no CPU to sum gradients in its memory",
                     "use servers: {node_reduce: gpus} in the stack");
  }
  const int places = places_of_sums(cluster, rules.node_reduce);
  const std::vector<WayEnds> ways = number_ways(places, plan);
  ServerPlanner planner(cluster, worker_nodes, placement, rules, plan);
  for (int worker = 0; worker < workers; ++worker) {
    WorkerWays& mine = plan.workers.emplace_back();
    for (const WayEnds& ends : ways) {
      const int sender = worker * ranks_per_replica + ends.rank;
      mine.push.push_back(planner.way(sender, ends, true));
      mine.pull.push_back(planner.way(sender, ends, false));
    }
  }
  if (!is_on_gpus && !cluster.platform.host_memory_bandwidth)
    plan.notes.emplace_back("the platform has no host memory bandwidth: servers sum gradients in no time");
  if (is_on_gpus) plan.notes.emplace_back("GPUs sum gradients in no time");
  return plan;
}

}  // namespace trainyard
