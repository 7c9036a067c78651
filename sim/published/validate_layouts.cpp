#include "published/validate_layouts.hpp"

#include "experiment/prediction_error.hpp"
#include "published/changed_stack.hpp"
#include "published/contradictions.hpp"
#include "published/predict_series.hpp"
#include "published/validate_training.hpp"
#include "run/child_processes.hpp"
#include "run/closed_steps.hpp"
#include "run/simulate.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
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

/// `steps`: of the same experiment.
double throughput_with(ResolvedExperiment& resolved, ClosedSteps& steps, const LayoutChange& change) {
  const ChangedStack stack(resolved);
  stack->compute_scale.value *= change.scale;
  if (change.is_ideal) {
    stack->slowdown = OpSlowdown{};
    stack->slowest_gpu = 1;
  }
  if (change.equal_gpus) stack->slowest_gpu = 1;
  const bool is_checked = change.scale == 1 && !change.is_ideal;
  return (is_checked ? steps.checked_pace() : steps.pace()).throughput;
}

/// A run that the scale of its series is fitted to.
struct FittedRun {
  std::optional<double> scale;  ///< on all kernel times, so that it is as fast as published; if there is one
  std::optional<double> plain;  ///< its throughput without that, where it can be simulated
};

FittedRun fitted_run(const config::Catalogue& catalogue, const LayoutRun& run, InputFiles& files,
                     bool equal_gpus) {
  FittedRun fitted;
  try {
    ResolvedExperiment resolved = inputs_of(catalogue, run, files);
    ClosedSteps steps(resolved);
    fitted.scale = solve_scale(1 / run.measured, [&](double scale) {
      const double throughput = throughput_with(resolved, steps, {.scale = scale, .equal_gpus = equal_gpus});
      if (scale == 1) fitted.plain = throughput;
      return 1 / throughput;
    });
  } catch (const InputError&) {
  } catch (const JobImpossible&) {
  }
  return fitted;
}

/// The scale of a series for one of its runs; `reason`: why there is none.
struct LayoutScale {
  std::optional<double> value = {};
  std::string reason = {};
};

/// The predictions of several runs, in any order.
class LayoutPredictor {
public:
  /// `plain`: throughputs that are known, by the identity of the run.
  LayoutPredictor(const config::Catalogue& catalogue, const std::map<std::string, double>& plain,
                  bool equal_gpus)
      : catalogue_(catalogue), plain_(plain), equal_gpus_(equal_gpus) {
    files_.wants_published_errors = false;
  }

  /// Runs of the same experiment with the same scale are predicted once.
  nlohmann::json predict(const LayoutRun& run, const LayoutScale& scale) {
    const std::pair key{identity_of(run), scale.value};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    return known_[key] = predict_anew(run, scale);
  }

private:
  nlohmann::json predict_anew(const LayoutRun& run, const LayoutScale& scale) {
    nlohmann::json predictions = nlohmann::json::array();
    nlohmann::json memory;
    nlohmann::json of;
    try {
      ResolvedExperiment resolved = inputs_of(catalogue_, run, files_);
      of = text_of(circumstances_of(resolved));
      memory = memory_json(resolved);
      ClosedSteps steps(resolved);
      predictions.push_back(with(resolved, steps, {.is_ideal = true}));
      if (const auto known = plain_.find(identity_of(run)); known != plain_.end())
        predictions.push_back({known->second, ""});
      else
        predictions.push_back(with(resolved, steps, {}));
      if (scale.value)
        predictions.push_back(with(resolved, steps, {.scale = *scale.value}));
      else
        predictions.push_back({nullptr, scale.reason});
    } catch (const InputError& error) {
      predictions.clear();
      for (std::size_t i = 0; i < layout_fits.size(); ++i)
        predictions.push_back({nullptr, error.diagnostics().front().message});
    }
    return {{"predictions", predictions}, {"memory", memory}, {"of", of}};
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

  nlohmann::json with(ResolvedExperiment& resolved, ClosedSteps& steps, LayoutChange change) const {
    change.equal_gpus = equal_gpus_;
    try {
      return {throughput_with(resolved, steps, change), ""};
    } catch (const InputError& error) {
      return {nullptr, error.diagnostics().front().message};
    } catch (const JobImpossible& error) {
      return {nullptr, error.what()};
    }
  }

  const config::Catalogue& catalogue_;
  const std::map<std::string, double>& plain_;
  bool equal_gpus_ = false;
  InputFiles files_;
  std::map<std::pair<std::string, std::optional<double>>, nlohmann::json> known_;
};

/// The runs to which the scale of a series is fitted: those on the fewest GPUs, or seven of them, spread
/// over the order of the rows.
std::vector<std::size_t> smallest_of(const std::vector<std::size_t>& series,
                                     const std::vector<ScoredLayout>& runs) {
  constexpr std::size_t most = 7;
  const auto gpus = [&](std::size_t i) { return runs[i].run.row->gpus_total; };
  const auto fewest = gpus(*std::ranges::min_element(series, {}, gpus));
  std::vector<std::size_t> smallest;
  std::ranges::copy_if(series, std::back_inserter(smallest),
                       [&](std::size_t i) { return gpus(i) == fewest; });
  if (smallest.size() <= most) return smallest;
  std::vector<std::size_t> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(smallest[k * smallest.size() / most]);
  return some;
}

/// By run: those that scales are fitted to.
using FittedRuns = std::map<std::size_t, FittedRun>;

/// The scale for run `i`: the median of those of the smallest runs of its series which are not the same
/// experiment.
LayoutScale scale_for(std::size_t i, const std::vector<std::size_t>& smallest, const FittedRuns& fitted,
                      const std::vector<ScoredLayout>& runs) {
  std::vector<double> others;
  bool is_alone = true;
  for (const std::size_t other : smallest) {
    if (identity_of(runs[other].run) == identity_of(runs[i].run)) continue;
    is_alone = false;
    if (const std::optional<double> scale = fitted.at(other).scale) others.push_back(*scale);
  }
  if (!others.empty()) return {.value = quantile(others, 0.5)};
  return {.reason = is_alone ? "the run that is fitted to"
                             : "no factor on kernel times matches the runs that are fitted to"};
}

FittedRuns fitted_runs(const config::Catalogue& catalogue, const std::vector<ScoredLayout>& runs,
                       const std::vector<std::size_t>& fitted, int parallel, bool equal_gpus) {
  InputFiles files;  // of each worker, for all its runs
  files.wants_published_errors = false;
  const std::vector<std::string> results =
      in_children(static_cast<int>(fitted.size()), parallel, [&](int job) {
        const FittedRun its = fitted_run(catalogue, runs[fitted[at(job)]].run, files, equal_gpus);
        return nlohmann::json{its.scale ? nlohmann::json(*its.scale) : nlohmann::json(),
                              its.plain ? nlohmann::json(*its.plain) : nlohmann::json()}
            .dump();
      });
  const auto number = [](const nlohmann::json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<double>());
  };
  FittedRuns all;
  for (std::size_t k = 0; k < fitted.size(); ++k) {
    const nlohmann::json its = nlohmann::json::parse(results[k]);
    all[fitted[k]] = {.scale = number(its[0]), .plain = number(its[1])};
  }
  return all;
}

void predict_all(const config::Catalogue& catalogue, LayoutValidation& validation, int parallel,
                 bool equal_gpus) {
  std::map<std::string, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < validation.runs.size(); ++i)
    by_series[validation.runs[i].run.series].push_back(i);
  constexpr std::size_t runs_per_job = 25;
  std::vector<std::vector<std::size_t>> jobs;
  std::vector<std::size_t> fitted;
  std::map<std::size_t, std::vector<std::size_t>> smallest;  // by run, of its series
  for (const auto& [series, its] : by_series) {
    const std::vector<std::size_t> its_smallest = smallest_of(its, validation.runs);
    fitted.insert(fitted.end(), its_smallest.begin(), its_smallest.end());
    for (const std::size_t i : its) smallest[i] = its_smallest;
    for (std::size_t i = 0; i < its.size(); i += runs_per_job) {
      const auto first = its.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = its.begin() + static_cast<std::ptrdiff_t>(std::min(i + runs_per_job, its.size()));
      jobs.emplace_back(first, last);
    }
  }
  const FittedRuns scales = fitted_runs(catalogue, validation.runs, fitted, parallel, equal_gpus);
  std::map<std::string, double> plain;
  for (const auto& [i, its] : scales) {
    if (its.plain) plain[identity_of(validation.runs[i].run)] = *its.plain;
  }
  const auto scale_of_run = [&](std::size_t i) {
    return scale_for(i, smallest.at(i), scales, validation.runs);
  };
  LayoutPredictor predictor(catalogue, plain, equal_gpus);  // of each worker, for all its jobs
  const auto predict = [&](int job) {
    nlohmann::json all = nlohmann::json::array();
    for (const std::size_t i : jobs[at(job)])
      all.push_back(predictor.predict(validation.runs[i].run, scale_of_run(i)));
    return all.dump();
  };
  const std::vector<std::string> results = in_children(static_cast<int>(jobs.size()), parallel, predict);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const nlohmann::json all = nlohmann::json::parse(results[job]);
    for (std::size_t k = 0; k < jobs[job].size(); ++k) {
      ScoredLayout& scored = validation.runs[jobs[job][k]];
      const LayoutScale scale = scale_of_run(jobs[job][k]);
      scored.scale = scale.value.value_or(1);
      scored.is_fitted = !scale.value && scales.contains(jobs[job][k]);
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
  for (const LayoutFit fit : {LayoutFit::nothing, LayoutFit::software})
    validation.shipped_errors[static_cast<std::size_t>(fit)] =
        known_errors(catalogue, config::name_of(fit), true, files);
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
