#include "experiment/shared_network.hpp"

#include "config/suggest.hpp"
#include "platform/plausible_limits.hpp"
#include "units/leading_number.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace trainyard {

namespace {

/// "node3" or "node3.gpu2".
struct End {
  int node = 0;
  int gpu = 0;
};

End end_named(const std::string& name) {
  std::string_view rest = name;
  const std::optional<int> node = take_number(rest, "node");
  const std::optional<int> gpu = rest.empty() ? 0 : take_number(rest, ".gpu");
  if (!node || !gpu || !rest.empty() || *node > config::most_nodes) {
    throw InputError(fmt::format("{} is not an end of background traffic", in_quotes(name)),
                     "write node3 for its first GPU, or node3.gpu2");
  }
  return {*node, *gpu};
}

}  // namespace

Rank rank_named(const Cluster& cluster, const std::string& name) {
  const End end = end_named(name);
  const int ranks = cluster.gpus_on_node[at(end.node)];
  if (end.gpu >= ranks) {
    throw InputError(
        fmt::format("{} has no rank: node{} has {}", in_quotes(name), end.node, plural(ranks, "rank")),
        "gpus_per_node is the number of GPUs used per node");
  }
  return Rank{cluster.first_rank[at(end.node)] + end.gpu};
}

LinkId link_named(const Cluster& cluster, const std::string& name) {
  if (const std::optional<LinkId> link = find_link(cluster, name)) return *link;
  std::vector<std::string> all;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link)
    all.push_back(link_name(cluster, LinkId{link}));
  const std::vector<std::string_view> names(all.begin(), all.end());
  throw InputError(fmt::format("unknown link {}", in_quotes(name)), config::suggest(name, names));
}

std::shared_ptr<const Cluster> shared_cluster(const ResolvedExperiment& resolved) {
  const Cluster& cluster = *resolved.cluster;
  std::vector<int> gpus_on_node = cluster.gpus_on_node;
  for (const ResolvedExperiment& neighbour : resolved.neighbours) {
    const std::vector<int>& further = neighbour.cluster->gpus_on_node;
    gpus_on_node.insert(gpus_on_node.end(), further.begin(), further.end());
  }
  int nodes = 0;
  for (const BackgroundTraffic& traffic : resolved.settings.background)
    nodes = std::max({nodes, end_named(traffic.from).node + 1, end_named(traffic.to).node + 1});
  const auto all = static_cast<int>(cluster.platform.gpus.size());
  while (static_cast<int>(gpus_on_node.size()) < nodes) gpus_on_node.push_back(all);
  if (gpus_on_node.size() == cluster.gpus_on_node.size()) return resolved.cluster;
  return std::make_shared<const Cluster>(make_cluster(cluster.platform, std::move(gpus_on_node)));
}

void check_background(const ResolvedExperiment& resolved) {
  for (const BackgroundTraffic& traffic : resolved.settings.background) {
    if (rank_named(*resolved.network, traffic.from) == rank_named(*resolved.network, traffic.to)) {
      throw InputError(fmt::format("background traffic from {} to itself", in_quotes(traffic.from)),
                       "name two GPUs");
    }
  }
}

void check_events(const ResolvedExperiment& resolved) {
  for (const LinkChange& change : resolved.settings.events) {
    const Bandwidth least{config::least_bandwidth};
    if (change.bandwidth > Bandwidth() && change.bandwidth < least)
      throw InputError(fmt::format("{} is less than any link carries", human(change.bandwidth)),
                       fmt::format("{} or more, or 0 GB/s: the link has failed", human(least)));
    const Bandwidth most = specified_bandwidth(*resolved.network, link_named(*resolved.network, change.link));
    if (change.bandwidth <= most) continue;
    throw InputError(fmt::format("{} is more than the specified {} of link {}", human(change.bandwidth),
                                 human(most), in_quotes(change.link)),
                     "an event can lower or restore a link's bandwidth; change the platform to raise it");
  }
}

bool has_other_traffic(const ResolvedExperiment& resolved) {
  const Experiment& experiment = resolved.settings;
  return !resolved.neighbours.empty() || !experiment.background.empty() || !experiment.events.empty();
}

}  // namespace trainyard
