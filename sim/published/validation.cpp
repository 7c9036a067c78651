#include "published/validation.hpp"

#include "experiment/prediction_error.hpp"
#include "published/contradictions.hpp"
#include "published/kernel_times.hpp"
#include "published/layout_rows.hpp"
#include "published/linear_scaling.hpp"
#include "published/match_rules.hpp"
#include "published/references.hpp"
#include "published/report_cases.hpp"
#include "published/target_cases.hpp"
#include "published/training_rows.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

constexpr double too_rounded = 0.02;       // R6: coarsest rounding that still counts as precise
constexpr double collapse = 1.25;          // R7: smallest plausible speedup when GPUs double
constexpr double more_than_linear = 1.05;  // R8: largest plausible speedup relative to linear

/// Why a row is not to be predicted at all.
std::string_view set_aside(const PublishedRow& row) {
  if (row.split == "context") return "context, not a measurement";
  return row.split == "calibrate" ? "calibration run, not scored" : "incomplete or contradictory source";
}

/// Gathers the cases of a validation, and counts the rows left out.
class Gathering {
public:
  explicit Gathering(Validation& into) : into_(into) {
    for (const FamilyRule& rule : into_.data->run_rules.families) add_family(rule.family, rule.not_in_totals);
  }

  void add_training() {
    for (const PublishedRow& row : into_.data->rows) {
      if (!is_to_be_predicted(row)) {
        ++into_.excluded[std::string(set_aside(row))];
        continue;
      }
      if (is_about_memory(row)) {
        if (!is_memory_verdict(row)) add_memory(row);  // memory_outcomes.hpp has the others
        continue;
      }
      add_by_rules(case_of(into_.data, row), row, may_be_a_speed(row));
    }
  }

  void add_layouts(const config::Catalogue& catalogue) {
    shipped_models_ = config::names(catalogue, config::Kind::model);
    const std::vector<PublishedRow>& rows = into_.data->rows;
    const std::set<const PublishedRow*> computed = rows_with_a_constant_added(rows);
    std::set<std::string> timed;     // by the time of a step
    std::set<std::string> measured;  // by time or throughput
    for (const PublishedRow& row : rows) {
      if (row.metric == "step_time") timed.insert(identity_of(row));
      if (is_time(row)) measured.insert(identity_of(row));
    }
    for (const PublishedRow& row : rows) {
      if (!is_to_be_predicted(row)) {
        ++into_.excluded["not to be scored"];
      } else if (is_about_memory(row)) {
        add_memory(row);
      } else if (row.metric != "step_time" && (is_time(row) ? timed : measured).contains(identity_of(row))) {
        ++into_.excluded[std::string(given_as_time)];
      } else if (computed.contains(&row)) {
        ++into_.excluded["the time of the run with fewer replicas plus a constant: computed, not measured"];
      } else if (const std::string contradiction = flops_contradiction(row); !contradiction.empty()) {
        ++into_.excluded[contradiction];
      } else {
        add_by_rules(case_of(into_.data, row), row, may_be_a_speed(row));
      }
    }
  }

  void add_reports(const config::Catalogue& catalogue) {
    std::vector<Diagnostic> errors;
    for (const PublishedRow& row : into_.data->rows) {
      const std::string_view name = report_family(row);
      const Family& family = add_family(
          std::string(name), is_about_collectives(name) ? "bandwidths, not speeds of training" : "");
      try {
        auto read = report_case_of(catalogue, into_.data, row);
        const bool is_wanted = is_to_be_predicted(row);
        if (!is_wanted && std::holds_alternative<Case>(read)) read = std::string(set_aside(row));
        add(std::move(read), row, &family, is_wanted && states_a_speed(row));
      } catch (const InputError& error) {
        errors.insert(errors.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
    if (!errors.empty()) throw InputError(std::move(errors));
  }

  void add_targets(const config::Catalogue& catalogue) {
    TargetCaseReader reader(catalogue, into_.data);
    std::set<std::tuple<std::string, std::string, std::string, std::string, double>> metered;
    for (const PublishedRow& row : into_.data->rows) {
      const TargetColumns& columns = row.to_target.value();
      if (!is_to_be_predicted(row)) {
        ++into_.excluded["calibration row or context, not scored"];
        continue;
      }
      // several meters may have read the same runs
      if (columns.metered_s > 0 &&
          !metered.emplace(columns.round, row.system, columns.benchmark, row.global_batch, columns.metered_s)
               .second) {
        ++into_.excluded["another meter of runs that are already counted"];
        continue;
      }
      const FamilyRule* rule = first_match(into_.data->run_rules.families, row);
      for (TargetCase& one : reader.cases_of(row)) {
        const Family& family = add_family(fmt::format("{}, {}", config::name_of(one.figure),
                                                      rule == nullptr ? columns.benchmark : rule->family),
                                          {});
        add(std::move(one.of), row, &family, true);
      }
    }
  }

private:
  const Family& add_family(const std::string& name, const std::string& not_in_totals) {
    for (const auto& known : into_.families) {
      if (known->name == name) return *known;
    }
    return *into_.families.emplace_back(std::make_unique<const Family>(Family{name, not_in_totals}));
  }

  const Family* family_of(const PublishedRow& row) {
    const FamilyRule* rule = first_match(into_.data->run_rules.families, row);
    return rule == nullptr ? nullptr : &add_family(rule->family, rule->not_in_totals);
  }

  /// Adds the case, or counts the reason why there is none.
  void add(std::variant<Case, std::string> read, const PublishedRow& row, const Family* family,
           bool lowers_coverage) {
    if (const auto* const reason = std::get_if<std::string>(&read)) {
      ++into_.excluded[*reason];
      if (!lowers_coverage) return;
      const bool is_eligible = !row.layout || (*reason != contradicts_gpus &&
                                               knows_sizes(row, into_.data->run_rules, shipped_models_));
      into_.missed.push_back({.row = &row, .family = family, .is_eligible = is_eligible});
    } else {
      into_.cases.push_back({.of = std::get<Case>(std::move(read)), .family = family});
    }
  }

  /// Adds it with family and suspected cause by the rules.
  void add_by_rules(std::variant<Case, std::string> read, const PublishedRow& row, bool lowers_coverage) {
    const bool is_known = std::holds_alternative<Case>(read);
    add(std::move(read), row, family_of(row), lowers_coverage);
    if (!is_known) return;
    ScoredCase& added = into_.cases.back();
    const Case& of = added.of;
    added.outlier = first_match(into_.data->run_rules.outliers, row);
    added.is_repeated =
        of.layout &&
        !experiments_.insert(identity_of(of, of.machine) + std::to_string(static_cast<int>(of.figure)))
             .second;
  }

  void add_memory(const PublishedRow& row) {
    auto read = case_of(into_.data, row, false);
    if (auto* const reason = std::get_if<std::string>(&read))
      reason->insert(0, "a figure of memory: ");
    else if (std::string problem = read_memory_figure(std::get<Case>(read)); !problem.empty())
      read = std::move(problem);
    add_by_rules(std::move(read), row, false);
  }

  Validation& into_;
  std::set<std::string> experiments_;
  std::vector<std::string> shipped_models_;  // for layouts
};

bool is_rounded(const Case* run) { return run->rounding > too_rounded; }

/// Why a case has no reference of a kind.
std::string_view without_reference(Fit fit, const Case& of) {
  if (fit == Fit::one_gpu)
    return of.row->gpus_total == 1 ? "one-GPU run, used for the fit" : "no one-GPU run in its series (R4)";
  if (fit == Fit::one_node)
    return of.row->nodes == 1 ? "one-node run, used for the fit" : "no run on a full node in its series (R4)";
  if (fit == Fit::one_layout) return "the run that is fitted to";
  return of.figure == CaseFigure::samples_to_target
             ? ""
             : "its result is fitted to, or no row of its system states a time";
}

void judge(const AskedCase& asked, RowKind kind, ScoredCase& scored) {
  for (const Fit fit : fits_of(kind)) {
    const std::vector<const Case*>& references = asked.references[fit];
    Verdict& verdict = scored.verdicts[fit];
    verdict.is_asked = true;
    verdict.is_rounded = is_rounded(&scored.of) || std::ranges::any_of(references, is_rounded);
    if (has_reference(fit) && references.empty() && !is_memory(scored.of.figure)) {
      verdict.excluded = without_reference(fit, scored.of);
      verdict.is_asked = verdict.excluded.empty();
    }
    const Prediction& prediction = scored.predicted.by_fit[fit];
    if (verdict.is_asked && !prediction.value) verdict.excluded = prediction.reason;
  }
}

/// Applies R7 and R8 to the runs of one series on one machine.
void judge_outcomes(const std::vector<ScoredCase*>& series) {
  std::map<int, double> measured;  // by number of GPUs; if several tables give it, the fastest
  bool is_superlinear = false;
  for (const ScoredCase* scored : series) {
    const PredictedCase& predicted = scored->predicted;
    const int gpus = scored->of.row->gpus_total;
    if (!predicted.measured) continue;
    measured[gpus] = std::max(measured[gpus], *predicted.measured);
    const std::optional<double>& linear = predicted.linear[Fit::one_gpu];
    if (!linear) continue;
    measured[1] = *linear / gpus;
    is_superlinear = is_superlinear || *predicted.measured > more_than_linear * *linear;
  }
  std::optional<int> collapsed_at;
  for (const auto& [gpus, throughput] : measured) {
    const auto half = measured.find(gpus / 2);
    if (gpus % 2 == 0 && half != measured.end() && throughput < collapse * half->second && !collapsed_at)
      collapsed_at = gpus;
  }
  for (ScoredCase* scored : series) {
    if (collapsed_at && scored->of.row->gpus_total >= *collapsed_at) {
      for (Verdict& verdict : scored->verdicts.values)
        verdict.outcome = "less than 1.25 times as fast as half the GPUs (R7)";
    }
    Verdict& one_gpu = scored->verdicts[Fit::one_gpu];
    if (is_superlinear && one_gpu.outcome.empty())
      one_gpu.outcome = "more than 5 % faster than linear scaling of its one-GPU run (R8)";
  }
}

void judge_outcomes(Validation& validation) {
  std::map<std::pair<std::string, std::string>, std::vector<ScoredCase*>> by_series;  // and platform
  for (ScoredCase& scored : validation.cases) {
    if (is_memory(scored.of.figure)) continue;
    by_series[{scored.of.series, scored.of.machine->platform}].push_back(&scored);
  }
  for (const auto& [key, series] : by_series) judge_outcomes(series);
  std::vector<const PublishedRow*> missed;
  for (const MissedRow& row : validation.missed) missed.push_back(row.row);
  const auto errors = linear_errors(missed, *validation.data);
  for (std::size_t i = 0; i < errors.size(); ++i) validation.missed[i].linear = errors[i];
}

/// Figures of memory whose memory cannot be predicted are left out with the reason.
void leave_out_unknown_memory(Validation& validation) {
  std::erase_if(validation.cases, [&](const ScoredCase& scored) {
    if (!is_memory(scored.of.figure) || scored.predicted.memory) return false;
    const Fit any = fits_of(validation.kind).front();
    ++validation.excluded["a figure of memory: " + scored.predicted.by_fit[any].reason];
    return true;
  });
}

}  // namespace

std::vector<Fit> fits_of(RowKind kind) {
  switch (kind) {
    case RowKind::training:
      return {Fit::nothing, Fit::software, Fit::one_gpu, Fit::one_node};
    case RowKind::layouts:
      return {Fit::nothing, Fit::software, Fit::one_layout};
    case RowKind::targets:
      return {Fit::nothing, Fit::software, Fit::one_system};
    case RowKind::reports:
      return {Fit::software};
  }
  return {};
}

Fit fit_for(RowKind kind, Fit asked) {
  if (kind == RowKind::reports) return Fit::software;
  if (!has_reference(asked)) return asked;
  if (kind != RowKind::training) return fits_of(kind).back();
  return asked == Fit::one_node ? asked : Fit::one_gpu;
}

bool is_to_be_predicted(const PublishedRow& row) {
  return row.split != "calibrate" && row.split != "context" && row.clean != "no";
}

bool ScoredCase::is_scored(Fit fit) const { return verdicts[fit].is_asked && verdicts[fit].excluded.empty(); }

bool ScoredCase::counts(Fit fit) const {
  return is_scored(fit) && verdicts[fit].outcome.empty() && family != nullptr &&
         family->not_in_totals.empty();
}

double ScoredCase::error(Fit fit) const { return *predicted.by_fit[fit].value / *predicted.measured - 1; }

Validation validate_rows(const config::Catalogue& catalogue, RowKind kind,
                         std::shared_ptr<const PublishedData> data, int parallel,
                         const PredictionOptions& options) {
  Validation validation{.kind = kind, .left_out = options.left_out, .data = std::move(data)};
  PredictionOptions predictions = options;
  predictions.fits.clear();
  for (const Fit fit : fits_of(kind)) {
    if (std::ranges::any_of(options.fits, [&](Fit asked) { return fit_for(kind, asked) == fit; }))
      predictions.fits.push_back(fit);
  }
  const auto is_wanted = [&](Fit fit) {
    return std::ranges::find(predictions.fits, fit) != predictions.fits.end();
  };
  InputFiles files;
  for (const Fit fit : {Fit::nothing, Fit::software, Fit::one_gpu}) {
    if ((kind == RowKind::training || kind == RowKind::layouts) && is_wanted(fit))
      validation.shipped_errors[fit] =
          known_errors(catalogue, config::name_of(fit), kind == RowKind::layouts, files);
    if (kind == RowKind::training && !has_reference(fit) && is_wanted(fit))
      validation.shipped_layout_errors[fit] = known_errors(catalogue, config::name_of(fit), true, files);
  }
  Gathering gathering(validation);
  std::deque<Case> kept;
  std::optional<References> references;
  std::vector<AskedCase> asked;
  switch (kind) {
    case RowKind::training:
      gathering.add_training();
      references.emplace(validation.data);
      for (const ScoredCase& scored : validation.cases) asked.push_back(references->asked(scored.of));
      if (is_wanted(Fit::software)) {
        const PublishedData& rows = *validation.data;
        auto runs =
            kernel_times(catalogue, validation.data, rows.lookup.empty() ? rows.rows : rows.lookup, parallel);
        if (!runs.empty()) validation.software = std::make_shared<const SoftwareFit>(std::move(runs));
        predictions.software = validation.software.get();
      }
      break;
    case RowKind::layouts:
      gathering.add_layouts(catalogue);
      asked = asked_layouts(validation.cases);
      break;
    case RowKind::targets:
      gathering.add_targets(catalogue);
      asked = asked_targets(validation.cases, kept);
      break;
    case RowKind::reports:
      gathering.add_reports(catalogue);
      for (const ScoredCase& scored : validation.cases) asked.push_back({.of = &scored.of});
      break;
  }
  std::vector<PredictedCase> predicted = predict_cases(catalogue, asked, parallel, predictions);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    validation.cases[i].predicted = std::move(predicted[i]);
    judge(asked[i], kind, validation.cases[i]);
  }
  if (kind == RowKind::training) judge_outcomes(validation);
  leave_out_unknown_memory(validation);
  return validation;
}

}  // namespace trainyard
