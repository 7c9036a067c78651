#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "lab/pages.hpp"
#include "published/case_intervals.hpp"
#include "published/layout_pairs.hpp"
#include "published/scores.hpp"
#include "units/statistics.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json errors_json(const CaseErrors& errors) {
  return {{"rows", errors.rows},
          {"mape", number_or_null(errors.mape)},
          {"median", number_or_null(errors.median)},
          {"p90", number_or_null(errors.p90)},
          {"worst", number_or_null(errors.worst)},
          {"bias", number_or_null(errors.bias)},
          {"coverage", number_or_null(errors.coverage)},
          {"coverage_of_all", number_or_null(errors.coverage_of_all)},
          {"linear_mape", number_or_null(errors.linear)},
          {"mape_with_excluded", number_or_null(errors.with_excluded)}};
}

Json families_json(const Validation& validation, Fit fit, bool is_incomplete) {
  Json families = Json::object();
  for (const Family* family : families_of(validation)) {
    const CaseErrors errors =
        errors_of(validation, fit, {.family = family->name, .is_incomplete = is_incomplete});
    if (errors.rows == 0 && !errors.coverage_of_all) continue;
    families[family->name] = errors_json(errors);
    if (!family->not_in_totals.empty()) families[family->name]["not_in_totals"] = family->not_in_totals;
  }
  return families;
}

/// `low` and `high` are those of measured / predicted - 1.
void add_interval(Json& row, const std::optional<CaseInterval>& interval) {
  const bool is_held_out = interval && interval->held_out;
  row["low"] = interval ? Json(interval->low) : Json();
  row["high"] = interval ? Json(interval->high) : Json();
  row["inside"] = interval ? Json(is_inside(*interval)) : Json();
  row["low_held_out"] = is_held_out ? Json(interval->held_out->first) : Json();
  row["high_held_out"] = is_held_out ? Json(interval->held_out->second) : Json();
  row["inside_held_out"] = is_held_out ? Json(is_inside_held_out(*interval)) : Json();
}

/// The names of a case's files and settings; null where its figure needs none.
Json job_json(const Case& of) {
  const auto name_or_null = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
  Json row{{"platform", name_or_null(of.platform_name())},
           {"model", of.model_name()},
           {"stack", name_or_null(of.stack_name())},
           {"precision", config::name_of(of.precision)},
           {"batch_per_gpu", of.batch_per_gpu},
           {"accumulation", of.micro_batches},
           {"gpus", of.row->gpus_total},
           {"nodes", of.row->nodes > 0 ? Json(of.row->nodes) : Json()}};
  if (of.row->to_target) row["round"] = of.row->to_target->round;
  if (of.row->report) {
    row["id"] = of.row->report->id;
    row["experiment"] = of.row->report->experiment;
  }
  if (of.layout) {
    const Parallelism& parallelism = of.layout->parallelism;
    row["layout"] = {{"tensor", parallelism.tensor},     {"context", parallelism.context},
                     {"pipeline", parallelism.pipeline}, {"virtual_stages", parallelism.virtual_stages},
                     {"expert", parallelism.expert},     {"data", of.layout->replicas}};
  }
  return row;
}

std::string_view unit_of(CaseFigure figure) {
  for (const auto& [name, value, unit] : config::Names<CaseFigure>::table) {
    if (value == figure) return unit;
  }
  return {};
}

/// What is predicted at the ends of a report's ranges, the lower value first.
void add_ends(Json& row, const PredictedCase& predicted) {
  const auto [low, high] = ends_of(predicted);
  row["predicted_low"] = number_or_null(low);
  row["predicted_high"] = number_or_null(high);
  if (!predicted.without_ends.empty()) row["without_ends"] = predicted.without_ends;
}

Json row_json(const ScoredCase& scored, Fit fit, const std::optional<CaseInterval>& interval) {
  const Case& of = scored.of;
  const Prediction& prediction = scored.predicted.by_fit[fit];
  const Verdict& verdict = scored.verdicts[fit];
  const bool is_scored = scored.is_scored(fit);
  Json row{{"file", of.row->file},
           {"line", of.row->line},
           {"family", scored.family == nullptr ? "none" : scored.family->name},
           {"incomplete", scored.is_incomplete()},
           {"figure", config::name_of(of.figure)}};
  row.update(job_json(of));
  row["unit"] = unit_of(of.figure);
  row["measured"] = number_or_null(scored.predicted.measured);
  row["predicted"] = number_or_null(prediction.value);
  row["compute_scale"] = prediction.compute_scale;
  row["linear_from_one_gpu"] = number_or_null(scored.predicted.linear[Fit::one_gpu]);
  row["linear_from_one_node"] = number_or_null(scored.predicted.linear[Fit::one_node]);
  row["error"] = is_scored && !is_verdict(of.figure) ? Json(scored.error(fit)) : Json();
  add_interval(row, interval);
  if (of.experiment && !of.experiment->ends.empty()) {
    add_ends(row, scored.predicted);
    const std::optional<bool> inside = is_inside_without_ranges(scored, fit);
    row["inside_without_ranges"] = inside ? Json(*inside) : Json();
  }
  row["scored"] = is_scored && verdict.outcome.empty();
  if (scored.predicted.memory) row["fits"] = scored.predicted.memory->fits;
  const std::string& reason = verdict.excluded.empty() ? verdict.outcome : verdict.excluded;
  if (!reason.empty()) row["excluded"] = reason;
  return row;
}

/// The errors of linear scaling over the cases that the fit scores.
Json baseline_json(const Validation& validation, Fit fit, Fit reference) {
  std::vector<double> errors;
  for (const ScoredCase& scored : validation.cases) {
    const std::optional<double>& line = scored.predicted.linear[reference];
    if (scored.counts(fit) && !scored.is_incomplete() && line)
      errors.push_back(std::abs(*line / *scored.predicted.measured - 1));
  }
  return {{"rows", errors.size()},
          {"mape", errors.empty() ? Json() : Json(mean(errors))},
          {"of_rows", errors_of(validation, fit).rows}};
}

Json coverage_json(const IntervalCoverage& coverage) {
  Json json{
      {"rows", coverage.rows}, {"coverage", coverage.covered}, {"median_half_width", coverage.half_width}};
  json["held_out"] = coverage.held_out_rows == 0 ? Json()
                                                 : Json{{"rows", coverage.held_out_rows},
                                                        {"coverage", coverage.held_out_covered},
                                                        {"median_half_width", coverage.held_out_half_width}};
  return json;
}

Json intervals_json(const Validation& validation, Fit fit) {
  const IntervalCoverages coverages = interval_coverage(validation, fit);
  if (coverages.families.empty()) return nullptr;
  Json json{{"share", expected_share}};
  if (has_totals(validation) && coverages.all) json["overall"] = coverage_json(*coverages.all);
  json["families"] = Json::object();
  for (const IntervalCoverage& one : coverages.families) json["families"][one.name] = coverage_json(one);
  json["quarters"] = Json::object();
  for (const IntervalCoverage& one : coverages.quarters) json["quarters"][one.name] = coverage_json(one);
  return json;
}

Json ratio_intervals_json(const Validation& validation, Fit fit) {
  const auto coverages = pair_coverage(validation, fit);
  if (coverages.empty()) return nullptr;
  Json changes = Json::object();
  for (const RatioCoverage& one : coverages) {
    changes[std::string(config::name_of(one.change))] = {{"pairs", one.pairs},
                                                         {"coverage", one.covered},
                                                         {"median_half_width", one.half_width},
                                                         {"median_half_width_of_runs", one.run_half_width}};
  }
  return {{"share", expected_share}, {"changes", std::move(changes)}};
}

Json outliers_json(const Validation& validation, Fit fit) {
  Json outliers = Json::array();
  for (const ScoredCase* scored : outliers_of(validation, fit)) {
    outliers.push_back({{"file", scored->of.row->file},
                        {"line", scored->of.row->line},
                        {"error", scored->error(fit)},
                        {"reason", suspicion_of(*scored)},
                        {"always_named", is_always_named(*scored)}});
  }
  return outliers;
}

Json pairs_json(const Validation& validation, Fit fit) {
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  Json json = Json::object();
  for (const PairSetting setting : pair_settings) {
    const PairErrors errors = errors_of(pairs, setting, fit);
    Json& of_setting = json[std::string(config::name_of(setting))];
    of_setting = {{"pairs", errors.pairs}, {"mean_change", errors.change}, {"mean_error", errors.error}};
    of_setting["each"] = Json::array();
    for (const LayoutPair& pair : pairs) {
      if (pair.setting != setting) continue;
      of_setting["each"].push_back({{"file", pair.first->of.row->file},
                                    {"lines", {pair.first->of.row->line, pair.second->of.row->line}},
                                    {"measured_change", pair.measured_change},
                                    {"predicted_change", number_or_null(pair.predicted_change(fit))}});
    }
  }
  return json;
}

Json memory_json(const Validation& validation, Fit fit) {
  const MemoryVerdicts verdicts = verdicts_of(validation);
  Json json{{"ran", {{"runs", verdicts.ran}, {"accepted", verdicts.accepted}}},
            {"failed", {{"runs", verdicts.failed}, {"refused", verdicts.refused}}}};
  for (const auto& [name, figure, unit] : config::Names<CaseFigure>::table) {
    if (is_memory(figure) && !is_verdict(figure))
      json["figures"][std::string(name)] = errors_json(errors_of(validation, fit, {.figure = figure}));
  }
  const IntervalCoverages coverages = interval_coverage(validation, fit);
  json["inside"] = coverages.sizes ? coverage_json(*coverages.sizes) : Json();
  return json;
}

}  // namespace

Json case_validation_json(const Validation& validation, Fit fit) {
  Json json{{"fit", config::name_of(fit)}, {"left_out", config::name_of(validation.left_out)}};
  if (has_totals(validation)) {
    json["overall"] = errors_json(errors_of(validation, fit));
    if (validation.kind == RowKind::training)
      json["overall"]["with_implausible"] =
          errors_json(errors_of(validation, fit, {.leave_out_implausible = false}));
    json["overall"]["incomplete"] = errors_json(errors_of(validation, fit, {.is_incomplete = true}));
  }
  json["families"] = families_json(validation, fit, false);
  json["families_incomplete"] = families_json(validation, fit, true);
  if (validation.kind == RowKind::training) {
    json["baselines"] = {{"linear_from_one_gpu", baseline_json(validation, fit, Fit::one_gpu)},
                         {"linear_from_one_node", baseline_json(validation, fit, Fit::one_node)}};
    json["ratio_error"] = ratio_intervals_json(validation, fit);
  }
  json["expected_error"] = intervals_json(validation, fit);
  if (validation.kind == RowKind::layouts) json["pairs"] = pairs_json(validation, fit);
  if (has_memory(validation)) json["memory"] = memory_json(validation, fit);
  Json rows = Json::array();
  const auto intervals = case_intervals(validation, fit);
  for (std::size_t i = 0; i < validation.cases.size(); ++i)
    rows.push_back(row_json(validation.cases[i], fit, intervals[i]));
  json["rows"] = std::move(rows);
  json["outliers"] = outliers_json(validation, fit);
  json["excluded"] = left_out(validation, fit);
  return json;
}

std::string validated_cases_csv(const std::vector<Json>& validations) {
  constexpr std::string_view columns =
      "file,line,family,incomplete,figure,platform,model,stack,precision,batch_per_gpu,"
      "accumulation,gpus,nodes,unit,measured,predicted,linear_from_one_gpu,compute_scale,"
      "error,low,high,inside,low_held_out,high_held_out,inside_held_out,scored,excluded,id,"
      "experiment,predicted_low,predicted_high";
  std::string csv = fmt::format("{}\n", columns);
  for (const Json& validation : validations) {
    for (const Json& row : validation.at("rows")) {
      for (std::size_t at = 0; at < columns.size();) {
        if (at > 0) csv += ',';
        const std::string_view column = columns.substr(at, columns.find(',', at) - at);
        at += column.size() + 1;
        const auto cell = row.find(column);
        if (cell == row.end() || cell->is_null()) continue;
        if (cell->is_string())
          append_csv_cell(csv, cell->get<std::string>());
        else
          csv += cell->is_number_float() ? digits12(cell->get<double>()) : cell->dump();
      }
      csv += '\n';
    }
  }
  return csv;
}

}  // namespace trainyard
