#include "published/layout_pairs.hpp"

#include "config/keys.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string>

namespace trainyard {
namespace {

std::string value_of(const Case& run, PairSetting setting) {
  const Parallelism& parallelism = run.layout->parallelism;
  const auto set = [&](const char* key) {
    const auto found = run.settings.find(key);
    return found == run.settings.end() ? std::string() : found->second;
  };
  switch (setting) {
    case PairSetting::activations:
      return fmt::format("{} {} {} {}", config::name_of(parallelism.recompute), parallelism.sequence,
                         set("parallelism.recompute"), set("parallelism.sequence"));
    case PairSetting::schedule:
      return fmt::format("{:4} {}", parallelism.virtual_stages, set("parallelism.schedule"));
    case PairSetting::micro_batches:
      return fmt::format("{:6}", run.micro_batches);
  }
  return {};
}

/// All that must agree besides the settings of pairs.
std::string common_of(const Case& run) {
  const Parallelism& parallelism = run.layout->parallelism;
  const PublishedRow& row = *run.row;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} t{} p{} d{} {} {} b{}", row.source, run.machine->platform, run.model->model,
      run.stack->stack, row.gpu, row.gpus_total, row.nodes, config::name_of(run.precision),
      parallelism.tensor, parallelism.pipeline, run.layout->replicas, config::name_of(parallelism.shard),
      config::name_of(parallelism.shard_over), run.batch_per_gpu);
  for (const auto& [key, value] : run.settings) {
    if (key != "parallelism.schedule" && key != "parallelism.virtual_stages" &&
        key != "parallelism.recompute" && key != "parallelism.sequence")
      text += fmt::format(" {}={}", key, value);
  }
  return text;
}

}  // namespace

std::optional<double> LayoutPair::predicted_change(Fit fit) const {
  const auto& one = first->predicted.by_fit[fit].value;
  const auto& other = second->predicted.by_fit[fit].value;
  if (!one || !other) return std::nullopt;
  return *one / *other - 1;
}

std::vector<LayoutPair> layout_pairs(const Validation& validation) {
  std::vector<LayoutPair> pairs;
  for (const PairSetting setting : pair_settings) {
    std::map<std::string, std::map<std::string, const ScoredCase*>> groups;
    for (const ScoredCase& scored : validation.cases) {
      if (is_memory(scored.of.figure)) continue;
      if (scored.family == nullptr || !scored.family->not_in_totals.empty()) continue;
      std::string rest = common_of(scored.of);
      for (const PairSetting other : pair_settings) {
        if (other != setting) rest += " | " + value_of(scored.of, other);
      }
      groups[rest].emplace(value_of(scored.of, setting), &scored);
    }
    for (const auto& [rest, group] : groups) {
      for (auto one = group.begin(); one != group.end(); ++one) {
        const auto next = std::next(one);
        if (next == group.end()) continue;
        pairs.push_back({.setting = setting,
                         .first = one->second,
                         .second = next->second,
                         .measured_change = one->second->of.measured / next->second->of.measured - 1});
      }
    }
  }
  return pairs;
}

PairErrors errors_of(const std::vector<LayoutPair>& pairs, PairSetting setting, Fit fit) {
  PairErrors errors;
  for (const LayoutPair& pair : pairs) {
    const std::optional<double> predicted = pair.predicted_change(fit);
    if (pair.setting != setting || !predicted) continue;
    ++errors.pairs;
    errors.change += std::abs(pair.measured_change);
    errors.error += std::abs(*predicted - pair.measured_change);
  }
  if (errors.pairs == 0) return errors;
  errors.change /= errors.pairs;
  errors.error /= errors.pairs;
  return errors;
}

}  // namespace trainyard
