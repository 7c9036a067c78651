#include "published/validate_layouts.hpp"

#include "experiment/prediction_error.hpp"
#include "published/contradictions.hpp"
#include "published/predict_series.hpp"
#include "published/validate_training.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace trainyard {
namespace {

struct LayoutChange {
  double scale = 1;         ///< factor on all kernel times
  bool is_ideal = false;    ///< no software
  bool equal_gpus = false;  ///< no step waits for its slowest GPU
};

double throughput_with(ResolvedExperiment resolved, const LayoutChange& change) {
  resolved.stack.compute_scale.value *= change.scale;
  if (change.is_ideal) {
    resolved.stack.slowdown = OpSlowdown{};
    resolved.stack.slowest_gpu = 1;
  }
  if (change.equal_gpus) resolved.stack.slowest_gpu = 1;
  return simulate(std::move(resolved), {.fidelity = Fidelity::closed, .timeline = false}).pace.throughput;
}

/// The predictions of a series, in the order of its runs.
class LayoutSeries {
public:
  LayoutSeries(const config::Catalogue& catalogue, const LayoutRun* fitted, bool equal_gpus)
      : catalogue_(catalogue), fitted_(fitted), equal_gpus_(equal_gpus) {
    files_.wants_published_errors = false;
  }

  /// Runs of the same experiment are predicted once.
  nlohmann::json predict(const LayoutRun& run) {
    const std::string identity = identity_of(run) + (&run == fitted_ ? "fitted" : "");
    if (const auto known = known_.find(identity); known != known_.end()) return known->second;
    return known_[identity] = predict_anew(run);
  }

private:
  nlohmann::json predict_anew(const LayoutRun& run) {
    nlohmann::json predictions = nlohmann::json::array();
    nlohmann::json memory;
    nlohmann::json of;
    try {
      const ResolvedExperiment resolved = inputs_of(catalogue_, run, files_);
      of = text_of(circumstances_of(resolved));
      memory = memory_json(resolved);
      predictions.push_back(with(resolved, {.is_ideal = true}));
      predictions.push_back(with(resolved, {}));
      if (&run == fitted_)
        predictions.push_back({nullptr, "the run that is fitted to"});
      else if (const std::optional<double> scale = its_scale())
        predictions.push_back(with(resolved, {.scale = *scale}));
      else
        predictions.push_back({nullptr, "no factor on kernel times matches the run that is fitted to"});
    } catch (const InputError& error) {
      predictions.clear();
      for (std::size_t i = 0; i < layout_fits.size(); ++i)
        predictions.push_back({nullptr, error.diagnostics().front().message});
    }
    return {{"predictions", predictions}, {"scale", scale_.value_or(1)}, {"memory", memory}, {"of", of}};
  }

  /// As a line of a table of errors, from which it is read again.
  static std::string text_of(Circumstances of) {
    return published_errors_text(
        {.fit = "one", .runs = {{.of = std::move(of), .measured = 1, .predicted = 1}}});
  }

  static nlohmann::json memory_json(const ResolvedExperiment& resolved) {
    try {
      const LayoutMemory its = memory_of(resolved);
      return {its.state.si(), its.activations.si(), its.allocated.si(), its.whole.si(), its.fits};
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
    return nullptr;
  }

  nlohmann::json with(const ResolvedExperiment& resolved, LayoutChange change) const {
    change.equal_gpus = equal_gpus_;
    try {
      return {throughput_with(resolved, change), ""};
    } catch (const InputError& error) {
      return {nullptr, error.diagnostics().front().message};
    } catch (const JobImpossible& error) {
      return {nullptr, error.what()};
    }
  }

  /// The scale at which the run that is fitted to is as fast as published.
  std::optional<double> its_scale() {
    if (is_solved_) return scale_;
    is_solved_ = true;
    try {
      const ResolvedExperiment resolved = inputs_of(catalogue_, *fitted_, files_);
      scale_ = solve_scale(1 / fitted_->measured, [&](double scale) {
        return 1 / throughput_with(resolved, {.scale = scale, .equal_gpus = equal_gpus_});
      });
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
    return scale_;
  }

  const config::Catalogue& catalogue_;
  const LayoutRun* fitted_;
  bool equal_gpus_ = false;
  InputFiles files_;
  std::map<std::string, nlohmann::json> known_;
  std::optional<double> scale_;
  bool is_solved_ = false;
};

/// The run on the fewest GPUs; the first of them.
std::size_t smallest_of(const std::vector<std::size_t>& series, const std::vector<ScoredLayout>& runs) {
  return *std::ranges::min_element(series, {}, [&](std::size_t i) { return runs[i].run.row->gpus_total; });
}

void predict_all(const config::Catalogue& catalogue, LayoutValidation& validation, int parallel,
                 bool equal_gpus) {
  std::map<std::string, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < validation.runs.size(); ++i)
    by_series[validation.runs[i].run.series].push_back(i);
  struct Job {
    std::vector<std::size_t> runs;
    std::size_t fitted = 0;
  };
  constexpr std::size_t runs_per_job = 25;
  std::vector<Job> jobs;
  for (const auto& [series, its] : by_series) {
    const std::size_t fitted = smallest_of(its, validation.runs);
    validation.runs[fitted].is_fitted = true;
    for (std::size_t i = 0; i < its.size(); i += runs_per_job) {
      const auto first = its.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = its.begin() + static_cast<std::ptrdiff_t>(std::min(i + runs_per_job, its.size()));
      jobs.push_back({.runs = {first, last}, .fitted = fitted});
    }
  }
  const auto predict = [&](int job) {
    LayoutSeries series(catalogue, &validation.runs[jobs[at(job)].fitted].run, equal_gpus);
    nlohmann::json all = nlohmann::json::array();
    for (const std::size_t i : jobs[at(job)].runs) all.push_back(series.predict(validation.runs[i].run));
    return all.dump();
  };
  const std::vector<std::string> results = in_children(static_cast<int>(jobs.size()), parallel, predict);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const nlohmann::json all = nlohmann::json::parse(results[job]);
    for (std::size_t k = 0; k < jobs[job].runs.size(); ++k) {
      ScoredLayout& scored = validation.runs[jobs[job].runs[k]];
      scored.scale = all[k]["scale"];
      if (const nlohmann::json& of = all[k]["of"]; !of.is_null())
        scored.of = read_published_errors("", of.get<std::string>()).runs.front().of;
      if (const nlohmann::json& memory = all[k]["memory"]; !memory.is_null())
        scored.memory = {.state = Bytes{memory[0].get<double>()},
                         .activations = Bytes{memory[1].get<double>()},
                         .allocated = Bytes{memory[2].get<double>()},
                         .whole = Bytes{memory[3].get<double>()},
                         .fits = memory[4].get<bool>()};
      for (std::size_t fit = 0; fit < layout_fits.size(); ++fit) {
        const nlohmann::json& its = all[k]["predictions"][fit];
        if (!its[0].is_null()) scored.predictions[fit].throughput = its[0].get<double>();
        scored.predictions[fit].reason = its[1];
      }
    }
  }
}

LayoutErrors summary_of(const std::vector<double>& with_sign) {
  std::vector<double> errors;
  for (const double error : with_sign) errors.push_back(std::abs(error));
  LayoutErrors result{.runs = static_cast<int>(errors.size())};
  if (errors.empty()) return result;
  result.mape = mean(errors);
  result.median = quantile(errors, 0.5);
  result.p90 = quantile(errors, 0.9);
  result.worst = quantile(errors, 1);
  result.bias = mean(with_sign);
  return result;
}

/// Whether the row is about how fast a run was.
bool states_a_speed(const PublishedRow& row) {
  return is_time(row) || row.metric == "hardware_flops" || row.metric == "model_flops";
}

/// Predicts the memory of a row that has a figure of it.
void add_memory(const config::Catalogue& catalogue, LayoutValidation& validation, const PublishedRow& row,
                InputFiles& files) {
  auto run = untimed_layout_run(validation.data, row);
  if (const auto* reason = std::get_if<std::string>(&run)) {
    ++validation.excluded["a figure of memory: " + *reason];
    return;
  }
  std::optional<ScoredMemory> scored = memory_figure(std::get<LayoutRun>(std::move(run)));
  if (!scored) {
    ++validation.excluded["a figure of memory that is no size"];
    return;
  }
  try {
    scored->predicted = memory_of(inputs_of(catalogue, scored->run, files));
    validation.memory.push_back(*std::move(scored));
  } catch (const InputError& error) {
    ++validation.excluded["a figure of memory: " + error.diagnostics().front().message];
  } catch (const JobImpossible& error) {
    ++validation.excluded[std::string("a figure of memory: ") + error.what()];
  }
}

}  // namespace

std::optional<double> ScoredLayout::error(LayoutFit fit) const {
  const LayoutPrediction& its = prediction(fit);
  if (!its.throughput) return std::nullopt;
  return *its.throughput / run.measured - 1;
}

LayoutValidation validate_layouts(const config::Catalogue& catalogue,
                                  std::shared_ptr<const PublishedData> data, int parallel, bool equal_gpus) {
  LayoutValidation validation{.data = data, .runs = {}, .memory = {}, .excluded = {}, .missed = {}};
  const std::set<const PublishedRow*> computed = rows_with_a_constant_added(data->rows);
  std::set<std::string> timed;     // by the time of a step
  std::set<std::string> measured;  // by time or throughput
  for (const PublishedRow& row : data->rows) {
    if (row.metric == "step_time") timed.insert(identity_of(row));
    if (is_time(row)) measured.insert(identity_of(row));
  }
  InputFiles files;
  files.wants_published_errors = false;
  std::set<std::string> experiments;
  for (const PublishedRow& row : data->rows) {
    if (is_about_memory(row) && is_to_be_predicted(row)) {
      add_memory(catalogue, validation, row, files);
      continue;
    }
    auto run = layout_run(data, row);
    if (!is_to_be_predicted(row)) {
      ++validation.excluded["not to be scored"];
    } else if (row.metric != "step_time" && (is_time(row) ? timed : measured).contains(identity_of(row))) {
      ++validation.excluded[std::string(given_as_time)];
    } else if (computed.contains(&row)) {
      ++validation
            .excluded["the time of the run with fewer replicas plus a constant: computed, not measured"];
    } else if (const std::string contradiction = flops_contradiction(row); !contradiction.empty()) {
      ++validation.excluded[contradiction];
    } else if (const auto* reason = std::get_if<std::string>(&run)) {
      ++validation.excluded[*reason];
      const FamilyRule* family = first_match(data->run_rules.families, row);
      if (states_a_speed(row) && family != nullptr) ++validation.missed[family->family];
    } else {
      validation.runs.push_back(
          {.run = std::get<LayoutRun>(std::move(run)), .family = first_match(data->run_rules.families, row)});
      ScoredLayout& scored = validation.runs.back();
      scored.is_repeated = !experiments.insert(identity_of(scored.run)).second;
    }
  }
  predict_all(catalogue, validation, parallel, equal_gpus);
  return validation;
}

LayoutVerdicts verdicts_of(const LayoutValidation& validation) {
  LayoutVerdicts verdicts;
  for (const ScoredLayout& scored : validation.runs) {
    if (scored.is_repeated || !scored.memory) continue;
    ++verdicts.ran;
    if (scored.memory->fits) ++verdicts.accepted;
  }
  for (const ScoredMemory& scored : validation.memory) {
    if (scored.figure != MemoryFigure::out_of_memory || !scored.predicted) continue;
    ++verdicts.failed;
    if (!scored.predicted->fits) ++verdicts.refused;
  }
  return verdicts;
}

std::optional<double> coverage_of(const LayoutValidation& validation,
                                  const std::optional<std::string>& family) {
  const auto counts = [&](const FamilyRule& its) {
    return family ? its.family == *family : its.not_in_totals.empty();
  };
  int predicted = 0;
  int all = 0;
  for (const ScoredLayout& scored : validation.runs) {
    if (scored.family == nullptr || !counts(*scored.family)) continue;
    ++all;
    if (scored.error(LayoutFit::software)) ++predicted;
  }
  for (const FamilyRule& rule : validation.data->run_rules.families) {
    const auto missed = validation.missed.find(rule.family);
    if (counts(rule) && missed != validation.missed.end()) all += missed->second;
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(predicted) / all;
}

LayoutErrors errors_of(const LayoutValidation& validation, LayoutFit fit,
                       const std::optional<std::string>& family) {
  std::vector<double> with_sign;
  for (const ScoredLayout& scored : validation.runs) {
    if (scored.family == nullptr) continue;
    if (family ? scored.family->family != *family : !scored.family->not_in_totals.empty()) continue;
    const std::optional<double> error = scored.error(fit);
    if (!error) continue;
    with_sign.push_back(*error);
  }
  return summary_of(with_sign);
}

LayoutErrors errors_of(const LayoutValidation& validation, MemoryFigure figure) {
  std::vector<double> with_sign;
  for (const ScoredMemory& scored : validation.memory) {
    if (scored.figure == figure && scored.predicted)
      with_sign.push_back(scored.prediction() / scored.published - 1);
  }
  return summary_of(with_sign);
}

}  // namespace trainyard
