#include "experiment/job.hpp"

#include "experiment/experiment.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <system_error>

namespace trainyard {

namespace {

void check_length(const JobSettings& job, config::Problems& problems) {
  if (job.epochs && job.steps) {
    problems.error("job.steps", "'epochs' and 'steps' are both the length of the job", "keep one of them");
  }
  if (job.target && (job.epochs || job.steps)) {
    problems.error("job.target", "'target' and 'epochs' or 'steps' are both the length of the job",
                   "keep one of them");
  }
  if (!job.epochs && !job.steps && !job.target) {
    problems.error("job", "'job' needs 'epochs', 'steps' or 'target'",
                   "add 'epochs: 90' or 'steps: 100000', or --epochs 90");
  }
}

void check_interval(const std::string& key, const std::string& every, config::Problems& problems) {
  if (!interval_in(every))
    problems.error(key, in_quotes(every) + " is no interval",
                   "1 epoch, 0.5 epochs or 2000 steps; at least 0.001 epochs or 1 step");
}

/// Evaluation is simulated where each rank runs the whole forward pass.
void check_evaluation(const Experiment& experiment, config::Problems& problems) {
  const auto refuse = [&](bool is_given, std::string_view key, std::string_view why, std::string_view hint) {
    if (is_given)
      problems.error("job.evaluation", fmt::format("evaluation is not simulated with '{}': {}", key, why),
                     std::string(hint));
  };
  constexpr std::string_view leave_out = "leave out 'evaluation', or that key";
  refuse(experiment.parallelism.has_value(), "parallelism", "ranks share a model", leave_out);
  refuse(experiment.traces.has_value(), "traces", "ranks do different work", leave_out);
  refuse(experiment.sync.kind == SyncKind::dataparallel_gpu0, "sync.kind: dataparallel_gpu0",
         "it broadcasts the parameters before each forward pass", "kind: all_reduce");
  refuse(is_multi_update(experiment), "random, servers or update rules", "steps differ",
         "leave out 'evaluation', or simulate a steady step");
}

void check_broadcast(const Experiment& experiment, config::Problems& problems) {
  const auto refuse = [&](bool is_given, const char* why) {
    if (is_given) problems.error("job.broadcast", why, "broadcast: false");
  };
  refuse(has_servers(experiment.sync), "parameters come from servers: no rank broadcasts them");
  refuse(experiment.sync.kind == SyncKind::dataparallel_gpu0,
         "dataparallel_gpu0 broadcasts the parameters in every step");
  refuse(experiment.parallelism || experiment.traces,
         "the broadcast is not simulated for ranks that share a model or replay traces of their own");
}

}  // namespace

bool simulates_evaluation(const Experiment& experiment) {
  return !experiment.parallelism && !experiment.traces && !is_multi_update(experiment) &&
         experiment.sync.kind != SyncKind::dataparallel_gpu0;
}

std::optional<JobInterval> interval_in(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view unit = text.substr(blank + 1);
  const bool is_in_epochs = unit == "epoch" || unit == "epochs";
  if (!is_in_epochs && unit != "step" && unit != "steps") return std::nullopt;
  JobInterval interval{.is_in_epochs = is_in_epochs};
  const auto [end, error] = std::from_chars(text.data(), text.data() + blank, interval.number);
  if (error != std::errc{} || end != text.data() + blank) return std::nullopt;
  const double least = is_in_epochs ? JobInterval::least_epochs : JobInterval::least_steps;
  if (!std::isfinite(interval.number) || interval.number < least || interval.number > JobInterval::most)
    return std::nullopt;
  return interval;
}

void check_job(const Experiment& experiment, config::Problems& problems) {
  const JobSettings& job = *experiment.job;
  check_length(job, problems);
  if (job.evaluation) {
    check_interval("job.evaluation.every", job.evaluation->every, problems);
    check_evaluation(experiment, problems);
  }
  if (job.checkpoint) {
    check_interval("job.checkpoint.every", job.checkpoint->every, problems);
    if (experiment.faults)
      problems.error("job.checkpoint",
                     "the checkpoints of a job with faults are those of 'faults.checkpoint'",
                     "leave out 'job.checkpoint', or 'faults'");
  }
  if (job.broadcast) check_broadcast(experiment, problems);
}

}  // namespace trainyard
