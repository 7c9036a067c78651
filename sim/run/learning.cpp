#include "run/learning.hpp"

#include "config/error_at.hpp"
#include "experiment/learning_needs.hpp"
#include "experiment/workers.hpp"
#include "learn/adaptive_k.hpp"
#include "learn/samples.hpp"
#include "run/faulty_parts.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

/// The key that makes a replay long.
const char* key_of_length(const LearnUntil& until) {
  if (until.updates) return "learn.until.updates";
  return until.time ? "learn.until.time" : "steps.measured";
}

/// A worker's step has the batches of its ranks.
LearnSettings settings_of_worker(const ResolvedExperiment& resolved, int ranks_per_worker) {
  LearnSettings settings = *resolved.settings.learn;
  settings.batch = batch_of(settings) * ranks_per_worker;
  settings.sent = resolved.settings.sync.keep;
  return settings;
}

std::uint64_t seed_of(const ResolvedExperiment& resolved) {
  return static_cast<std::uint64_t>(resolved.settings.random.seed);
}

/// The model whose steps give the times: a trace has none.
std::string clock_name(const Run& run) {
  return model_name(run).empty() ? "the trace of " + run.experiment.name : model_name(run);
}

}  // namespace

OrderLogOptions order_logs(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                           const StepCounts& counts, Seconds step, bool is_wanted,
                           std::vector<OrderLog>& logs) {
  OrderLogOptions options;
  if (!resolved.settings.learn || (!is_wanted && !settings.growth)) return options;
  const LearnUntil& until = resolved.settings.learn->until;
  options.take = [&logs, is_wanted](OrderLog log) {
    if (is_wanted) logs.push_back(std::move(log));
  };
  options.until = until.time.value_or(Seconds{});
  options.updates = until.updates.value_or(0);
  const double per_update = settings.growth ? settings.growth->most : gradients_per_update(settings);
  double gradients = static_cast<double>(settings.workers) * settings.push_every *
                     (static_cast<double>(counts.warmup) + counts.measured);
  if (until.time || until.updates) {
    gradients = std::numeric_limits<double>::infinity();
    // Upper bound: nobody waits, and nothing takes time to send.
    if (until.time && step > Seconds{}) gradients = settings.workers * (*until.time / step);
    if (until.updates)
      gradients = std::min(gradients, per_update * settings.push_every * static_cast<double>(*until.updates));
  }
  if (settings.growth)  // every look replays the log so far
    gradients *= 1 + gradients / settings.k / settings.growth->every / 2;
  require_few_gradients(gradients, key_of_length(until));
  return options;
}

std::function<int(int, const OrderLog&)> k_choice(const ResolvedExperiment& resolved,
                                                  const UpdateSettings& settings, int ranks_per_worker) {
  if (!settings.growth) return {};
  const auto learning = std::make_shared<const LearnSettings>(settings_of_worker(resolved, ranks_per_worker));
  const auto adaptive =
      std::make_shared<AdaptiveK>(settings, *learning, resolved.learning_sets.get(), seed_of(resolved));
  return [learning, adaptive](int repeat, const OrderLog& so_far) {
    return adaptive->after_update(repeat, so_far);
  };
}

OrderLog order_in_step(int workers, Seconds step, const LearnSettings& settings, const StepCounts& counts) {
  const LearnUntil& until = settings.until;
  double updates = static_cast<double>(counts.warmup) + counts.measured;
  if (until.time || until.updates) {
    updates = std::numeric_limits<double>::infinity();
    if (until.time) updates = std::floor(*until.time / step);
    if (until.updates) updates = std::min(updates, static_cast<double>(*until.updates));
  }
  require_few_gradients(updates * workers, key_of_length(until));
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

std::vector<Absence> absences(const ResolvedExperiment& resolved) {
  std::vector<Absence> all;
  if (!resolved.settings.learn || !resolved.settings.faults) return all;
  const Faults& faults = *resolved.settings.faults;
  for (std::size_t i = 0; i < faults.dates.size(); ++i) {
    const FaultDate& date = faults.dates[i];
    const std::vector<FaultyPart> parts = faulty_parts(resolved, date.of, date.planned);
    if (at(date.number) >= parts.size()) continue;  // fault_report() reports it
    const FaultyPart& part = parts[at(date.number)];
    if (part.holds_parameters)
      throw error_at(fmt::format("faults.dates[{}]", i),
                     fmt::format("{} {} holds parameters: its fault takes the job back to a checkpoint, and "
                                 "learning goes on without workers only",
                                 config::name_of(date.of), date.number),
                     "a rank or node without a server, or leave out 'learn'");
    for (int worker = part.first_worker; worker < part.first_worker + part.workers; ++worker)
      all.push_back({.worker = worker, .from = date.at, .until = date.at + faults.restart});
  }
  return all;
}

std::shared_ptr<const Learning> learning_from(const ResolvedExperiment& resolved,
                                              std::span<const OrderLog> logs, UpdateRule rule,
                                              int ranks_per_worker) {
  return std::make_shared<const Learning>(
      learn(logs, rule, settings_of_worker(resolved, ranks_per_worker), resolved.learning_sets.get(),
            seed_of(resolved),
            std::max(static_cast<int>(logs.size()), static_cast<int>(resolved.settings.steps.repeats))));
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
      const bool has_ended = i >= run.curve.size();
      if (has_ended && (run.verdict == LearningVerdict::diverged || run.curve.empty())) {
        losses.emplace_back(), errors.emplace_back();
        continue;
      }
      const LearningPoint& point = has_ended ? run.curve.back() : run.curve[i];
      row.ended += has_ended ? 1 : 0;
      row.at = std::max(row.at, point.at);
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

std::string ended_in_words(const Learning& learning, const std::vector<LearningRow>& rows) {
  if (rows.empty() || rows.back().ended == 0) return {};
  return fmt::format("{} of {} repeats ended before the last point and keep the values of their end",
                     rows.back().ended, learning.repeats.size());
}

std::string_view error_name(const Learning& learning) {
  return learning.test_samples.value_or(0) > 0 ? "test error" : "training error";
}

std::string learning_title(const Run& run) {
  return fmt::format("{}, in the order of {} on {}", learner_title(*run.experiment.settings.learn),
                     clock_name(run), run.experiment.settings.platform);
}

std::vector<std::string> learning_notes(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  std::vector<std::string> notes{
      fmt::format("the clock is that of {}, the losses are those of {}: they show what this order of updates "
                  "does to learning, not when {} is trained",
                  clock_name(run), learner_title(*resolved.settings.learn), clock_name(run))};
  if (resolved.learning_sets) notes.push_back("learning data: " + resolved.learning_sets->source);
  if (const auto& growth = resolved.settings.sync.adaptive_k)
    notes.push_back(
        fmt::format("k grows with the square root of the start's loss over the loss, looked at "
                    "after every {} updates (AdaSync)",
                    growth->every));
  if (resolved.settings.accumulation > 1)
    notes.push_back(
        fmt::format("each gradient in learning has learn.batch samples; the job's accumulation of {} only "
                    "takes its time",
                    resolved.settings.accumulation));
  if (resolved.settings.faults)
    notes.emplace_back(
        "learning: gradients of dead workers are left out; the others keep their times, though on shared "
        "links the fault makes them a little shorter");
  const Updates* const updates = updates_of(run);
  if (updates != nullptr && updates->ranks_per_worker > 1)
    notes.push_back(fmt::format("a gradient in learning is that of a node: {} ranks' batches",
                                updates->ranks_per_worker));
  return notes;
}

}  // namespace trainyard
