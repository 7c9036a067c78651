#include "run/learning.hpp"

#include "experiment/workers.hpp"
#include "learn/samples.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

// Of the smallest models a minute; the log has 24 bytes for each.
constexpr double most_gradients = 2e7;

void require_few_gradients(double gradients) {
  if (gradients <= most_gradients) return;
  throw InputError(fmt::format("'learn' would compute about {} gradients in every repeat, more than {}",
                               digits12(std::round(gradients)), digits12(most_gradients)),
                   "a smaller learn.until, or fewer steps.measured");
}

}  // namespace

OrderLogOptions order_logs(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                           const StepCounts& counts, Seconds step, bool is_wanted,
                           std::vector<OrderLog>& logs) {
  OrderLogOptions options;
  if (!resolved.settings.learn || !is_wanted) return options;
  const LearnUntil& until = resolved.settings.learn->until;
  options.take = [&logs](OrderLog log) { logs.push_back(std::move(log)); };
  options.until = until.time.value_or(Seconds{});
  options.updates = until.updates.value_or(0);
  const double per_update = gradients_per_update(settings);
  double gradients = static_cast<double>(settings.workers) * settings.push_every *
                     (static_cast<double>(counts.warmup) + counts.measured);
  if (until.time || until.updates) {
    gradients = std::numeric_limits<double>::infinity();
    // Upper bound: nobody waits, and nothing takes time to send.
    if (until.time && step > Seconds{}) gradients = settings.workers * (*until.time / step);
    if (until.updates)
      gradients = std::min(gradients, per_update * settings.push_every * static_cast<double>(*until.updates));
  }
  require_few_gradients(gradients);
  return options;
}

OrderLog order_in_step(int workers, Seconds step, const LearnSettings& settings, const StepCounts& counts) {
  const LearnUntil& until = settings.until;
  double updates = static_cast<double>(counts.warmup) + counts.measured;
  if (until.time || until.updates) {
    updates = std::numeric_limits<double>::infinity();
    if (until.time) updates = std::floor(*until.time / step);
    if (until.updates) updates = std::min(updates, static_cast<double>(*until.updates));
  }
  require_few_gradients(updates * workers);
  OrderLog log{.workers = workers, .shards = 1, .reads = {}, .uses = {}, .updates = {}};
  for (std::int32_t update = 0; update < static_cast<std::int32_t>(updates); ++update) {
    for (int worker = 0; worker < workers; ++worker) {
      log.reads.push_back({.worker = worker, .shard = 0, .step = update});
      log.uses.push_back({.worker = worker, .first_step = update, .steps = 1});
    }
    log.updates.push_back({.at = (update + 1.0) * step,
                           .version = update + 1,
                           .first_use = log.uses.size() - at(workers),
                           .last_use = log.uses.size(),
                           .reads_before = log.reads.size(),
                           .shard = 0});
  }
  return log;
}

std::shared_ptr<const Learning> learning_from(const ResolvedExperiment& resolved, std::vector<OrderLog> logs,
                                              UpdateRule rule, int ranks_per_worker) {
  LearnSettings settings = *resolved.settings.learn;
  settings.batch = batch_of(settings) * ranks_per_worker;
  const auto repeats = at(resolved.settings.steps.repeats);
  while (logs.size() < repeats) logs.push_back(logs.front());
  return std::make_shared<const Learning>(learn(logs, rule, settings, resolved.learning_sets.get(),
                                                static_cast<std::uint64_t>(resolved.settings.random.seed)));
}

std::vector<LearningRow> learning_rows(const Learning& learning) {
  std::size_t most = 0;
  for (const LearningRun& run : learning.repeats) most = std::max(most, run.curve.size());
  std::vector<LearningRow> rows;
  for (std::size_t i = 0; i < most; ++i) {
    LearningRow row;
    std::vector<std::optional<double>> updates, samples, losses, errors;
    bool has_errors = true;
    for (const LearningRun& run : learning.repeats) {
      if (i >= run.curve.size()) {
        if (run.diverged) losses.emplace_back(), errors.emplace_back();
        continue;
      }
      const LearningPoint& point = run.curve[i];
      row.at = point.at;
      updates.emplace_back(static_cast<double>(point.updates));
      samples.emplace_back(static_cast<double>(point.samples));
      losses.emplace_back(point.train_loss);
      errors.push_back(point.test_error ? point.test_error : point.train_error);
      has_errors = has_errors && errors.back().has_value();
    }
    if (2 * updates.size() < learning.repeats.size()) break;
    row.updates = *quartiles(updates).median;
    row.samples = *quartiles(samples).median;
    row.loss = quartiles(losses);
    if (has_errors) row.error = quartiles(errors);
    rows.push_back(row);
  }
  return rows;
}

std::string_view error_name(const Learning& learning) {
  return learning.test_samples.value_or(0) > 0 ? "test error" : "training error";
}

std::string learning_title(const Run& run) {
  return fmt::format("{}, in the order of {} on {}", learner_title(*run.experiment.settings.learn),
                     model_name(run), run.experiment.settings.platform);
}

std::vector<std::string> learning_notes(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  std::vector<std::string> notes{
      fmt::format("the clock is that of {}, the losses are those of {}: they show what this order of updates "
                  "does to learning, not when {} is trained",
                  model_name(run), learner_title(*resolved.settings.learn), model_name(run))};
  if (resolved.learning_sets) notes.push_back("learning data: " + resolved.learning_sets->source);
  if (resolved.settings.faults) notes.emplace_back("learning is replayed without the faults");
  const Updates* const updates = updates_of(run);
  if (updates != nullptr && updates->ranks_per_worker > 1)
    notes.push_back(fmt::format("a gradient in learning is that of a node: {} ranks' batches",
                                updates->ranks_per_worker));
  return notes;
}

}  // namespace trainyard
