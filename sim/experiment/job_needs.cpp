#include "experiment/job_needs.hpp"

#include "config/error_at.hpp"
#include "experiment/job_target.hpp"
#include "units/plural.hpp"
#include "workload/memory.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard {

namespace {

void check_tokens(const ResolvedExperiment& resolved) {
  if (!resolved.settings.job->tokens) return;
  if (!resolved.model)
    throw error_at("job.tokens", "the tokens of a trace are not known", "job.epochs or job.steps");
  if (!resolved.model->sequence_length)
    throw error_at("job.tokens",
                   fmt::format("{} does not read tokens: its samples are no sequences", resolved.model->name),
                   "job.epochs or job.steps");
  // Frameworks count whole steps: of less than one they train nothing. Not every update has all replicas.
  const Experiment& settings = resolved.settings;
  const double samples = static_cast<double>(is_multi_update(settings) ? 1 : replicas(resolved)) *
                         settings.batch_per_gpu * settings.accumulation;
  if (samples_of_tokens(resolved) >= samples) return;
  const double tokens = samples * *resolved.model->sequence_length;
  throw error_at(
      "job.tokens",
      fmt::format("{} is less than a step, which has {:.0f} tokens", *settings.job->tokens, tokens),
      fmt::format("at least {:.0f}", tokens));
}

bool has_storage(const Platform& platform) { return platform.storage || platform.shared_storage; }

void check_epochs(const ResolvedExperiment& resolved) {
  const JobSettings& job = *resolved.settings.job;
  if (resolved.samples_per_epoch) return;
  const char* const hint = resolved.model ? "--set model.samples_per_epoch=1000000, or job.steps"
                                          : "job.steps: a trace has no data set";
  const char* const missing = "the number of samples of an epoch is not known";
  if (job.epochs) throw error_at("job.epochs", missing, hint);
  const auto is_in_epochs = [](const std::string& every) { return interval_in(every)->is_in_epochs; };
  if (job.load && job.load->when == LoadTime::per_epoch) throw error_at("job.load.when", missing, hint);
  if (job.evaluation && is_in_epochs(job.evaluation->every))
    throw error_at("job.evaluation.every", missing, hint);
  if (job.checkpoint && is_in_epochs(job.checkpoint->every))
    throw error_at("job.checkpoint.every", missing, hint);
}

void check_storage(const ResolvedExperiment& resolved) {
  const JobSettings& job = *resolved.settings.job;
  if (has_storage(resolved.platform)) return;
  const std::string missing = resolved.platform.name + " states no storage (node.storage)";
  if (job.load && !job.load->rate) throw error_at("job.load", missing, "add 'rate: 1 GB/s'");
  if (job.checkpoint && !job.checkpoint->bandwidth)
    throw error_at("job.checkpoint", missing, "add 'bandwidth: 1 GB/s'");
}

void check_parameters(const ResolvedExperiment& resolved) {
  const JobSettings& job = *resolved.settings.job;
  if (parameters_of(resolved) > 0) return;
  const char* const missing = "the trace names no parameters";
  if (job.checkpoint && !job.checkpoint->size) throw error_at("job.checkpoint", missing, "add 'size: 10 GB'");
  if (job.broadcast) throw error_at("job.broadcast", missing, "broadcast: false");
}

void check_evaluation_batch(const ResolvedExperiment& resolved) {
  const std::optional<Evaluation>& evaluation = resolved.settings.job->evaluation;
  if (!evaluation || resolved.model) return;
  const int batch = resolved.settings.batch_per_gpu;
  if (evaluation->batch_per_gpu.value_or(batch) == batch) return;
  throw error_at("job.evaluation.batch_per_gpu", "a trace fixes the batch size, also of evaluations",
                 fmt::format("batch_per_gpu: {}, or a model instead of the trace", batch));
}

}  // namespace

void check_job_needs(const ResolvedExperiment& resolved) {
  if (!resolved.settings.job) return;
  check_tokens(resolved);
  check_epochs(resolved);
  check_storage(resolved);
  check_parameters(resolved);
  check_evaluation_batch(resolved);
  if (resolved.settings.job->target) static_cast<void>(job_target(resolved));
}

double samples_of_tokens(const ResolvedExperiment& resolved) {
  return tokens_in(*resolved.settings.job->tokens).value() / *resolved.model->sequence_length;
}

double parameters_of(const ResolvedExperiment& resolved) {
  if (resolved.model) return totals(resolved.model->layers).parameters;
  double sum = 0;
  for (const RankClass& one : resolved.classes) {
    std::map<std::string, double> tensors;  // every micro-batch names them again
    for (const Op& op : one.trace.ops) {
      for (const Gradient& gradient : op.gradients) tensors[gradient.tensor] = gradient.elements;
    }
    // Ranks that share a model hold different parts of it.
    const double holders = static_cast<double>(one.ranks.size()) / replicas(resolved);
    for (const auto& [tensor, elements] : tensors) sum += holders * elements;
  }
  return sum;
}

Bytes training_state(const ResolvedExperiment& resolved) {
  constexpr Bytes value{4};
  return (1.0 + optimizer_states(resolved.settings.optimizer)) * parameters_of(resolved) * value;
}

std::string training_state_note(const ResolvedExperiment& resolved) {
  const int states = optimizer_states(resolved.settings.optimizer);
  const std::string state =
      states > 0 ? fmt::format(" and {} of optimizer state per parameter", plural(states, "value")) : "";
  return fmt::format("a checkpoint holds the parameters{}, 4 bytes each", state);
}

Seconds load_time(const ResolvedExperiment& resolved) {
  const LoadPhase& load = *resolved.settings.job->load;
  if (load.rate) return load.bytes / *load.rate;
  const Platform& platform = resolved.platform;
  const Cluster& cluster = *resolved.cluster;
  const double on_node = *std::ranges::max_element(cluster.gpus_on_node);
  Seconds time;
  if (platform.storage) time = on_node * load.bytes / platform.storage->value;
  if (platform.shared_storage)
    time = std::max(time, static_cast<double>(cluster.ranks()) * load.bytes / platform.shared_storage->value);
  return time;
}

Bytes checkpoint_size(const ResolvedExperiment& resolved) {
  return resolved.settings.job->checkpoint->size.value_or(training_state(resolved));
}

Bandwidth checkpoint_bandwidth(const ResolvedExperiment& resolved) {
  const std::optional<Bandwidth>& stated = resolved.settings.job->checkpoint->bandwidth;
  if (stated) return *stated;
  const Platform& platform = resolved.platform;
  if (!platform.shared_storage) return platform.storage->value;
  if (!platform.storage) return platform.shared_storage->value;
  return std::min(platform.storage->value, platform.shared_storage->value);
}

}  // namespace trainyard
