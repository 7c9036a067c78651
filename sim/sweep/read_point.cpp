#include "sweep/read_point.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

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
  if (asked.global_batch) refuse(asked.overrides, "batch_per_gpu", global_batch_key);
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
  try {
    return on_node(read(with(with(asked.overrides, "nodes", 1), "gpus", 1)));
  } catch (const InputError&) {
    // Settings for a third node, say, are errors on one node; then the experiment is read with all nodes.
    return on_node(read(asked.overrides));
  }
}

}  // namespace

ResolvedExperiment read_point(const config::Catalogue& catalogue, const Sweep& sweep,
                              const PointValues& values, InputFiles& files) {
  Asked asked = asked_of(sweep, values);
  const auto read = [&](const Overrides& overrides) {
    return resolve(catalogue, asked.experiment, overrides, files);
  };
  if (asked.ranks) {
    const int on_node = gpus_on_node(asked, read);
    const int nodes = (*asked.ranks + on_node - 1) / on_node;
    asked.overrides = with(with(asked.overrides, "nodes", nodes), "gpus", *asked.ranks);
  }
  if (asked.global_batch) {
    const ResolvedExperiment probe = read(with(asked.overrides, "batch_per_gpu", 1));
    const int parts = probe.cluster->ranks() * probe.settings.accumulation;
    if (*asked.global_batch % parts != 0) {
      throw InputError(fmt::format("a global batch of {} samples cannot be split evenly into {} parts",
                                   *asked.global_batch, parts),
                       "a multiple of the ranks times the accumulation");
    }
    asked.overrides = with(asked.overrides, "batch_per_gpu", *asked.global_batch / parts);
  }
  return read(asked.overrides);
}

}  // namespace trainyard
