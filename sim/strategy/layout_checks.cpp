#include "strategy/layout_checks.hpp"

#include "strategy/layout_refusal.hpp"
#include "strategy/pipeline_order.hpp"
#include "strategy/straddling.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace trainyard {

namespace {

void check_schedule(const Parallelism& parallelism, int micro_batches, std::vector<Diagnostic>& found) {
  const int p = parallelism.pipeline;
  const int v = parallelism.virtual_stages;
  const PipelineSchedule schedule = schedule_of(parallelism);
  if (v > 1 && p == 1) {
    found.push_back(about_layout("virtual_stages",
                                 fmt::format("{} virtual stages need a pipeline, but pipeline is 1", v),
                                 "virtual_stages: 1, or pipeline: 2 or more"));
    return;
  }
  if (schedule == PipelineSchedule::interleaved && v == 1) {
    found.push_back(about_layout("schedule", "'interleaved' needs several virtual stages, not 1",
                                 "virtual_stages: 2, or schedule: 1f1b"));
    return;
  }
  if (schedule != PipelineSchedule::interleaved && v > 1) {
    found.push_back(about_layout(
        "schedule", fmt::format("'{}' has 1 virtual stage per rank, not {}", config::name_of(schedule), v),
        "virtual_stages: 1, or schedule: interleaved"));
    return;
  }
  if (schedule == PipelineSchedule::interleaved && micro_batches % p != 0) {
    const int fewer = micro_batches / p * p;
    found.push_back(about_layout(
        "virtual_stages",
        fmt::format("'interleaved' needs a multiple of {} micro-batches, as many as stages, not {}", p,
                    micro_batches),
        fewer == 0 ? fmt::format("accumulation: {}", p)
                   : fmt::format("accumulation: {} or {}", fewer, fewer + p)));
  }
}

void check_layer_group(const Parallelism& parallelism, std::vector<Diagnostic>& found) {
  if (!parallelism.layer_group) return;
  if (parallelism.layers.empty()) {
    found.push_back(about_layout("layer_group", "'layer_group' needs layers that replicas divide",
                                 "add 'layers', or leave out 'layer_group'"));
  } else if (parallelism.expert > 1) {
    found.push_back(about_layout(
        "layer_group",
        fmt::format("'layer_group' is not simulated together with expert {}", parallelism.expert),
        "leave out 'layer_group'"));
  }
}

void check_turns(const Parallelism& parallelism, std::vector<Diagnostic>& found) {
  const auto has_turns = [](const LayerRule& rule) { return rule.turns != LayerTurns::none; };
  const auto first = std::ranges::find_if(parallelism.layers, has_turns);
  if (first == parallelism.layers.end()) return;
  const std::string key = key_of(*first, parallelism.layers, "turns");
  if (parallelism.pipeline > 1) {
    found.push_back(about_layout(
        key,
        fmt::format("turns are simulated only without a pipeline, not with {} stages", parallelism.pipeline),
        "pipeline: 1, or turns: none"));
  } else if (const PipelineSchedule schedule = schedule_of(parallelism);
             schedule != PipelineSchedule::one_f_one_b) {
    found.push_back(about_layout(
        key, fmt::format("turns are not simulated with schedule '{}'", config::name_of(schedule)),
        "schedule: 1f1b, or turns: none"));
  }
}

}  // namespace

std::vector<Diagnostic> layout_errors(const Parallelism& parallelism, int ranks, int micro_batches) {
  std::vector<Diagnostic> found;
  if (auto refusal = grid_refusal(parallelism, ranks)) found.push_back(*std::move(refusal));
  check_schedule(parallelism, micro_batches, found);
  check_turns(parallelism, found);
  check_layer_group(parallelism, found);
  const auto chunks = static_cast<long long>(parallelism.pipeline) * parallelism.virtual_stages;
  if (!parallelism.stages.empty() && std::ssize(parallelism.stages) != chunks) {
    found.push_back(about_layout(
        "stages",
        fmt::format("'stages' has {} numbers for pipeline {} x virtual stages {} = "
                    "{} virtual stages",
                    parallelism.stages.size(), parallelism.pipeline, parallelism.virtual_stages, chunks),
        fmt::format("{} numbers, or leave out 'stages'", chunks)));
  }
  if (parallelism.unequal_stages && chunks == 1) {
    found.push_back(about_layout("unequal_stages", "'unequal_stages' needs a pipeline, but pipeline is 1",
                                 "leave out 'unequal_stages', or pipeline: 2 or more"));
  }
  if (parallelism.unequal_stages && !(parallelism.stages.empty() && parallelism.first_layers.empty())) {
    const char* const other = parallelism.stages.empty() ? "first_layers" : "stages";
    found.push_back(about_layout(
        "unequal_stages", fmt::format("'unequal_stages' and '{}' both say where to cut the model", other),
        "leave out one of them"));
  }
  if (parallelism.sequence && parallelism.tensor == 1) {
    found.push_back(about_layout("sequence", "'sequence' needs a tensor group, but tensor is 1",
                                 "tensor: 2 or more, or leave out 'sequence'"));
  }
  if (!parallelism.layers.empty() && parallelism.context > 1) {
    found.push_back(about_layout(
        "layers",
        fmt::format("'layers' divides layers among replicas, but context {} has them share samples",
                    parallelism.context),
        "context: 1, or leave out 'layers'"));
  }
  if (parallelism.context_exchange && parallelism.context == 1) {
    found.push_back(about_layout("context_exchange",
                                 "'context_exchange' needs a context group, but context is 1",
                                 "context: 2 or more, or leave out 'context_exchange'"));
  }
  const bool divides_gradients =
      parallelism.shard == Sharded::gradients || parallelism.shard == Sharded::parameters;
  if (divides_gradients && parallelism.pipeline > 1 && has_copies(parallelism, ranks)) {
    found.push_back(about_layout(
        "shard",
        fmt::format("'{}' with pipeline {}: every micro-batch would reduce or gather everything again",
                    config::name_of(parallelism.shard), parallelism.pipeline),
        "shard: optimizer, or pipeline: 1"));
  }
  return found;
}

std::vector<Diagnostic> layout_warnings(const Parallelism& parallelism, const Grid& grid, int ranks_per_node,
                                        int micro_batches) {
  std::vector<Diagnostic> found;
  const auto nodes_of = [&](const std::vector<Rank>& group) {
    std::set<int> nodes;
    for (const Rank rank : group) nodes.insert(index(rank) / ranks_per_node);
    return nodes.size();
  };
  std::size_t nodes = 0;
  for (const std::vector<Rank>& group : groups(grid, Axis::tensor)) nodes = std::max(nodes, nodes_of(group));
  std::optional<Diagnostic> straddling = straddling_warning(grid, ranks_per_node);
  const bool is_said = straddling && grid.tensor <= ranks_per_node;
  if (nodes > 1 && !is_said) {
    found.push_back(about_layout(
        "tensor",
        fmt::format("a tensor group of {} ranks spans {} nodes of {}: the transfers of every layer use the "
                    "network",
                    grid.tensor, nodes, plural(ranks_per_node, "rank")),
        fmt::format("tensor: a divisor of {}, as the innermost axis", ranks_per_node), Severity::warning));
  }
  if (straddling) found.push_back(*std::move(straddling));
  const int p = grid.pipeline;
  if (schedule_of(parallelism) == PipelineSchedule::one_f_one_b && p > 1 && micro_batches < 4 * p) {
    found.push_back(about_layout(
        "pipeline",
        fmt::format("{} micro-batch{} in {} stages: the bubble adds {:.0f} % to the time of the passes",
                    micro_batches, micro_batches == 1 ? "" : "es", p, 100.0 * (p - 1) / micro_batches),
        fmt::format("accumulation: {} or more", 4 * p), Severity::warning));
  }
  return found;
}

}  // namespace trainyard
