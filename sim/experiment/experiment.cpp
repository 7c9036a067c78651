#include "experiment/experiment.hpp"

#include "config/error_at.hpp"
#include "config/read.hpp"
#include "experiment/overrides.hpp"
#include "experiment/sync_keys.hpp"
#include "learn/replay.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace trainyard {

namespace {

void check_sync(const Sync& sync, config::Problems& problems) {
  const std::string rule(config::name_of(sync.update));
  const auto belongs = [&](const char* key, bool is_given, bool is_needed, const char* whose) {
    if (is_given && !has_key(sync.update, key))
      problems.error(std::string("sync.") + key,
                     fmt::format("'{}' applies only to {}; sync.update is '{}'", key, whose, rule));
    if (!is_given && is_needed)
      problems.error("sync.update", fmt::format("'{}' needs '{}'", rule, key),
                     fmt::format("add '{}' to 'sync'", key));
  };
  const auto needs = [&](const char* key, bool is_given, const char* whose) {
    belongs(key, is_given, has_key(sync.update, key), whose);
  };
  needs("k", sync.k.has_value(), "the k_* update rules");
  belongs("adaptive_k", sync.adaptive_k.has_value(), false, "the k_* update rules");
  needs("bound", sync.bound.has_value(), "ssp");
  needs("push_every", sync.push_every.has_value(), "local_sgd and downpour");
  needs("fetch_every", sync.fetch_every.has_value(), "downpour");
  belongs("backups", sync.backups.has_value(), false, "sync");
}

void check_torus_grid(const Sync& sync, config::Problems& problems) {
  if (!sync.grid || sync.algorithm == Algorithm::torus2d) return;
  problems.error("sync.grid",
                 fmt::format("'grid' applies only to algorithm: torus2d; sync.algorithm is '{}'",
                             config::name_of(sync.algorithm)),
                 "algorithm: torus2d, or leave out 'grid'");
}

/// Reports keys of `sync` that belong to other kinds.
void check_kind(const Sync& sync, config::Problems& problems) {
  const std::string kind =
      sync.kind == SyncKind::all_reduce ? "an all-reduce" : std::string(config::name_of(sync.kind));
  if (sync.kind == SyncKind::parameter_server) {
    if (sync.algorithm != Algorithm::automatic)
      problems.error("sync.algorithm", "'algorithm' is for collectives; parameter servers use none",
                     "kind: all_reduce");
    return;
  }
  const auto belongs_to_servers = [&](const char* key, std::string_view setting, std::string_view because) {
    problems.error(key, fmt::format("'{}' needs parameter servers; {} {}", setting, kind, because),
                   "kind: parameter_server");
  };
  if (needs_servers(sync.update))
    belongs_to_servers("sync.update", config::name_of(sync.update), "waits for every rank");
  if (sync.update == UpdateRule::sync && sync.backups.value_or(0) > 0)
    belongs_to_servers("sync.backups", "backups", "waits for every rank");
  if (sync.shards) belongs_to_servers("sync.shards", "shards", "has none");
  if (sync.placement) belongs_to_servers("sync.placement", "placement", "has none");
  if (sync.kind != SyncKind::dataparallel_gpu0) return;
  if (sync.update == UpdateRule::local_sgd)
    problems.error(
        "sync.update",
        "local_sgd averages the parameters of all ranks; with dataparallel_gpu0 only GPU 0 has parameters",
        "update: sync");
  if (sync.algorithm != Algorithm::automatic)
    problems.error(
        "sync.algorithm",
        "'algorithm' does not apply to dataparallel_gpu0; NCCL chooses for its broadcasts and reductions",
        "leave out 'algorithm'");
}

void check_compression(const Sync& sync, config::Problems& problems) {
  const Compression compression = sync.compression.value_or(Compression::none);
  if (sync.compression && sync.kind != SyncKind::peer_to_peer) {
    problems.error("sync.compression",
                   fmt::format("'compression' applies only to peer_to_peer; sync.kind is '{}'",
                               config::name_of(sync.kind)),
                   "kind: peer_to_peer; for collectives set gradient_dtype of the stack");
  }
  if (sync.keep && compression != Compression::top_k)
    problems.error("sync.keep", "'keep' applies only to compression: top_k", "compression: top_k");
  if (!sync.keep && compression == Compression::top_k)
    problems.error("sync.compression", "'top_k' needs 'keep'", "add 'keep: 0.01' to 'sync'");
  if (sync.update == UpdateRule::local_sgd && compression != Compression::none)
    problems.error("sync.compression",
                   "'compression' does not apply to local_sgd, which sends whole parameters",
                   "update: sync, or leave out 'compression'");
}

void check_random(const Randomness& random, config::Problems& problems) {
  for_each_factor(random, [&](std::string_view key, const random::Distribution& distribution) {
    random::check(distribution, "random." + std::string(key), problems);
  });
  if (random.gpus == GpuSpread::profile && (random.gpu || random.step)) {
    problems.error("random.gpus", "'gpus: profile' replaces 'gpu' and 'step'",
                   "leave out 'gpus', or both 'gpu' and 'step'");
  }
  if (random.gpus == GpuSpread::slowest && random.gpu) {
    problems.error("random.gpus", "'gpu' draws the GPUs' factors, so that their slowest is not the mean one",
                   "leave out 'gpus' or 'gpu'");
  }
}

/// A worker of downpour goes on while its push is delayed, which only the engine with a network knows.
void check_delays(const Experiment& experiment, config::Problems& problems) {
  const Sync& sync = experiment.sync;
  if (!experiment.random.communication || sync.update != UpdateRule::downpour) return;
  if (placement_of(sync) == ServerPlacement::free)
    problems.error("random.communication",
                   "downpour hides a delay if sending takes no time (placement: free)",
                   "another placement, or leave out 'communication'");
  if (experiment.faults)
    problems.error("random.communication", "faults with downpour cannot be combined with random delays",
                   "leave out 'communication' or 'faults'");
}

void check_faults(const Faults& faults, config::Problems& problems) {
  if (faults.rates.empty() && faults.dates.empty()) {
    problems.error("faults", "'faults' needs 'rates' or 'dates'",
                   "add 'rates' or 'dates', or leave out 'faults'");
  }
}

/// A trace has the ops of a rank that holds its share already: only the groups of ranks are left to say.
/// With a trace for each class of ranks these may be stages.
void check_trace_groups(const Parallelism& parallelism, bool has_stages, config::Problems& problems) {
  const auto belongs_to_trace = [&](bool is_given, const char* key) {
    if (is_given)
      problems.error(std::string("parallelism.") + key,
                     fmt::format("'{}' divides a model, but the trace has the ops of a rank already", key),
                     fmt::format("leave out '{}'; name the collectives of groups in the trace", key));
  };
  belongs_to_trace(parallelism.pipeline > 1 && !has_stages, "pipeline");
  belongs_to_trace(parallelism.virtual_stages > 1, "virtual_stages");
  belongs_to_trace(parallelism.sequence, "sequence");
  belongs_to_trace(parallelism.context_exchange.has_value(), "context_exchange");
  belongs_to_trace(parallelism.schedule.has_value(), "schedule");
  belongs_to_trace(!parallelism.stages.empty(), "stages");
  belongs_to_trace(parallelism.unequal_stages, "unequal_stages");
  belongs_to_trace(!parallelism.first_layers.empty(), "first_layers");
  belongs_to_trace(parallelism.recompute != Recompute::none, "recompute");
  belongs_to_trace(parallelism.shard != Sharded::none, "shard");
  belongs_to_trace(!parallelism.layers.empty(), "layers");
  belongs_to_trace(parallelism.expert_tensor.has_value(), "expert_tensor");
  belongs_to_trace(parallelism.routing != Routing{}, "routing");
}

/// Reports what a job whose ranks share a model cannot be combined with yet.
void check_shared_model(const Experiment& experiment, config::Problems& problems) {
  for (const UnsharedSetting& setting : not_with_shared_model(experiment))
    problems.error(setting.key,
                   fmt::format("ranks that share a model are not simulated with {}", setting.what),
                   fmt::format("leave out '{}', or '{}'", setting.key,
                               experiment.parallelism ? "parallelism" : "traces"));
  if (!experiment.parallelism) return;
  if (is_replay(experiment))
    check_trace_groups(*experiment.parallelism, experiment.traces.has_value(), problems);
  if (experiment.sync.algorithm != Algorithm::automatic && !has_all_reduces(*experiment.parallelism)) {
    problems.error("sync.algorithm",
                   fmt::format("'{}' is an algorithm of all-reduces, but replicas that divide their state "
                               "reduce-scatter gradients",
                               config::name_of(experiment.sync.algorithm)),
                   "algorithm: auto, or shard: none");
  }
}

/// The step comes from a model, a trace, or several traces.
void check_source(const Experiment& experiment, config::Problems& problems) {
  if (experiment.model && experiment.trace) {
    problems.error("trace", "'model' and 'trace' cannot be combined",
                   "a trace is a model's step: keep one of them");
  }
  if (!experiment.traces) return;
  if (experiment.model || experiment.trace) {
    problems.error("traces",
                   fmt::format("'{}' and 'traces' cannot be combined", experiment.model ? "model" : "trace"),
                   "keep one of them");
  }
  if (experiment.traces->empty())
    problems.error("traces", "the list of traces is empty", "traces: [{trace: my_trace.csv}]");
  for (std::size_t i = 0; i < experiment.traces->size(); ++i) {
    const ClassTrace& one = (*experiment.traces)[i];
    if (one.ranks && (one.pipeline || one.tensor || one.context || one.data))
      problems.error(fmt::format("traces[{}].ranks", i),
                     "'ranks' and places on axes both say which ranks replay the trace", "keep one of them");
  }
}

void check_one_gpu(const Experiment& experiment, config::Problems& problems) {
  if (!experiment.one_gpu) {
    if (experiment.one_gpu_scale) {
      problems.error("one_gpu_scale", "'one_gpu_scale' needs 'one_gpu'",
                     "add 'one_gpu: 803 samples/s', or set compute_scale of the stack");
    }
    return;
  }
  const Parsed<SampleRate> rate = parse_sample_rate(*experiment.one_gpu);
  if (!rate)
    problems.error("one_gpu", rate.error().message, rate.error().hint);
  else if (rate->per_second <= 0)
    problems.error("one_gpu", in_quotes(*experiment.one_gpu) + " is not above 0");
}

/// Only where nobody waits for the others is the order of updates without a worker known.
void check_learning_with_faults(const Faults& faults, UpdateRule rule, config::Problems& problems) {
  if (rule != UpdateRule::async && rule != UpdateRule::downpour)
    problems.error(
        "faults",
        fmt::format("learning with faults is known for async and downpour, where nobody waits for a "
                    "dead worker; sync.update is '{}'",
                    config::name_of(rule)),
        "leave out 'faults' or 'learn'");
  if (!faults.rates.empty())
    problems.error("faults.rates", "learning knows faults at fixed dates only",
                   "'dates' in place of 'rates', or leave out 'learn'");
  for (std::size_t i = 0; i < faults.dates.size(); ++i) {
    if (faults.dates[i].of == FaultyThing::server)
      problems.error(
          fmt::format("faults.dates[{}].of", i),
          "a server's fault takes the job back to a checkpoint; learning goes on without ranks only",
          "of: rank, or leave out 'learn'");
  }
}

void check_learning(const Experiment& experiment, config::Problems& problems) {
  const LearnSettings& settings = *experiment.learn;
  const Sync& sync = experiment.sync;
  check(settings, "learn", problems);
  const bool cancels = sync.backups.value_or(0) > 0;
  check_learning_rule(settings, cancels ? UpdateRule::k_sync : sync.update, "learn", problems);
  if (experiment.faults) check_learning_with_faults(*experiment.faults, sync.update, problems);
  if (experiment.faults && settings.until.updates)
    problems.error("learn.until.updates", "a job with faults makes fewer updates in the time that they take",
                   "until: {time: ...}");
  if (sync.compression == Compression::top_k)
    problems.error("learn",
                   "gradients are learnt from uncompressed, but this job sends the largest ones only",
                   "leave out 'learn', or compression: none");
}

void check_adaptive_k(const Experiment& experiment, config::Problems& problems) {
  constexpr const char* key = "sync.adaptive_k";
  if (!experiment.learn)
    problems.error(key, "k can only follow a loss if something learns",
                   "add 'learn', or leave out 'adaptive_k'");
  if (experiment.faults)
    problems.error(key, "the pace of a job with faults is known for a fixed k only",
                   "leave out 'adaptive_k', or 'faults'");
}

InputError cannot_grow(const UpdateSettings& settings, int ranks, bool is_of_ranks) {
  return error_at(
      "sync.adaptive_k.most",
      fmt::format("k cannot grow from {} to {} in a job of {}", settings.k, settings.growth->most,
                  plural(ranks, "rank")),
      is_of_ranks ? fmt::format("{} to {}", settings.k, ranks) : fmt::format("{} or more", settings.k));
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
  add(experiment.sync.update != UpdateRule::sync, "sync.update", "this update rule");
  add(experiment.one_gpu.has_value(), "one_gpu", "a measured throughput of one GPU");
  add(experiment.input.data == InputData::real, "input.data", "real data");
  add(is_random(experiment.random) || !experiment.random.slow.empty(), "random", "random times");
  add(!experiment.neighbours.empty(), "neighbours", "other jobs");
  add(!experiment.background.empty(), "background", "background traffic");
  add(!experiment.events.empty(), "events", "links that change");
  add(experiment.faults.has_value(), "faults", "faults");
  return found;
}

Experiment load_experiment(const config::Document& document) {
  const auto check = [](const Experiment& experiment, config::Problems& problems) {
    check_source(experiment, problems);
    if (!experiment.model && !experiment.trace && !experiment.traces) {
      problems.error("model", "'model' or 'trace' is missing",
                     "add 'model: resnet50' or 'trace: my_trace.csv'");
    }
    check_sync(experiment.sync, problems);
    check_kind(experiment.sync, problems);
    check_torus_grid(experiment.sync, problems);
    check_compression(experiment.sync, problems);
    if (experiment.sync.kind == SyncKind::dataparallel_gpu0 && experiment.accumulation > 1) {
      problems.error("accumulation",
                     "nn.DataParallel broadcasts and reduces for every micro-batch, which is not simulated",
                     "accumulation: 1, or kind: all_reduce");
    }
    check_random(experiment.random, problems);
    check_delays(experiment, problems);
    if (experiment.traces || (experiment.parallelism && !changes_nothing(*experiment.parallelism)))
      check_shared_model(experiment, problems);
    check_one_gpu(experiment, problems);
    if (experiment.faults) check_faults(*experiment.faults, problems);
    if (experiment.job) check_job(experiment, problems);
    if (experiment.learn) check_learning(experiment, problems);
    if (experiment.sync.adaptive_k) check_adaptive_k(experiment, problems);
    for (const auto& [path, value] : experiment.set) {
      if (file_named_by(path).empty()) {
        problems.error("set." + path, "'" + path + "' names no file of this experiment",
                       "paths start with platform., gpu., model. or stack.");
      }
    }
  };
  auto experiment = config::read<Experiment>(document, check);
  if (experiment.parallelism && changes_nothing(*experiment.parallelism)) experiment.parallelism.reset();
  return experiment;
}

bool is_replay(const Experiment& experiment) { return experiment.trace || experiment.traces; }

bool is_multi_update(const Experiment& experiment) {
  const Sync& sync = experiment.sync;
  return has_servers(sync) || sync.update != UpdateRule::sync || sync.backups.value_or(0) > 0 ||
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
  const bool is_of_ranks = settings.rule == UpdateRule::k_sync || settings.rule == UpdateRule::k_async;
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
