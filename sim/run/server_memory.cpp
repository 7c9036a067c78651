#include "run/server_memory.hpp"

#include "experiment/workers.hpp"
#include "run/worker_messages.hpp"
#include "schedule/server_plan.hpp"
#include "strategy/servers.hpp"
#include "units/ids.hpp"
#include "workload/memory.hpp"

#include <algorithm>
#include <compare>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

namespace {

constexpr Bytes kept_value{4};  // of parameters and of the optimizer's state

/// The part of the gradients that one shard receives.
struct ShardPart {
  Bytes all;                   ///< the gradients of its parameters, once
  std::vector<Bytes> largest;  ///< by rank of a worker: the largest message that it pushes
};

std::vector<ShardPart> shard_parts(const ResolvedExperiment& resolved) {
  const int senders = resolved.layout ? ranks_per_worker(resolved) : 1;
  std::vector<ShardPart> parts(at(shards_of(resolved.settings.sync)),
                               {.all = {}, .largest = std::vector<Bytes>(at(senders))});
  for (const ServerMessage& message : worker_messages(resolved)) {
    for (const int shard : message.shards) {
      ShardPart& part = parts[at(shard)];
      if (message.copy_of < 0) part.all += message.bytes;
      if (message.is_pushed)
        part.largest[at(message.rank)] = std::max(part.largest[at(message.rank)], message.bytes);
    }
  }
  return parts;
}

/// Buffers for the largest message of every sender but a rank in whose memory the shard is.
Bytes receive_buffers(const ShardPart& part, int workers, std::optional<int> own_rank) {
  Bytes sum;
  for (std::size_t rank = 0; rank < part.largest.size(); ++rank) {
    const bool is_own = own_rank && at(*own_rank) % part.largest.size() == rank;
    sum += static_cast<double>(workers - (is_own ? 1 : 0)) * part.largest[rank];
  }
  return sum;
}

/// Whether an update can wait for more than one push.
bool sums_gradients(const UpdateSettings& settings) {
  return gradients_per_update(settings) > 1 || (settings.growth && settings.growth->most > 1);
}

/// The memory that holds a shard: that of a rank's GPU or of a node's host.
struct Place {
  int rank = -1;  ///< -1: a host's memory
  int node = -1;
  auto operator<=>(const Place&) const = default;
};

/// The place of a shard's memory. Where ranks are processors, hosts have no other memory than theirs.
Place place_of(const ResolvedExperiment& resolved, int shard) {
  const Cluster& cluster = *resolved.cluster;
  const Sync& sync = resolved.settings.sync;
  const ServerPlace server = server_place(cluster, placement_of(sync), cluster.nodes, shards_of(sync), shard);
  if (const auto* rank = std::get_if<Rank>(&server)) return {.rank = index(*rank)};
  const auto& host = std::get<HostMemory>(server);
  const int node = index(host.node);
  const bool is_rank = resolved.platform.ranks_on_processors && node < cluster.nodes &&
                       host.cpu < cluster.gpus_on_node[at(node)];
  if (!is_rank) return {.node = node};
  return {.rank = cluster.first_rank[at(node)] + host.cpu};
}

std::string name_of(const Place& place, const ResolvedExperiment& resolved) {
  if (place.rank >= 0)
    return in_device_words(resolved.platform, fmt::format("the GPU of rank {}", place.rank));
  const bool is_apart = place.node >= resolved.cluster->nodes;
  return fmt::format("{} {}", is_apart ? "server node" : "node", place.node);
}

}  // namespace

Bytes total(const ServerMemory& memory) {
  Bytes sum;
  for (const ServerMemoryTerm& term : server_memory_terms) sum += memory.*term.bytes;
  return sum;
}

bool has_server_optimizer(const Sync& sync) { return has_servers(sync) && !traits(sync.update).averages; }

std::optional<ServerMemory> server_memory(const ResolvedExperiment& resolved) {
  const Sync& sync = resolved.settings.sync;
  if (!has_servers(sync) || placement_of(sync) == ServerPlacement::free || !resolved.model)
    return std::nullopt;
  const UpdateSettings settings = update_settings(sync, workers_of(resolved));
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  const int states = has_server_optimizer(sync) ? optimizer_states(resolved.settings.optimizer) : 0;
  const std::vector<ShardPart> parts = shard_parts(resolved);
  std::map<Place, ServerMemory> places;
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    const Place where = place_of(resolved, static_cast<int>(shard));
    ServerMemory& place = places[where];
    const bool sends_itself = where.rank >= 0 && (resolved.layout || ranks_per_worker(resolved) == 1);
    place.is_on_gpu = where.rank >= 0;
    place.parameters += parts[shard].all / value * kept_value;
    place.optimizer_state += static_cast<double>(states) * (parts[shard].all / value * kept_value);
    if (sums_gradients(settings)) place.gradient_sums += parts[shard].all;
    place.receive_buffers += receive_buffers(parts[shard], settings.workers,
                                             sends_itself ? std::optional(where.rank) : std::nullopt);
  }
  const auto fullest = std::ranges::max_element(
      places, {}, [](const auto& place) { return std::pair(place.second.is_on_gpu, total(place.second)); });
  ServerMemory memory = fullest->second;
  memory.place = name_of(fullest->first, resolved);
  memory.places = static_cast<int>(places.size());
  return memory;
}

}  // namespace trainyard
