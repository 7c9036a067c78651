#include "collectives/node_times.hpp"

#include "collectives/plan.hpp"

#include <utility>

namespace trainyard {

NodeTimes::NodeTimes(std::shared_ptr<const Cluster> cluster, CollectiveSoftware software)
    : cluster_(std::move(cluster)), software_(std::move(software)) {}

Seconds NodeTimes::of(Operation operation, const std::vector<Rank>& group, Bytes size) {
  const NodeId node = cluster_->node_of(group.front());
  if (group.size() < 2 || cluster_->node_of(group.back()) != node) return {};
  std::pair key{operation, gpus_of(*cluster_, node, group)};
  auto alike = known_.find(key);
  if (alike == known_.end()) {
    alike =
        known_
            .emplace(std::move(key), Alike{.planner = Planner(*cluster_, software_,
                                                              {.operation = operation, .groups = {group}})})
            .first;
  }
  const auto [time, is_new] = alike->second.times.try_emplace(size);
  if (is_new) time->second = time_of(alike->second, size);
  return time->second;
}

Seconds NodeTimes::time_of(Alike& alike, Bytes size) const {
  const Collective collective = alike.planner.collective(size, alike.patterns);
  for (std::size_t i = alike.rates.size(); i < alike.patterns.size(); ++i)
    alike.rates.push_back(rate_alone(*cluster_, alike.patterns[i]));
  return time_alone(collective, [&](int pattern) { return alike.rates[at(pattern)]; });
}

}  // namespace trainyard
