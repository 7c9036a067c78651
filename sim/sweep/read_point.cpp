#include "sweep/read_point.hpp"

#include "experiment/one_gpu.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

constexpr const char* one_gpu_scale_key = "one_gpu_scale";

/// The settings of a point, with the sweep's own keys separated from the experiment's.
struct Asked {
  std::string experiment;
  Overrides overrides;
  std::optional<int> ranks;
  std::optional<int> global_batch;
};

int count_in(const std::string& key, const std::string& text) {
  const Parsed<long long> number = parse_integer(text);
  if (!number || *number < 1 || *number > 1'000'000'000)
    throw InputError(fmt::format("{} is {}, not a whole number of at least 1", key, in_quotes(text)));
  return static_cast<int>(*number);
}

void refuse(const Overrides& overrides, const char* key, const char* whose) {
  if (std::ranges::find(overrides, key, &Overrides::value_type::first) == overrides.end()) return;
  throw InputError(fmt::format("{} and {} are both given", whose, key), fmt::format("give only {}", whose));
}

Asked asked_of(const Sweep& sweep, const PointValues& values) {
  Asked asked{.experiment = sweep.experiment, .overrides = {}, .ranks = {}, .global_batch = {}};
  const auto take = [&](const std::string& key, const std::string& value) {
    if (value == default_value) return;
    if (key == experiment_key)
      asked.experiment = value;
    else if (key == ranks_key)
      asked.ranks = count_in(key, value);
    else if (key == global_batch_key)
      asked.global_batch = count_in(key, value);
    else
      asked.overrides.emplace_back(key, value);
  };
  for (const auto& [key, value] : sweep.set) take(key, value);
  for (std::size_t i = 0; i < values.size(); ++i) take(sweep.keys[i], values[i]);
  if (asked.ranks) {
    refuse(asked.overrides, "gpus", ranks_key);
    refuse(asked.overrides, "nodes", ranks_key);
  }
  return asked;
}

Overrides with(Overrides overrides, const char* key, int value) {
  overrides.emplace_back(key, std::to_string(value));
  return overrides;
}

/// The number of GPUs that a job uses per node: the machine determines it, and the experiment names the
/// machine.
template <class Read>
int gpus_on_node(const Asked& asked, const Read& read) {
  const auto on_node = [](const ResolvedExperiment& resolved) {
    return resolved.settings.gpus_per_node.value_or(static_cast<int>(resolved.platform.gpus.size()));
  };
  const Overrides on_one = with(with(asked.overrides, "nodes", 1), "gpus", 1);
  // A grid of a torus fits one number of ranks only; settings for a third node, say, are errors on one node.
  Overrides without_grid = on_one;
  without_grid.emplace_back("sync.grid", "none");
  for (const Overrides& probe : {on_one, without_grid}) {
    try {
      return on_node(read(probe));
    } catch (const InputError&) {
      continue;
    }
  }
  return on_node(read(asked.overrides));
}

/// The stages of a point with a layout; 1 for a point whose layout changes nothing, so that all points of a
/// sweep over layouts keep the micro-batch. Nothing for a point without any. Errors are left to the reading
/// of the point.
std::optional<int> stages_of_layout(const config::Catalogue& catalogue, const Asked& asked,
                                    InputFiles& files) {
  try {
    config::Document document = experiment_document(catalogue, asked.experiment, files);
    const auto is_layout = [](const auto& its) { return its.first.starts_with("parallelism"); };
    const bool has_layout =
        document.root.find("parallelism") != nullptr || std::ranges::any_of(asked.overrides, is_layout);
    for (const auto& [key, value] : asked.overrides) {
      if (key.starts_with("parallelism")) config::set(document, key, value);
    }
    const Experiment experiment = load_experiment(document);
    if (is_replay(experiment) || !has_layout) return std::nullopt;
    return experiment.parallelism ? experiment.parallelism->pipeline : 1;
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const FileError&) {
    return std::nullopt;
  }
}

/// The share of a global batch in each of its parts.
int part_of_batch(int global_batch, long long parts, const char* hint) {
  if (global_batch % parts != 0) {
    throw InputError(
        fmt::format("a global batch of {} samples cannot be split evenly into {} parts", global_batch, parts),
        hint);
  }
  return static_cast<int>(global_batch / parts);
}

/// Reads a point whose sweep's own keys are still to be replaced by the experiment's.
ResolvedExperiment read_asked(const config::Catalogue& catalogue, Asked asked, InputFiles& files) {
  const auto read = [&](const Overrides& overrides) {
    return resolve(catalogue, asked.experiment, overrides, files);
  };
  // With another batch, no plausible factor might reproduce the measurement; a probe needs none.
  const bool is_measured = has_one_gpu(catalogue, asked.experiment, asked.overrides, files);
  const auto probed = [&](Overrides overrides) {
    if (is_measured) overrides.emplace_back(one_gpu_scale_key, "1");
    return read(overrides);
  };
  if (asked.ranks) {
    const int on_node = gpus_on_node(asked, probed);
    const int nodes = (*asked.ranks + on_node - 1) / on_node;
    asked.overrides = with(with(asked.overrides, "nodes", nodes), "gpus", *asked.ranks);
  }
  if (!asked.global_batch) return read(asked.overrides);
  if (const auto stages = stages_of_layout(catalogue, asked, files)) {
    // frameworks change the number of micro-batches, not their size
    refuse(asked.overrides, "accumulation", global_batch_key);
    const ResolvedExperiment probe = probed(with(asked.overrides, "accumulation", *stages));
    const int count = part_of_batch(*asked.global_batch,
                                    static_cast<long long>(replicas(probe)) * probe.settings.batch_per_gpu,
                                    "a multiple of the replicas times the samples of a micro-batch");
    return read(with(asked.overrides, "accumulation", count));
  }
  refuse(asked.overrides, "batch_per_gpu", global_batch_key);
  const ResolvedExperiment probe = probed(with(asked.overrides, "batch_per_gpu", 1));
  const long long parts = static_cast<long long>(replicas(probe)) * probe.settings.accumulation;
  const char* const hint = probe.grid ? "a multiple of the replicas times the accumulation"
                                      : "a multiple of the ranks times the accumulation";
  return read(with(asked.overrides, "batch_per_gpu", part_of_batch(*asked.global_batch, parts, hint)));
}

}  // namespace

ResolvedExperiment read_point(const config::Catalogue& catalogue, const Sweep& sweep,
                              const PointValues& values, InputFiles& files) {
  Asked asked = asked_of(sweep, values);
  if (const std::optional<double> scale = kept_one_gpu_scale(catalogue, sweep, values, files))
    asked.overrides.emplace_back(one_gpu_scale_key, shortest(*scale));
  return read_asked(catalogue, std::move(asked), files);
}

std::optional<double> kept_one_gpu_scale(const config::Catalogue& catalogue, const Sweep& sweep,
                                         const PointValues& values, InputFiles& files) {
  PointValues unvaried = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == default_value || sweep.keys[i] == experiment_key) continue;
    if (sweep.keys[i] == one_gpu_key || sweep.keys[i] == one_gpu_scale_key) return std::nullopt;
    unvaried[i] = default_value;
  }
  const Asked asked = asked_of(sweep, unvaried);
  if (!has_one_gpu(catalogue, asked.experiment, asked.overrides, files)) return std::nullopt;
  try {
    return read_asked(catalogue, asked, files).settings.one_gpu_scale;
  } catch (const InputError& error) {
    throw InputError(fmt::format("one_gpu, without the varied keys: {}", error.diagnostics().front().message),
                     error.diagnostics().front().hint);
  }
}

}  // namespace trainyard
