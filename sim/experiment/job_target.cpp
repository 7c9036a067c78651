#include "experiment/job_target.hpp"

#include "config/error_at.hpp"
#include "config/keys.hpp"
#include "experiment/job_needs.hpp"
#include "units/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* target_key = "job.target";

/// Staleness, dropped values and local steps change how many samples a target takes, by how much is not
/// known.
void check_updates(const Sync& sync) {
  constexpr const char* hint = "job.epochs or job.steps, or 'update: sync'";
  if (!traits(sync.update).is_one_batch())
    throw error_at(target_key,
                   fmt::format("the samples to a target are known for synchronous updates, not for '{}'",
                               config::name_of(sync.update)),
                   hint);
  if (sync.keep)
    throw error_at(target_key,
                   "the samples to a target are not known for updates without most of their values", hint);
}

const Convergence& curve_of(const ResolvedExperiment& resolved, const std::string& target) {
  if (!resolved.model)
    throw error_at(target_key, "a trace has no published runs to a target", "job.epochs or job.steps");
  const std::vector<Convergence>& curves = resolved.model->convergence;
  if (curves.empty())
    throw error_at(target_key, fmt::format("{} states no runs to a target", resolved.model->name),
                   "job.epochs or job.steps, or add 'convergence' to the model's file");
  const Convergence* curve = convergence_for(curves, target, config::name_of(resolved.settings.optimizer));
  if (curve == nullptr)
    throw error_at(target_key,
                   fmt::format("{} states no runs to the target {}", resolved.model->name, in_quotes(target)),
                   fmt::format("{}", fmt::join(targets_of(curves), " or ")));
  return *curve;
}

void check_sequences(const ResolvedExperiment& resolved, const Convergence& curve) {
  const std::optional<int>& length = resolved.model->sequence_length;
  if (!curve.sequence_length || curve.sequence_length == length) return;
  throw error_at(target_key,
                 fmt::format("the published runs to {} have {} tokens in a sample, the model has {}",
                             curve.target, *curve.sequence_length, length.value_or(0)),
                 fmt::format("set the model's sequence_length to {}", *curve.sequence_length));
}

/// Samples between two of the job's own evaluations.
double samples_between(const ResolvedExperiment& resolved, const Evaluation& evaluation, double batch) {
  const JobInterval interval = interval_in(evaluation.every).value();
  return interval.number * (interval.is_in_epochs ? resolved.samples_per_epoch.value() : batch);
}

}  // namespace

double samples_of_update(const ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  return 1.0 * settings.batch_per_gpu * settings.accumulation *
         (replicas(resolved) - settings.sync.backups.value_or(0));
}

JobTarget job_target(const ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  const JobSettings& job = *settings.job;
  check_updates(settings.sync);
  if (settings.learn)
    throw error_at(target_key, "a learner has a target of its own (learn.target)",
                   "leave out job.target, or 'learn'");
  JobTarget target;
  target.curve = curve_of(resolved, *job.target);
  check_sequences(resolved, target.curve);
  target.batch = samples_of_update(resolved);
  const Known<SamplesToTarget> expected = samples_to_target(target.curve, target.batch);
  if (!expected) throw error_at(target_key, expected.error(), "smaller batches or fewer GPUs, or job.epochs");
  target.expected = *expected;
  target.samples = target.expected.samples;
  const std::optional<TargetEvaluation>& published = target.curve.evaluate;
  std::optional<double> published_between;
  if (published) published_between = samples_between(*published, target.batch, resolved.samples_per_epoch);
  if (job.evaluation) {
    target.between = samples_between(resolved, *job.evaluation, target.batch);
    target.samples = published_between ? on_other_grid(target.samples, *published_between, *target.between)
                                       : at_evaluation(target.samples, *target.between);
  } else if (published_between && simulates_evaluation(settings)) {
    target.between = published_between;
    target.has_published_evaluation = true;
  }
  return target;
}

}  // namespace trainyard
