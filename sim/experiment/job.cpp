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

void check_interval(const std::string& key, const std::string& every, config::Problems& problems) {
  if (!interval_in(every))
    problems.error(key, in_quotes(every) + " is no interval",
                   "1 epoch, 0.5 epochs or 2000 steps; at least 0.001 epochs or 1 step");
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

void check_intervals(const JobSettings& job, config::Problems& problems) {
  if (job.evaluation) check_interval("job.evaluation.every", job.evaluation->every, problems);
  if (job.checkpoint) check_interval("job.checkpoint.every", job.checkpoint->every, problems);
}

}  // namespace trainyard
