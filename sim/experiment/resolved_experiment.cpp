#include "experiment/resolved_experiment.hpp"

#include "strategy/grid.hpp"
#include "strategy/straddling.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string_view>

namespace trainyard {

const RankClass& only_class(const ResolvedExperiment& resolved) {
  if (resolved.classes.size() != 1) throw std::logic_error("several classes of ranks where one is expected");
  return resolved.classes.front();
}

int replicas(const ResolvedExperiment& resolved) {
  if (resolved.grid) return resolved.grid->data;
  return resolved.layout ? resolved.layout->grid.data : resolved.cluster->ranks();
}

bool shares_model(const ResolvedExperiment& resolved) {
  const auto divides = [](const Parallelism& parallelism) {
    return !parallelism.layers.empty() || parallelism.shard == Sharded::parameters;
  };
  if (resolved.layout && divides(resolved.layout->parallelism) && replicas(resolved) > 1) return true;
  if (resolved.settings.traces) return true;
  return (resolved.layout || resolved.grid) && replicas(resolved) < resolved.cluster->ranks();
}

bool divides_layers_alone(const ResolvedExperiment& resolved) {
  if (!resolved.layout || resolved.layout->parallelism.layers.empty()) return false;
  const RankLayout& layout = *resolved.layout;
  const bool shards = std::ranges::any_of(layout.state_shards,
                                          [](const auto& shards_along) { return shards_along.second > 1; });
  return ranks_of_replica(layout.parallelism) * layout.grid.expert == 1 && !shards;
}

std::string changed_keys(const ResolvedExperiment& resolved) {
  constexpr std::array<std::string_view, 13> of_titles{
      "model",         "trace",     "traces",        "platform",     "nodes",     "gpus", "ranks",
      "data_parallel", "precision", "batch_per_gpu", "global_batch", "optimizer", "stack"};
  std::string text;
  for (const auto& [key, value] : resolved.changed) {
    const bool is_in_title = std::ranges::find(of_titles, key) != of_titles.end();
    if (resolved.is_without_file && is_in_title) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

std::string name_of_parts(const ResolvedExperiment& resolved) {
  const auto& trace = resolved.settings.trace;
  const std::string name = resolved.model ? resolved.model->name
                           : trace        ? std::filesystem::path(*trace).stem().string()
                                          : "traces";
  return fmt::format("{} on {}", name, resolved.platform.name);
}

const RankClass& class_of(const ResolvedExperiment& resolved, Rank rank) {
  return resolved.classes[class_index(resolved.classes, rank)];
}

std::optional<std::string> keep_groups_whole(const Platform& platform, Experiment& settings) {
  if (!settings.parallelism || !settings.gpus || settings.gpus_per_node) return std::nullopt;
  const int ranks = *settings.gpus;
  const auto on_node = static_cast<int>(platform.gpus.size());
  if (grid_refusal(*settings.parallelism, ranks)) return std::nullopt;
  const Grid grid = make_grid(*settings.parallelism, ranks);
  const std::optional<int> per_node = ranks_per_node_of_whole_groups(grid, on_node);
  if (!per_node || 1LL * *per_node * settings.nodes < ranks) return std::nullopt;
  settings.gpus_per_node = per_node;
  return fmt::format(
      "{} of the {} GPUs of each node are used, on {} nodes: {} straddle nodes that are full "
      "(gpus_per_node={} fills them)",
      *per_node, on_node, (ranks + *per_node - 1) / *per_node, straddling_in_words(grid, on_node), on_node);
}

void fit_nodes(const Platform& platform, bool gpus_replace_nodes, Experiment& settings) {
  const int gpus = settings.gpus.value_or(0);
  const int gpus_per_node = settings.gpus_per_node.value_or(0);
  if (!gpus_replace_nodes)
    require_ranks_on_all_nodes(platform, settings.nodes, gpus, gpus_per_node);
  else
    settings.nodes =
        std::min(settings.nodes, std::max(1, used_nodes(platform, settings.nodes, gpus, gpus_per_node)));
}

std::shared_ptr<const Cluster> cluster_for(const Platform& platform, const Experiment& settings) {
  return std::make_shared<const Cluster>(
      make_cluster(platform, settings.nodes, settings.gpus.value_or(0), settings.gpus_per_node.value_or(0)));
}

}  // namespace trainyard
