#include "report/layout_validation.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "published/layout_error_table.hpp"
#include "published/layout_pairs.hpp"
#include "report/interval_report.hpp"
#include "report/json_text.hpp"
#include "report/text_layout.hpp"
#include "units/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

std::string place_of(const ScoredLayout& scored) {
  const PublishedRow& row = *scored.run.row;
  return fmt::format("{}:{}", std::filesystem::path(row.file).filename().string(), row.line);
}

std::string layout_in_words(const LayoutRun& run) {
  const Parallelism& its = run.parallelism;
  std::string text = fmt::format("t{} p{}", its.tensor, its.pipeline);
  if (its.virtual_stages > 1) text += fmt::format(" v{}", its.virtual_stages);
  return text + fmt::format(" d{}", run.replicas);
}

/// In the order of the rules; those that count in the totals first.
std::vector<const FamilyRule*> layout_families(const LayoutValidation& validation) {
  std::set<std::string> present;
  for (const ScoredLayout& scored : validation.runs)
    present.insert(scored.family == nullptr ? std::string() : scored.family->family);
  std::vector<const FamilyRule*> families;
  for (const bool counts : {true, false}) {
    for (const FamilyRule& rule : validation.data->run_rules.families) {
      if (rule.not_in_totals.empty() == counts && present.erase(rule.family) > 0) families.push_back(&rule);
    }
  }
  return families;
}

void add_errors(Table& table, const LayoutValidation& validation, const std::vector<LayoutFit>& fits,
                std::string_view name, const std::optional<std::string>& family) {
  for (const LayoutFit fit : fits) {
    const LayoutErrors errors = errors_of(validation, fit, family);
    if (errors.runs == 0) continue;
    table.row(name, config::name_of(fit), errors.runs, percent_cell(errors.mape), percent_cell(errors.median),
              percent_cell(errors.p90), percent_cell(errors.worst), signed_cell(errors.bias),
              percent_cell(coverage_of(validation, family)));
    name = "";
  }
}

void add_layout_runs(std::string& text, const LayoutValidation& validation, const PrintStyle& style) {
  text +=
      comment("runs whose ranks share a model: published samples per second, errors of the predictions in %",
              style.width);
  Table table(
      {text_column(20).wraps(16), text_column(15).wraps(8).drops(3), text_column(18).wraps(8).drops(1),
       text_column(14).wraps(6), number_column(7).drops(4), number_column(5), number_column(10).drops(2),
       number_column(8), number_column(8), number_column(8)},
      {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("run", "platform", "stack", "layout", "batch", "GPUs", "measured", "nothing", "software",
            "1layout");
  for (const ScoredLayout& scored : validation.runs) {
    const LayoutRun& run = scored.run;
    table.row(place_of(scored), run.machine->platform, run.stack->stack, layout_in_words(run),
              fmt::format("{}x{}", run.micro_batch, run.micro_batches), run.row->gpus_total,
              fmt::format("{:.5g}", run.measured), signed_cell(scored.error(LayoutFit::nothing)),
              signed_cell(scored.error(LayoutFit::software)),
              scored.is_fitted ? "fitted" : signed_cell(scored.error(LayoutFit::one_layout)));
  }
  text += table.text(style.width);
}

constexpr std::array memory_figures{MemoryFigure::whole, MemoryFigure::allocated, MemoryFigure::activations,
                                    MemoryFigure::state};

void add_pairs(std::string& text, const LayoutValidation& validation, const std::vector<LayoutFit>& fits,
               const PrintStyle& style) {
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  if (pairs.empty()) return;
  text +=
      '\n' + comment(
                 "pairs of these runs that differ in one setting: mean change of the step, and mean error "
                 "of the predicted change, in % of the step",
                 style.width);
  Table table(
      {text_column(44).wraps(16), text_column(9), number_column(5), number_column(8), number_column(6)},
      {.indent = 0, .gap = 1});
  table.row("pairs differ in", "fit", "pairs", "change", "error");
  for (const PairSetting setting : pair_settings) {
    std::string_view name = config::name_of(setting);
    for (const LayoutFit fit : fits) {
      const PairErrors errors = errors_of(pairs, setting, fit);
      if (errors.pairs == 0) continue;
      table.row(name, config::name_of(fit), errors.pairs, percent_cell(errors.change),
                percent_cell(errors.error));
      name = "";
    }
  }
  text += table.text(style.width);
}

void add_memory_errors(std::string& text, const LayoutValidation& validation, const PrintStyle& style) {
  const LayoutVerdicts verdicts = verdicts_of(validation);
  text += '\n' +
          comment(fmt::format("memory of these runs: {} of {} that ran are predicted to fit, {} of {} that "
                              "ran out of memory are not",
                              verdicts.accepted, verdicts.ran, verdicts.refused, verdicts.failed),
                  style.width);
  text += "# errors of published figures in %\n";
  Table table({text_column(44).wraps(16), number_column(4), number_column(6), number_column(6).drops(2),
               number_column(6).drops(1), number_column(6), number_column(6)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  for (const MemoryFigure figure : memory_figures) {
    const LayoutErrors errors = errors_of(validation, figure);
    if (errors.runs == 0) continue;
    if (table.empty()) table.row("figure", "rows", "MAPE", "median", "p90", "worst", "bias");
    table.row(config::name_of(figure), errors.runs, percent_cell(errors.mape), percent_cell(errors.median),
              percent_cell(errors.p90), percent_cell(errors.worst), signed_cell(errors.bias));
  }
  text += table.text(style.width);
}

nlohmann::ordered_json layout_pairs_json(const LayoutValidation& validation, LayoutFit fit) {
  const std::vector<LayoutPair> pairs = layout_pairs(validation);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const PairSetting setting : pair_settings) {
    const PairErrors errors = errors_of(pairs, setting, fit);
    nlohmann::ordered_json& its = json[std::string(config::name_of(setting))];
    its = {{"pairs", errors.pairs}, {"mean_change", errors.change}, {"mean_error", errors.error}};
    its["each"] = nlohmann::ordered_json::array();
    for (const LayoutPair& pair : pairs) {
      if (pair.setting != setting) continue;
      its["each"].push_back({{"file", pair.first->run.row->file},
                             {"lines", {pair.first->run.row->line, pair.second->run.row->line}},
                             {"measured_change", pair.measured_change},
                             {"predicted_change", number_or_null(pair.predicted_change(fit))}});
    }
  }
  return json;
}

nlohmann::ordered_json layout_memory_json(const LayoutValidation& validation) {
  const LayoutVerdicts verdicts = verdicts_of(validation);
  nlohmann::ordered_json json{{"ran", {{"runs", verdicts.ran}, {"accepted", verdicts.accepted}}},
                              {"failed", {{"runs", verdicts.failed}, {"refused", verdicts.refused}}}};
  for (const MemoryFigure figure : memory_figures) {
    const LayoutErrors errors = errors_of(validation, figure);
    json["figures"][std::string(config::name_of(figure))] = {{"rows", errors.runs},
                                                             {"mape", number_or_null(errors.mape)},
                                                             {"median", number_or_null(errors.median)},
                                                             {"p90", number_or_null(errors.p90)},
                                                             {"worst", number_or_null(errors.worst)},
                                                             {"bias", number_or_null(errors.bias)}};
  }
  json["rows"] = nlohmann::ordered_json::array();
  for (const ScoredMemory& scored : validation.memory) {
    if (!scored.predicted) continue;
    json["rows"].push_back({{"file", scored.run.row->file},
                            {"line", scored.run.row->line},
                            {"figure", config::name_of(scored.figure)},
                            {"published_bytes", scored.published.si()},
                            {"predicted_bytes", scored.prediction().si()},
                            {"fits", scored.predicted->fits}});
  }
  return json;
}

/// Rows without a prediction, by reason.
std::map<std::string, int> left_out(const LayoutValidation& validation) {
  std::map<std::string, int> reasons = validation.excluded;
  for (const ScoredLayout& scored : validation.runs) {
    const LayoutPrediction& its = scored.prediction(LayoutFit::software);
    if (!its.throughput) ++reasons[its.reason];
  }
  return reasons;
}

nlohmann::ordered_json layout_errors_json(const LayoutValidation& validation, LayoutFit fit,
                                          const std::optional<std::string>& family) {
  const LayoutErrors errors = errors_of(validation, fit, family);
  return {{"rows", errors.runs},
          {"mape", number_or_null(errors.mape)},
          {"median", number_or_null(errors.median)},
          {"p90", number_or_null(errors.p90)},
          {"worst", number_or_null(errors.worst)},
          {"bias", number_or_null(errors.bias)},
          {"coverage", number_or_null(coverage_of(validation, family))}};
}

/// The fields of a training run's row, and `layout`.
nlohmann::ordered_json layout_row_json(const ScoredLayout& scored, LayoutFit fit,
                                       const std::optional<RunInterval>& interval) {
  const LayoutRun& run = scored.run;
  const Parallelism& its = run.parallelism;
  const LayoutPrediction& prediction = scored.prediction(fit);
  nlohmann::ordered_json row{{"file", run.row->file},
                             {"line", run.row->line},
                             {"family", scored.family == nullptr ? "none" : scored.family->family},
                             {"incomplete", run.row->clean == "partial"},
                             {"platform", run.machine->platform},
                             {"model", run.model->model},
                             {"stack", run.stack->stack},
                             {"precision", config::name_of(run.precision)},
                             {"batch_per_gpu", run.micro_batch},
                             {"accumulation", run.micro_batches},
                             {"gpus", run.row->gpus_total},
                             {"nodes", run.row->nodes},
                             {"layout",
                              {{"tensor", its.tensor},
                               {"context", its.context},
                               {"pipeline", its.pipeline},
                               {"virtual_stages", its.virtual_stages},
                               {"expert", its.expert},
                               {"data", run.replicas}}},
                             {"unit", "samples/s"},
                             {"measured", run.measured},
                             {"predicted", number_or_null(prediction.throughput)},
                             {"compute_scale", fit == LayoutFit::one_layout ? scored.scale : 1.0},
                             {"error", number_or_null(scored.error(fit))}};
  add_interval(row, interval);
  row["scored"] =
      prediction.throughput.has_value() && scored.family != nullptr && scored.family->not_in_totals.empty();
  if (!prediction.throughput) row["excluded"] = prediction.reason;
  return row;
}

}  // namespace

std::string layout_validation_table(const LayoutValidation& validation, const std::vector<LayoutFit>& fits,
                                    bool only_families, const PrintStyle& style) {
  std::string text;
  if (!only_families) add_layout_runs(text, validation, style);
  text +=
      '\n' + comment(
                 "runs whose ranks share a model: errors of throughput in %; bias: with sign, above 0 if "
                 "predictions are too fast; 1layout: one factor from the other runs on the fewest GPUs of "
                 "the series (median)",
                 style.width);
  Table table({text_column(30).wraps(14), text_column(9), number_column(4), number_column(6),
               number_column(6).drops(3), number_column(6).drops(4), number_column(6).drops(2),
               number_column(6), number_column(8).drops(1)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("family", "fit", "runs", "MAPE", "median", "p90", "worst", "bias", "coverage");
  for (const FamilyRule* family : layout_families(validation)) {
    const std::string mark = family->not_in_totals.empty() ? "" : " (not in totals)";
    add_errors(table, validation, fits, family->family + mark, family->family);
  }
  add_errors(table, validation, fits, "all", {});
  text += table.text(style.width);
  for (const FamilyRule* family : layout_families(validation)) {
    if (!family->not_in_totals.empty())
      text +=
          comment(fmt::format("{}, not in totals: {}", family->family, family->not_in_totals), style.width);
  }
  for (const LayoutFit fit : fits)
    text += interval_table(layout_coverage(validation, fit),
                           fmt::format("expected error of these runs with fit {}", config::name_of(fit)),
                           "family", "all", style);
  add_pairs(text, validation, fits, style);
  add_memory_errors(text, validation, style);
  text += "\n# published rows about such runs left out\n";
  for (const auto& [reason, count] : left_out(validation))
    text += hanging(fmt::format("{:>8}  ", count), reason, style.width);
  return text;
}

nlohmann::ordered_json layout_validation_json(const LayoutValidation& validation, LayoutFit fit) {
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const FamilyRule* family : layout_families(validation)) {
    families[family->family] = layout_errors_json(validation, fit, family->family);
    if (!family->not_in_totals.empty()) families[family->family]["not_in_totals"] = family->not_in_totals;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto intervals = layout_intervals(validation, fit);
  for (std::size_t i = 0; i < validation.runs.size(); ++i)
    rows.push_back(layout_row_json(validation.runs[i], fit, intervals[i]));
  nlohmann::ordered_json excluded = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : left_out(validation)) excluded[reason] = count;
  return {{"fit", config::name_of(fit)},
          {"overall", layout_errors_json(validation, fit, {})},
          {"families", std::move(families)},
          {"expected_error", intervals_json(layout_coverage(validation, fit))},
          {"pairs", layout_pairs_json(validation, fit)},
          {"memory", layout_memory_json(validation)},
          {"rows", std::move(rows)},
          {"excluded", std::move(excluded)}};
}

}  // namespace trainyard
