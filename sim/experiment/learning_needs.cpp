#include "experiment/learning_needs.hpp"

#include "config/error_at.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/workers.hpp"
#include "learn/objective.hpp"
#include "learn/samples.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace trainyard {

void require_few_gradients(double gradients, const char* key) {
  if (gradients <= most_gradients) return;
  throw error_at(key,
                 fmt::format("'learn' would compute about {} gradients in every repeat, more than {}",
                             digits12(std::round(gradients)), digits12(most_gradients)),
                 "a smaller learn.until, or fewer steps.measured");
}

namespace {

/// Throws InputError for a convolution that is wider than its input, or a model too large for this computer.
void require_fitting_model(const ResolvedExperiment& resolved, int workers) {
  const LearnSettings& learn = *resolved.settings.learn;
  try {
    const auto objective = make_objective(learn, resolved.learning_sets.get(), workers, 0, 0);
    // Each worker's gradient waits for its update; a layer keeps its values and their gradients.
    const double values =
        (workers + 2.0) * objective->parameters() + 2.0 * batch_of(learn) * objective->values_per_sample();
    if (values > most_learner_values)
      throw InputError(
          fmt::format("{} workers with {} parameters and batches of {} keep {} values, more than {}", workers,
                      objective->parameters(), batch_of(learn), digits12(values),
                      digits12(most_learner_values)),
          "a smaller model, smaller batches, or fewer workers");
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    throw error_at("learn.model", first.message, first.hint);
  }
}

}  // namespace

void end_with_job(ResolvedExperiment& resolved) {
  LearnUntil& until = resolved.settings.learn->until;
  if (!until.job) return;
  const JobSettings& job = *resolved.settings.job;
  double updates = job.steps.value_or(0);
  const double of_update = static_cast<double>(replicas(resolved)) * resolved.settings.batch_per_gpu *
                           resolved.settings.accumulation;
  if (job.tokens) {
    if (!resolved.model || !resolved.model->sequence_length) return;  // check_job_needs() says so
    updates = samples_of_tokens(resolved) / of_update;
  }
  if (job.epochs) {
    if (!resolved.samples_per_epoch) return;  // this too
    const double passes = job.data == DataDivision::replicated ? replicas(resolved) : 1;
    updates = *job.epochs * passes * *resolved.samples_per_epoch / of_update;
  }
  constexpr double rounding = 1e-9;
  const auto whole = std::max(1LL, static_cast<long long>(std::ceil(updates - rounding)));
  if (until.updates.value_or(whole) != whole)
    throw error_at("learn.until.updates",
                   fmt::format("the job has {} updates, and 'until' says {} too", whole, *until.updates),
                   "job: false, or leave out 'updates'");
  until.updates = whole;
}

void check_learning_needs(const ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  const LearnSettings& learn = *settings.learn;
  const bool has_updates = is_multi_update(settings);
  const int workers = has_updates ? workers_of(resolved) : replicas(resolved);
  if (learn.data_per_worker == DataPerWorker::sharded && resolved.learning_sets) {
    const int samples = resolved.learning_sets->train.count();
    if (samples < workers)
      throw error_at("learn.data_per_worker",
                     fmt::format("{} training samples cannot be divided among {} workers", samples, workers),
                     "sampled, or more samples");
  }
  if (resolved.learning_sets || learn.model.kind == LearnerKind::quadratic)
    require_fitting_model(resolved, workers);
  double per_update = workers;
  if (has_updates) {
    const UpdateSettings rule = update_settings(settings.sync, workers);
    per_update = static_cast<double>(gradients_per_update(rule)) * rule.push_every;
  }
  if (learn.until.updates) {
    if (!learn.until.time)
      require_few_gradients(per_update * static_cast<double>(*learn.until.updates), "learn.until.updates");
  } else if (!learn.until.time) {
    const double steps = static_cast<double>(settings.steps.warmup) + settings.steps.measured;
    require_few_gradients(workers * steps * settings.sync.push_every.value_or(1), "steps.measured");
  }
}

}  // namespace trainyard
