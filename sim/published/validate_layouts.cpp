#include "published/validate_layouts.hpp"

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
  double scale = 1;       ///< factor on all kernel times
  bool is_ideal = false;  ///< no software
};

double throughput_with(ResolvedExperiment resolved, const LayoutChange& change) {
  resolved.stack.compute_scale.value *= change.scale;
  if (change.is_ideal) {
    resolved.stack.slowdown = OpSlowdown{};
    resolved.stack.slowest_gpu = 1;
  }
  return simulate(std::move(resolved), {.fidelity = Fidelity::closed, .timeline = false}).pace.throughput;
}

/// The predictions of a series, in the order of its runs.
class LayoutSeries {
public:
  LayoutSeries(const config::Catalogue& catalogue, const LayoutRun* fitted)
      : catalogue_(catalogue), fitted_(fitted) {
    files_.wants_published_errors = false;
  }

  nlohmann::json predict(const LayoutRun& run) {
    nlohmann::json predictions = nlohmann::json::array();
    try {
      const ResolvedExperiment resolved = inputs_of(catalogue_, run, files_);
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
    return {{"predictions", predictions}, {"scale", scale_.value_or(1)}};
  }

private:
  static nlohmann::json with(const ResolvedExperiment& resolved, const LayoutChange& change) {
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
      scale_ = solve_scale(1 / fitted_->measured,
                           [&](double scale) { return 1 / throughput_with(resolved, {.scale = scale}); });
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
    return scale_;
  }

  const config::Catalogue& catalogue_;
  const LayoutRun* fitted_;
  InputFiles files_;
  std::optional<double> scale_;
  bool is_solved_ = false;
};

/// The run on the fewest GPUs; the first of them.
std::size_t smallest_of(const std::vector<std::size_t>& series, const std::vector<ScoredLayout>& runs) {
  return *std::ranges::min_element(series, {}, [&](std::size_t i) { return runs[i].run.row->gpus_total; });
}

void predict_all(const config::Catalogue& catalogue, LayoutValidation& validation, int parallel) {
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
    LayoutSeries series(catalogue, &validation.runs[jobs[at(job)].fitted].run);
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
      for (std::size_t fit = 0; fit < layout_fits.size(); ++fit) {
        const nlohmann::json& its = all[k]["predictions"][fit];
        if (!its[0].is_null()) scored.predictions[fit].throughput = its[0].get<double>();
        scored.predictions[fit].reason = its[1];
      }
    }
  }
}

}  // namespace

std::optional<double> ScoredLayout::error(LayoutFit fit) const {
  const LayoutPrediction& its = prediction(fit);
  if (!its.throughput) return std::nullopt;
  return *its.throughput / run.measured - 1;
}

LayoutValidation validate_layouts(const config::Catalogue& catalogue,
                                  std::shared_ptr<const PublishedData> data, int parallel) {
  LayoutValidation validation{.data = data, .runs = {}, .excluded = {}};
  std::set<std::string> timed;
  for (const PublishedRow& row : data->rows) {
    if (is_time(row)) timed.insert(identity_of(row));
  }
  for (const PublishedRow& row : data->rows) {
    auto run = layout_run(data, row);
    if (!is_to_be_predicted(row)) {
      ++validation.excluded["not to be scored"];
    } else if (!is_time(row) && timed.contains(identity_of(row))) {
      ++validation.excluded[std::string(given_as_time)];
    } else if (const auto* reason = std::get_if<std::string>(&run)) {
      ++validation.excluded[*reason];
    } else {
      validation.runs.push_back(
          {.run = std::get<LayoutRun>(std::move(run)), .family = first_match(data->run_rules.families, row)});
    }
  }
  predict_all(catalogue, validation, parallel);
  return validation;
}

LayoutErrors errors_of(const LayoutValidation& validation, LayoutFit fit,
                       const std::optional<std::string>& family) {
  std::vector<double> errors;
  std::vector<double> with_sign;
  for (const ScoredLayout& scored : validation.runs) {
    if (scored.family == nullptr) continue;
    if (family ? scored.family->family != *family : !scored.family->not_in_totals.empty()) continue;
    const std::optional<double> error = scored.error(fit);
    if (!error) continue;
    with_sign.push_back(*error);
    errors.push_back(std::abs(*error));
  }
  LayoutErrors result{.runs = static_cast<int>(errors.size())};
  if (errors.empty()) return result;
  result.mape = mean(errors);
  result.median = quantile(errors, 0.5);
  result.p90 = quantile(errors, 0.9);
  result.worst = quantile(errors, 1);
  result.bias = mean(with_sign);
  return result;
}

}  // namespace trainyard
