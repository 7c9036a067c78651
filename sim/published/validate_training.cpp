#include "published/validate_training.hpp"

#include "experiment/prediction_error.hpp"
#include "run/child_processes.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr double too_rounded = 0.02;       // R6: coarsest rounding that still counts as precise
constexpr double collapse = 1.25;          // R7: smallest plausible speedup when GPUs double
constexpr double more_than_linear = 1.05;  // R8: largest plausible speedup relative to linear

/// The runs of all rows by series, in which fitting rows are looked up.
using SeriesRuns = std::map<SeriesKey, std::vector<PublishedRun>>;

SeriesRuns runs_by_series(const std::shared_ptr<const PublishedData>& data,
                          const std::vector<PublishedRow>& rows) {
  SeriesRuns all;
  for (const PublishedRow& row : rows) {
    if (row.clean == "no" || row.split == "context") continue;
    auto run = published_run(data, row);
    if (auto* known = std::get_if<PublishedRun>(&run)) all[known->series].push_back(std::move(*known));
  }
  return all;
}

bool is_on_one_gpu(const PublishedRun& run) { return run.row->gpus_total == 1; }

bool is_full_node_of(const PublishedRun& run, const PublishedRow& target) {
  const PublishedRow& row = *run.row;
  return row.nodes == 1 && row.gpus_total == row.gpus_per_node && row.gpus_per_node == target.gpus_per_node;
}

template <class Test>
std::vector<const PublishedRun*> those_of(const SeriesRuns& all, const SeriesKey& key, const Test& test) {
  std::vector<const PublishedRun*> found;
  const auto series = all.find(key);
  if (series == all.end()) return found;
  for (const PublishedRun& run : series->second) {
    if (test(run)) found.push_back(&run);
  }
  return found;
}

/// The runs on the fewest GPUs of a series, whatever their batch: for series without a run on one GPU or one
/// node.
std::vector<const PublishedRun*> smallest_of(const SeriesRuns& all, SeriesKey key,
                                             const PublishedRow& target) {
  std::vector<const PublishedRun*> found;
  key.batch_per_gpu.clear();
  for (const auto& [its, runs] : all) {
    SeriesKey without_batch = its;
    without_batch.batch_per_gpu.clear();
    if (without_batch != key) continue;
    for (const PublishedRun& run : runs) {
      const int gpus = run.row->gpus_total;
      if (gpus >= target.gpus_total) continue;
      if (!found.empty() && gpus < found.front()->row->gpus_total) found.clear();
      if (found.empty() || gpus == found.front()->row->gpus_total) found.push_back(&run);
    }
  }
  return found;
}

/// Given rows take precedence over those looked up.
SeriesTarget target_of(const PublishedRun& run, const SeriesRuns& given, const SeriesRuns& lookup) {
  SeriesTarget target{.run = &run, .one_gpu = {}, .one_node = {}};
  const auto seek = [&](const auto& test) {
    auto found = those_of(given, run.series, test);
    return found.empty() ? those_of(lookup, run.series, test) : found;
  };
  if (run.row->gpus_total > 1) target.one_gpu = seek(is_on_one_gpu);
  if (run.row->nodes == 1) return target;
  target.one_node = seek([&](const PublishedRun& other) { return is_full_node_of(other, *run.row); });
  if (!target.one_node.empty() || !target.one_gpu.empty()) return target;
  // the smallest of both lists: a run that is used for fitting is never scored
  target.one_node = smallest_of(given, run.series, *run.row);
  std::vector<const PublishedRun*> other = smallest_of(lookup, run.series, *run.row);
  const auto gpus_of = [](const std::vector<const PublishedRun*>& runs) {
    return runs.front()->row->gpus_total;
  };
  if (target.one_node.empty() || (!other.empty() && gpus_of(other) < gpus_of(target.one_node)))
    target.one_node = std::move(other);
  return target;
}

nlohmann::json json_of(const std::optional<double>& number) {
  return number ? nlohmann::json(*number) : nlohmann::json(nullptr);
}

std::optional<double> number_of(const nlohmann::json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

nlohmann::json json_of(const PredictedRun& run) {
  nlohmann::json predictions = nlohmann::json::array();
  for (const Prediction& its : run.by_fit.values)
    predictions.push_back({json_of(its.throughput), its.compute_scale, its.reason});
  return {json_of(run.measured),
          json_of(run.linear_from_one_gpu),
          json_of(run.linear_from_one_node),
          predictions,
          use_json(run.use),
          run.divides_layers};
}

PredictedRun predicted_run(const nlohmann::json& json) {
  PredictedRun run{.measured = number_of(json[0]),
                   .by_fit = {},
                   .use = use_of(json[4]),
                   .divides_layers = json[5],
                   .linear_from_one_gpu = number_of(json[1]),
                   .linear_from_one_node = number_of(json[2])};
  for (std::size_t i = 0; i < fit_count; ++i) {
    const nlohmann::json& its = json[3][i];
    run.by_fit.values[i] = {.throughput = number_of(its[0]), .compute_scale = its[1], .reason = its[2]};
  }
  return run;
}

/// The targets by series, each series predicted in a child process.
void predict_all(const config::Catalogue& catalogue, const std::vector<SeriesTarget>& targets,
                 std::vector<ScoredRun>& runs, int parallel, const PredictionOptions& options) {
  std::map<SeriesKey, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < targets.size(); ++i) by_series[targets[i].run->series].push_back(i);
  std::vector<std::vector<std::size_t>> jobs;
  for (auto& [key, its] : by_series) jobs.push_back(std::move(its));
  const auto predict = [&](int job) {
    std::vector<SeriesTarget> its;
    for (const std::size_t i : jobs[at(job)]) its.push_back(targets[i]);
    nlohmann::json all = nlohmann::json::array();
    for (const PredictedRun& predicted : predict_series(catalogue, its, options))
      all.push_back(json_of(predicted));
    return all.dump();
  };
  const std::vector<std::string> results = in_children(static_cast<int>(jobs.size()), parallel, predict);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const nlohmann::json all = nlohmann::json::parse(results[job]);
    for (std::size_t k = 0; k < jobs[job].size(); ++k) runs[jobs[job][k]].predicted = predicted_run(all[k]);
  }
}

void judge(const SeriesTarget& target, ScoredRun& scored) {
  struct Asked {
    FitKind fit;
    bool is_asked;
    std::vector<const PublishedRun*> fitted_to;
  };
  const auto rounded = [](const PublishedRun* run) { return run->measured.rounding > too_rounded; };
  for (const Asked& asked : {Asked{FitKind::nothing, true, {}}, Asked{FitKind::software, true, {}},
                             Asked{FitKind::one_gpu, !target.one_gpu.empty(), target.one_gpu},
                             Asked{FitKind::one_node, !target.one_node.empty(), target.one_node}}) {
    Verdict& verdict = scored.verdicts[asked.fit];
    const Prediction& prediction = scored.predicted.by_fit[asked.fit];
    verdict.is_asked = asked.is_asked;
    if (asked.is_asked && !prediction.throughput) verdict.excluded = prediction.reason;
    verdict.is_rounded = rounded(&scored.run) || std::ranges::any_of(asked.fitted_to, rounded);
  }
  if (scored.run.row->gpus_total == 1)
    scored.verdicts[FitKind::one_gpu].excluded = "one-GPU run, used for the fit";
  else if (target.one_gpu.empty())
    scored.verdicts[FitKind::one_gpu].excluded = "no one-GPU run in its series (R4)";
  if (scored.run.row->nodes == 1)
    scored.verdicts[FitKind::one_node].excluded = "one-node run, used for the fit";
  else if (target.one_node.empty())
    scored.verdicts[FitKind::one_node].excluded = "no run on a full node in its series (R4)";
}

/// Applies R7 and R8 to the runs of one series on one machine.
void judge_outcomes(const std::vector<ScoredRun*>& series) {
  std::map<int, double> measured;  // by number of GPUs; if several tables give it, the fastest
  bool is_superlinear = false;
  for (const ScoredRun* scored : series) {
    const PredictedRun& predicted = scored->predicted;
    const int gpus = scored->run.row->gpus_total;
    if (!predicted.measured) continue;
    measured[gpus] = std::max(measured[gpus], *predicted.measured);
    if (!predicted.linear_from_one_gpu) continue;
    measured[1] = *predicted.linear_from_one_gpu / gpus;
    is_superlinear =
        is_superlinear || *predicted.measured > more_than_linear * *predicted.linear_from_one_gpu;
  }
  std::optional<int> collapsed_at;
  for (const auto& [gpus, throughput] : measured) {
    const auto half = measured.find(gpus / 2);
    if (gpus % 2 == 0 && half != measured.end() && throughput < collapse * half->second && !collapsed_at)
      collapsed_at = gpus;
  }
  for (ScoredRun* scored : series) {
    if (collapsed_at && scored->run.row->gpus_total >= *collapsed_at) {
      for (Verdict& verdict : scored->verdicts.values)
        verdict.outcome = "less than 1.25 times as fast as half the GPUs (R7)";
    }
    if (is_superlinear && scored->verdicts[FitKind::one_gpu].outcome.empty())
      scored->verdicts[FitKind::one_gpu].outcome =
          "more than 5 % faster than linear scaling of its one-GPU run (R8)";
  }
}

void score_missed(TrainingValidation& validation) {
  std::vector<const PublishedRow*> missed;
  for (const MissedRow& its : validation.missed) missed.push_back(its.row);
  const std::vector<LinearErrors> errors = linear_errors(missed, *validation.data);
  for (std::size_t i = 0; i < errors.size(); ++i) validation.missed[i].linear = errors[i];
}

}  // namespace

bool is_to_be_predicted(const PublishedRow& row) {
  return row.split != "calibrate" && row.split != "context" && row.clean != "no";
}

const Verdict& ScoredRun::verdict(FitKind fit) const { return verdicts[fit]; }

bool ScoredRun::is_scored(FitKind fit) const {
  return verdict(fit).is_asked && verdict(fit).excluded.empty();
}

bool ScoredRun::counts(FitKind fit) const {
  return is_scored(fit) && verdict(fit).outcome.empty() && family != nullptr && family->not_in_totals.empty();
}

double ScoredRun::error(FitKind fit) const {
  return *predicted.by_fit[fit].throughput / *predicted.measured - 1;
}

TrainingValidation validate_training(const config::Catalogue& catalogue,
                                     std::shared_ptr<const PublishedData> data, int parallel,
                                     const PredictionOptions& options) {
  TrainingValidation validation;
  const RunRules& rules = data->run_rules;
  for (const PublishedRow& row : data->rows) {
    auto run = published_run(data, row);
    if (!is_to_be_predicted(row)) {
      ++validation.excluded[row.split == "context"     ? "context, not a measurement"
                            : row.split == "calibrate" ? "calibration run, not scored"
                                                       : "incomplete or contradictory source"];
    } else if (const auto* reason = std::get_if<std::string>(&run)) {
      ++validation.excluded[*reason];
      const auto measurement = training_measurement(row);
      const auto* unread = std::get_if<std::string>(&measurement);
      if (unread == nullptr || *unread != not_a_throughput)
        validation.missed.push_back({.row = &row, .family = first_match(rules.families, row)});
    } else {
      ScoredRun& scored = validation.runs.emplace_back();
      scored.run = std::get<PublishedRun>(std::move(run));
      scored.family = first_match(rules.families, row);
      scored.outlier = first_match(rules.outliers, row);
    }
  }
  const SeriesRuns given = runs_by_series(data, data->rows);
  const SeriesRuns others = runs_by_series(data, data->lookup);
  std::vector<SeriesTarget> targets;
  std::map<std::pair<SeriesKey, std::string>, std::vector<ScoredRun*>> by_series;  // and platform
  for (ScoredRun& scored : validation.runs) {
    targets.push_back(target_of(scored.run, given, others));
    by_series[{scored.run.series, scored.run.machine->platform}].push_back(&scored);
  }
  InputFiles files;
  for (const FitKind fit : options.fits) {
    if (fit != FitKind::one_node)
      validation.shipped_errors[fit] = known_errors(catalogue, config::name_of(fit), false, files);
  }
  PredictionOptions predictions = options;
  if (std::ranges::find(options.fits, FitKind::software) != options.fits.end()) {
    const bool has_lookup = !data->lookup.empty();
    auto runs = kernel_times(catalogue, data, has_lookup ? data->lookup : data->rows, parallel);
    if (!runs.empty()) validation.software = std::make_shared<const SoftwareFit>(std::move(runs));
    predictions.software = validation.software.get();
  }
  predict_all(catalogue, targets, validation.runs, parallel, predictions);
  for (std::size_t i = 0; i < targets.size(); ++i) judge(targets[i], validation.runs[i]);
  for (const auto& [key, series] : by_series) judge_outcomes(series);
  validation.data = std::move(data);
  score_missed(validation);
  return validation;
}

}  // namespace trainyard
