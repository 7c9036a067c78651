#include "experiment/experiment.hpp"

#include "config/read.hpp"

#include <fmt/format.h>
#include <string>

namespace trainyard {

namespace {

void check_sync(const Sync& sync, config::Problems& problems) {
  const std::string rule(config::name_of(sync.update));
  const auto belongs = [&](const char* key, bool is_given, bool is_known, bool is_needed, const char* whose) {
    if (is_given && !is_known)
      problems.error(std::string("sync.") + key, fmt::format("{} is of {}, not of {}", key, whose, rule));
    if (!is_given && is_needed)
      problems.error("sync.update", fmt::format("{} needs {}", rule, key),
                     fmt::format("add \"{}\" to \"sync\"", key));
  };
  const UpdateRule update = sync.update;
  const bool has_steps = update == UpdateRule::local_sgd || update == UpdateRule::downpour;
  belongs("k", sync.k.has_value(), takes_k(update), takes_k(update), "the k_ rules");
  belongs("bound", sync.bound.has_value(), update == UpdateRule::ssp, update == UpdateRule::ssp, "ssp");
  belongs("push_every", sync.push_every.has_value(), has_steps, has_steps, "local_sgd and downpour");
  belongs("fetch_every", sync.fetch_every.has_value(), update == UpdateRule::downpour,
          update == UpdateRule::downpour, "downpour");
  belongs("backups", sync.backups.has_value(), update == UpdateRule::sync, false, "sync");
}

/// Reports keys of `sync` that belong to other kinds.
void check_kind(const Sync& sync, config::Problems& problems) {
  const std::string kind =
      sync.kind == SyncKind::all_reduce ? "an all-reduce" : std::string(config::name_of(sync.kind));
  if (sync.kind == SyncKind::parameter_server) {
    if (sync.algorithm != Algorithm::automatic)
      problems.error("sync.algorithm", "servers use no collectives", "kind: all_reduce");
    return;
  }
  const bool waits_for_all = (sync.update == UpdateRule::sync && sync.backups.value_or(0) == 0) ||
                             sync.update == UpdateRule::local_sgd;
  if (!waits_for_all)
    problems.error(
        "sync.update",
        fmt::format("{} does not wait for every rank, {} does", config::name_of(sync.update), kind),
        "kind: parameter_server");
  if (sync.shards) problems.error("sync.shards", kind + " has no shards", "kind: parameter_server");
  if (sync.placement) problems.error("sync.placement", kind + " has no servers", "kind: parameter_server");
  if (sync.kind != SyncKind::dataparallel_gpu0) return;
  if (sync.update == UpdateRule::local_sgd)
    problems.error("sync.update", "only GPU 0 has parameters of its own, local_sgd averages those of all",
                   "update: sync");
  if (sync.algorithm != Algorithm::automatic)
    problems.error("sync.algorithm", "dataparallel_gpu0 leaves its broadcasts and reductions to NCCL",
                   "leave it out");
}

void check_compression(const Sync& sync, config::Problems& problems) {
  const Compression compression = sync.compression.value_or(Compression::none);
  if (sync.compression && sync.kind != SyncKind::peer_to_peer) {
    problems.error("sync.compression",
                   fmt::format("compression is of peer_to_peer, not of {}", config::name_of(sync.kind)),
                   "kind: peer_to_peer; gradient_dtype of the stack says what is reduced");
  }
  if (sync.keep && compression != Compression::top_k)
    problems.error("sync.keep", "keep is of top_k", "compression: top_k");
  if (!sync.keep && compression == Compression::top_k)
    problems.error("sync.compression", "top_k needs keep", "add \"keep: 0.01\" to \"sync\"");
  if (sync.update == UpdateRule::local_sgd && compression != Compression::none)
    problems.error("sync.compression", "local_sgd averages parameters, which are sent whole",
                   "update: sync, or leave it out");
}

void check_random(const Randomness& random, config::Problems& problems) {
  for_each_factor(random, [&](std::string_view key, const random::Distribution& distribution) {
    random::check(distribution, "random." + std::string(key), problems);
  });
  if (random.gpus == GpuSpread::profile && (random.gpu || random.step)) {
    problems.error("random.gpus", "the GPU profile's spread takes the place of gpu and step",
                   "leave out one or the other");
  }
}

void check_faults(const Faults& faults, config::Problems& problems) {
  if (faults.rates.empty() && faults.dates.empty()) {
    problems.error("faults", "nothing fails", "add \"rates\" or \"dates\", or leave \"faults\" out");
  }
}

}  // namespace

bool has_servers(const Sync& sync) { return sync.kind == SyncKind::parameter_server; }

ServerPlacement placement_of(const Sync& sync) { return sync.placement.value_or(ServerPlacement::hosts); }

int shards_of(const Sync& sync) { return sync.shards.value_or(1); }

Experiment load_experiment(const config::Document& document) {
  return config::read<Experiment>(document, [](const Experiment& experiment, config::Problems& problems) {
    if (experiment.model && experiment.trace) {
      problems.error("trace", "\"model\" and \"trace\" exclude each other",
                     "a trace is a model's step: keep one of them");
    }
    if (!experiment.model && !experiment.trace) {
      problems.error("model", "nothing to train", "add \"model: resnet50\" or \"trace: my_trace.csv\"");
    }
    check_sync(experiment.sync, problems);
    check_kind(experiment.sync, problems);
    check_compression(experiment.sync, problems);
    if (experiment.sync.kind == SyncKind::dataparallel_gpu0 && experiment.accumulation > 1) {
      problems.error("accumulation",
                     "nn.DataParallel broadcasts and reduces for every micro-batch, which is not simulated",
                     "accumulation: 1, or kind: all_reduce");
    }
    check_random(experiment.random, problems);
    if (experiment.faults) check_faults(*experiment.faults, problems);
    for (const auto& [path, value] : experiment.set) {
      const std::string_view first = std::string_view(path).substr(0, path.find('.'));
      if (first.size() == path.size() ||
          (first != "platform" && first != "gpu" && first != "model" && first != "stack")) {
        problems.error("set." + path, "\"" + path + "\" names no file of this experiment",
                       "paths start with \"platform.\", \"gpu.\", \"model.\" or \"stack.\"");
      }
    }
  });
}

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
      throw InputError(fmt::format("{} backups of {} ranks leave none to wait for", backups, ranks),
                       fmt::format("backups: 0 to {}", ranks - 1));
    settings.rule = UpdateRule::k_sync;
    settings.k = ranks - backups;
  }
  // The k of k_batch_ rules may be larger: one rank can contribute several gradients.
  const bool is_of_ranks = settings.rule == UpdateRule::k_sync || settings.rule == UpdateRule::k_async;
  if (settings.k < 1 || (is_of_ranks && settings.k > ranks)) {
    throw InputError(
        fmt::format("an update of {} workers' gradients cannot be made by {}", settings.k, ranks),
        fmt::format("1 to {}", ranks));
  }
  return settings;
}

}  // namespace trainyard
