#include "experiment/experiment.hpp"

#include "config/error_at.hpp"
#include "config/read.hpp"
#include "experiment/combinations.hpp"
#include "experiment/layout_needs.hpp"
#include "experiment/overrides.hpp"
#include "learn/replay.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace trainyard {

namespace {

void check_random(const Randomness& random, config::Problems& problems) {
  for_each_factor(random, [&](std::string_view key, const random::Distribution& distribution) {
    random::check(distribution, "random." + std::string(key), problems);
  });
}

void check_traces(const std::vector<ClassTrace>& traces, config::Problems& problems) {
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const ClassTrace& one = traces[i];
    if (one.ranks && (one.pipeline || one.tensor || one.context || one.data))
      problems.error(fmt::format("traces[{}].ranks", i),
                     "'ranks' and places on axes both say which ranks replay the trace", "keep one of them");
  }
}

void check_one_gpu(const std::string& one_gpu, config::Problems& problems) {
  const Parsed<SampleRate> rate = parse_sample_rate(one_gpu);
  if (!rate)
    problems.error("one_gpu", rate.error().message, rate.error().hint);
  else if (rate->per_second <= 0)
    problems.error("one_gpu", in_quotes(one_gpu) + " is not above 0");
}

void check_learning(const Experiment& experiment, config::Problems& problems) {
  const bool cancels = experiment.sync.backups.value_or(0) > 0;
  check(*experiment.learn, "learn", problems);
  check_learning_rule(*experiment.learn, cancels ? UpdateRule::k_sync : experiment.sync.update, "learn",
                      problems);
  if (!experiment.faults) return;
  const std::vector<FaultDate>& dates = experiment.faults->dates;
  for (std::size_t i = 0; i < dates.size(); ++i) {
    if (dates[i].of == FaultyThing::server || dates[i].of == FaultyThing::job)
      problems.error(fmt::format("faults.dates[{}].of", i),
                     "a fault of a server or of the whole job takes the job back to a checkpoint; learning "
                     "goes on without ranks only",
                     "of: rank, or leave out 'learn'");
  }
}

void check_experiment(const Experiment& experiment, config::Problems& problems) {
  if (experiment.traces) check_traces(*experiment.traces, problems);
  check_random(experiment.random, problems);
  if (experiment.job) check_texts(*experiment.job, problems);
  if (experiment.learn) check_learning(experiment, problems);
  check_combinations(experiment, problems);
  if (experiment.one_gpu) check_one_gpu(*experiment.one_gpu, problems);
  for (const auto& [path, value] : experiment.set) {
    if (file_named_by(path).empty()) {
      problems.error("set." + path, "'" + path + "' names no file of this experiment",
                     "paths start with platform., gpu., model. or stack.");
    }
  }
}

bool waits_to_be_asked(const std::optional<LearnSettings>& learn) {
  return learn && learn->when == LearnWhen::asked;
}

InputError cannot_grow(const UpdateSettings& settings, int ranks, bool is_of_ranks) {
  return error_at(
      "sync.adaptive_k.most",
      fmt::format("k cannot grow from {} to {} in a job of {}", settings.k, settings.growth->most,
                  plural(ranks, "rank")),
      is_of_ranks ? fmt::format("{} to {}", settings.k, ranks) : fmt::format("{} or more", settings.k));
}

/// Whether each rank trains on samples of its own: nothing but single layers is divided among replicas.
bool has_own_samples(const Parallelism& parallelism) {
  Parallelism rest = parallelism;
  rest.layers.clear();
  rest.layer_group.reset();
  return !parallelism.layers.empty() && changes_nothing(rest);
}

}  // namespace

bool has_servers(const Sync& sync) { return sync.kind == SyncKind::parameter_server; }

ServerPlacement placement_of(const Sync& sync) { return sync.placement.value_or(ServerPlacement::hosts); }

int shards_of(const Sync& sync) { return sync.shards.value_or(1); }

std::vector<UnsharedSetting> not_with_shared_model(const Experiment& experiment) {
  std::vector<UnsharedSetting> found;
  const auto add = [&](bool is_given, const char* key, const char* what) {
    if (is_given) found.push_back({key, what});
  };
  add(experiment.sync.kind != SyncKind::all_reduce, "sync.kind", "this kind of synchronisation");
  add(!traits(experiment.sync.update).is_one_batch(), "sync.update", "this update rule");
  add(experiment.one_gpu.has_value(), "one_gpu", "a measured throughput of one GPU");
  const bool has_samples = experiment.parallelism && has_own_samples(*experiment.parallelism);
  add(experiment.input.data == InputData::real && !has_samples, "input.data", "real data");
  add(is_random(experiment.random) || !experiment.random.slow.empty(), "random", "random times");
  add(!experiment.neighbours.empty(), "neighbours", "other jobs");
  add(!experiment.background.empty(), "background", "background traffic");
  add(!experiment.events.empty(), "events", "links that change");
  return found;
}

Experiment load_experiment(const config::Document& document) {
  const auto check_read = [](const Experiment& read, config::Problems& problems) {
    if (!waits_to_be_asked(read.learn)) return check_experiment(read, problems);
    check(*read.learn, "learn", problems);
    Experiment without = read;
    without.learn.reset();
    check_experiment(without, problems);
  };
  auto experiment = config::read<Experiment>(document, check_read);
  if (waits_to_be_asked(experiment.learn)) experiment.learn.reset();
  if (experiment.parallelism && traits(schedule_of(*experiment.parallelism)).is_v &&
      experiment.parallelism->virtual_stages == 1)
    experiment.parallelism->virtual_stages = chunks_of_v;
  if (experiment.parallelism && says_nothing(*experiment.parallelism)) experiment.parallelism.reset();
  return experiment;
}

bool is_replay(const Experiment& experiment) { return experiment.trace || experiment.traces; }

bool is_multi_update(const Experiment& experiment) {
  const Sync& sync = experiment.sync;
  return has_servers(sync) || !traits(sync.update).is_one_batch() || sync.backups.value_or(0) > 0 ||
         is_random(experiment.random) || !experiment.random.slow.empty();
}

UpdateSettings update_settings(const Sync& sync, int ranks) {
  UpdateSettings settings{.rule = sync.update,
                          .workers = ranks,
                          .k = sync.k.value_or(1),
                          .bound = sync.bound.value_or(0),
                          .push_every = sync.push_every.value_or(1),
                          .fetch_every = sync.fetch_every.value_or(1)};
  if (const int backups = sync.backups.value_or(0); backups > 0) {
    if (backups >= ranks)
      throw InputError(
          fmt::format("{} of {} leave none to wait for", plural(backups, "backup"), plural(ranks, "rank")),
          fmt::format("backups: 0 to {}", ranks - 1));
    settings.rule = UpdateRule::k_sync;
    settings.k = ranks - backups;
  }
  // The k of k_batch_ rules may be larger: one rank can contribute several gradients.
  const bool is_of_ranks = traits(settings.rule).counts_workers();
  if (settings.k < 1 || (is_of_ranks && settings.k > ranks)) {
    throw InputError(
        fmt::format("an update waits for {}, but the job has {}", plural(settings.k, "rank"), ranks),
        fmt::format("k: 1 to {}", ranks));
  }
  if (const auto& growth = sync.adaptive_k) {
    settings.growth =
        KGrowth{.every = growth->every, .most = growth->most.value_or(std::max(settings.k, ranks))};
    if (settings.growth->most < settings.k || (is_of_ranks && settings.growth->most > ranks))
      throw cannot_grow(settings, ranks, is_of_ranks);
  }
  return settings;
}

}  // namespace trainyard
