#include "strategy/layout_checks.hpp"

#include "config/refusal.hpp"
#include "strategy/layout_refusal.hpp"
#include "strategy/pipeline_order.hpp"
#include "strategy/straddling.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

/// The numbers of a layout that its checks need.
struct Numbers {
  const Parallelism& parallelism;
  int ranks, micro_batches;

  [[nodiscard]] long long chunks() const {
    return static_cast<long long>(parallelism.pipeline) * parallelism.virtual_stages;
  }
  [[nodiscard]] bool has_chunks_without_stages() const {
    return parallelism.virtual_stages > 1 && parallelism.pipeline == 1;
  }
  [[nodiscard]] bool takes_virtual_stages() const {
    return traits(schedule_of(parallelism)).has_virtual_stages;
  }
  [[nodiscard]] bool is_v() const { return traits(schedule_of(parallelism)).is_v; }
  /// Source: deepseek-ai/DualPipe dualpipe/dualpipev.py, step().
  [[nodiscard]] bool has_too_few_micro_batches() const {
    return schedule_of(parallelism) == PipelineSchedule::dualpipe_v &&
           micro_batches < 2 * parallelism.pipeline;
  }
  /// Null without such layers.
  [[nodiscard]] const LayerRule* first_in_turns() const {
    const auto has_turns = [](const LayerRule& rule) { return rule.turns != LayerTurns::none; };
    const auto first = std::ranges::find_if(parallelism.layers, has_turns);
    return first == parallelism.layers.end() ? nullptr : &*first;
  }
};

using N = const Numbers&;

constexpr auto refusals = std::to_array<config::Refusal<Numbers>>({
    {"virtual_stages", [](N n) { return n.has_chunks_without_stages(); },
     "{virtual_stages} virtual stages need a pipeline, but pipeline is 1",
     "virtual_stages: 1, or pipeline: 2 or more"},
    {"virtual_stages", [](N n) { return n.is_v() && n.parallelism.virtual_stages != chunks_of_v; },
     "'{schedule}' has 2 virtual stages per rank, not {virtual_stages}", "leave out 'virtual_stages'"},
    {"schedule", [](N n) { return n.has_too_few_micro_batches(); },
     "'{schedule}' needs two micro-batches for each of the {pipeline} stages, not {micro_batches} in all",
     "accumulation: {twice} or more"},
    {"schedule",
     [](N n) { return n.takes_virtual_stages() && !n.is_v() && n.parallelism.virtual_stages == 1; },
     "'{schedule}' needs several virtual stages, not 1", "virtual_stages: 2, or schedule: 1f1b"},
    {"schedule",
     [](N n) {
       return !n.takes_virtual_stages() && n.parallelism.virtual_stages > 1 && n.parallelism.pipeline > 1;
     },
     "'{schedule}' has 1 virtual stage per rank, not {virtual_stages}",
     "virtual_stages: 1, or schedule: interleaved"},
    {"virtual_stages",
     [](N n) {
       return n.takes_virtual_stages() && !n.is_v() && n.parallelism.virtual_stages > 1 &&
              n.micro_batches % n.parallelism.pipeline != 0;
     },
     "'{schedule}' needs a multiple of {pipeline} micro-batches, as many as stages, not {micro_batches}",
     "accumulation: {multiples}"},
    {"{turns}", [](N n) { return n.first_in_turns() != nullptr && n.parallelism.pipeline > 1; },
     "turns are simulated only without a pipeline, not with {pipeline} stages", "pipeline: 1, or turns: none"},
    {"{turns}",
     [](N n) {
       return n.first_in_turns() != nullptr && n.parallelism.pipeline == 1 &&
              schedule_of(n.parallelism) != usual_schedule;
     },
     "turns are not simulated with schedule '{schedule}'", "schedule: 1f1b, or turns: none"},
    {"layer_group", [](N n) { return n.parallelism.layer_group && n.parallelism.layers.empty(); },
     "'layer_group' needs layers that replicas divide", "add 'layers', or leave out 'layer_group'"},
    {"layer_group",
     [](N n) {
       return n.parallelism.layer_group && !n.parallelism.layers.empty() && n.parallelism.expert > 1;
     },
     "'layer_group' is not simulated together with expert {expert}", "leave out 'layer_group'"},
    {"stages",
     [](N n) { return !n.parallelism.stages.empty() && std::ssize(n.parallelism.stages) != n.chunks(); },
     "'stages' has {stages} numbers for pipeline {pipeline} x virtual stages {virtual_stages} = {chunks} "
     "virtual stages",
     "{chunks} numbers, or leave out 'stages'"},
    {"unequal_stages", [](N n) { return n.parallelism.unequal_stages && n.chunks() == 1; },
     "'unequal_stages' needs a pipeline, but pipeline is 1",
     "leave out 'unequal_stages', or pipeline: 2 or more"},
    {"unequal_stages", [](N n) { return n.parallelism.unequal_stages && !n.parallelism.stages.empty(); },
     "'unequal_stages' and 'stages' both say where to cut the model", "leave out one of them"},
    {"unequal_stages",
     [](N n) {
       return n.parallelism.unequal_stages && n.parallelism.stages.empty() &&
              !n.parallelism.first_layers.empty();
     },
     "'unequal_stages' and 'first_layers' both say where to cut the model", "leave out one of them"},
    {"sequence", [](N n) { return n.parallelism.sequence && n.parallelism.tensor == 1; },
     "'sequence' needs a tensor group, but tensor is 1", "tensor: 2 or more, or leave out 'sequence'"},
    {"layers", [](N n) { return !n.parallelism.layers.empty() && n.parallelism.context > 1; },
     "'layers' divides layers among replicas, but context {context} has them share samples",
     "context: 1, or leave out 'layers'"},
    {"context_exchange", [](N n) { return n.parallelism.context_exchange && n.parallelism.context == 1; },
     "'context_exchange' needs a context group, but context is 1",
     "context: 2 or more, or leave out 'context_exchange'"},
    {"recompute",
     [](N n) {
       return (n.parallelism.recompute_layers || n.parallelism.recompute_every) &&
              n.parallelism.recompute != Recompute::full;
     },
     "'recompute_layers' and 'recompute_every' choose blocks for recompute: full", "recompute: full"},
    {"recompute_modules",
     [](N n) {
       return !n.parallelism.recompute_modules.empty() && n.parallelism.recompute != Recompute::selective;
     },
     "'recompute_modules' chooses parts of blocks for recompute: selective", "recompute: selective"},
    {"recompute_every",
     [](N n) { return n.parallelism.recompute_layers && n.parallelism.recompute_every; },
     "'recompute_layers' and 'recompute_every' both choose the blocks that are computed again",
     "leave out one of them"},
    {"shard_over",
     [](N n) {
       return n.parallelism.shard_over != ShardOver::data && n.parallelism.shard == Sharded::none &&
              has_copies(n.parallelism, n.ranks);
     },
     "'shard_over' chooses the replicas that divide state, but shard is none",
     "shard: optimizer, gradients or parameters, or leave out 'shard_over'"},
    {"shard",
     [](N n) {
       return (n.parallelism.shard == Sharded::gradients || n.parallelism.shard == Sharded::parameters) &&
              n.parallelism.pipeline > 1 && has_copies(n.parallelism, n.ranks);
     },
     "'{shard}' with pipeline {pipeline}: every micro-batch would reduce or gather everything again",
     "shard: optimizer, or pipeline: 1"},
});

/// "8", "8 or 16": the numbers of micro-batches around that of the job that the stages divide.
std::string multiples(N numbers) {
  const int stages = numbers.parallelism.pipeline;
  const int fewer = numbers.micro_batches / stages * stages;
  return fewer == 0 ? fmt::format("{}", stages) : fmt::format("{} or {}", fewer, fewer + stages);
}

std::string in_words(std::string_view text, N numbers) {
  const Parallelism& parallelism = numbers.parallelism;
  const LayerRule* const rule = numbers.first_in_turns();
  return fmt::format(
      fmt::runtime(text),
      fmt::arg("turns", rule == nullptr ? "" : key_of(*rule, parallelism.layers, "turns")),
      fmt::arg("schedule", config::name_of(schedule_of(parallelism))),
      fmt::arg("pipeline", parallelism.pipeline), fmt::arg("virtual_stages", parallelism.virtual_stages),
      fmt::arg("chunks", numbers.chunks()), fmt::arg("context", parallelism.context),
      fmt::arg("expert", parallelism.expert), fmt::arg("shard", config::name_of(parallelism.shard)),
      fmt::arg("stages", parallelism.stages.size()), fmt::arg("micro_batches", numbers.micro_batches),
      fmt::arg("multiples", multiples(numbers)), fmt::arg("twice", 2 * parallelism.pipeline));
}

}  // namespace

std::vector<Diagnostic> layout_errors(const Parallelism& parallelism, int ranks, int micro_batches) {
  std::vector<Diagnostic> found;
  if (auto refusal = grid_refusal(parallelism, ranks)) found.push_back(*std::move(refusal));
  config::refuse(refusals, Numbers{parallelism, ranks, micro_batches}, in_words,
                 [&](const std::string& key, std::string message, std::string hint) {
                   found.push_back(about_layout(key, std::move(message), std::move(hint)));
                 });
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
  if (schedule_of(parallelism) == usual_schedule && p > 1 && micro_batches < 4 * p) {
    found.push_back(about_layout(
        "pipeline",
        fmt::format("{} micro-batch{} in {} stages: the bubble adds {:.0f} % to the time of the passes",
                    micro_batches, micro_batches == 1 ? "" : "es", p, 100.0 * (p - 1) / micro_batches),
        fmt::format("accumulation: {} or more", 4 * p), Severity::warning));
  }
  return found;
}

}  // namespace trainyard
