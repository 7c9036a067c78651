#include "report/target_validation.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "report/json_text.hpp"
#include "report/text_layout.hpp"
#include "units/table.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

namespace trainyard {

namespace {

std::string place_of(const ScoredTarget& scored) {
  return fmt::format("{}:{}", std::filesystem::path(scored.row->file).filename().string(), scored.row->line);
}

bool depends_on_fit(std::string_view family) {
  return !family.starts_with(config::name_of(TargetFigure::samples));
}

void add_rows(std::string& text, const TargetValidation& validation, const PrintStyle& style) {
  text += comment(
      "trainings to a target: published samples, seconds, joules or dollars, errors of the predictions in %",
      style.width);
  Table table({text_column(26).wraps(14), text_column(5).drops(2), text_column(28).wraps(12),
               text_column(17).wraps(8).drops(3), number_column(6), number_column(7).drops(1),
               number_column(11).drops(4), number_column(8), number_column(8), number_column(8)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("row", "round", "figure", "platform", "GPUs", "batch", "measured", "nothing", "software",
            "1system");
  for (const ScoredTarget& scored : validation.rows) {
    if (!scored.excluded.empty()) continue;
    table.row(place_of(scored), scored.row->to_target->round, scored.family,
              scored.platform.empty() ? "-" : scored.platform, scored.row->gpus_total,
              scored.row->global_batch, fmt::format("{:.5g}", scored.measured),
              signed_cell(scored.error(TargetFit::nothing)), signed_cell(scored.error(TargetFit::software)),
              scored.is_fitted ? "fitted" : signed_cell(scored.error(TargetFit::one_system)));
  }
  text += table.text(style.width) + '\n';
}

/// Figures without a prediction, by reason, and rows with nothing to predict.
std::map<std::string, int> left_out(const TargetValidation& validation) {
  std::map<std::string, int> reasons = validation.excluded;
  const auto add = [&](const ScoredTarget& scored, std::string_view fit, const std::string& reason) {
    if (!reason.empty()) ++reasons[fmt::format("{}{}: {}", config::name_of(scored.figure), fit, reason)];
  };
  for (const ScoredTarget& scored : validation.rows) {
    add(scored, "", scored.excluded);
    add(scored, " with 1system", scored.unfitted);
  }
  return reasons;
}

nlohmann::ordered_json errors_json(const TargetErrors& errors) {
  return {{"rows", errors.rows},
          {"mape", number_or_null(errors.mape)},
          {"median", number_or_null(errors.median)},
          {"p90", number_or_null(errors.p90)},
          {"worst", number_or_null(errors.worst)},
          {"bias", number_or_null(errors.bias)},
          {"coverage", errors.coverage},
          {"inside", number_or_null(errors.inside)}};
}

nlohmann::ordered_json row_json(const ScoredTarget& scored, TargetFit fit) {
  const TargetColumns& its = *scored.row->to_target;
  nlohmann::ordered_json row{{"file", scored.row->file},
                             {"line", scored.row->line},
                             {"family", scored.family},
                             {"figure", config::name_of(scored.figure)},
                             {"round", its.round},
                             {"platform", scored.platform.empty() ? nlohmann::ordered_json()
                                                                  : nlohmann::ordered_json(scored.platform)},
                             {"gpus", scored.row->gpus_total},
                             {"nodes", scored.row->nodes},
                             {"measured", scored.measured},
                             {"predicted", number_or_null(scored.prediction(fit))},
                             {"compute_scale", fit == TargetFit::one_system ? scored.scale : 1.0},
                             {"error", number_or_null(scored.error(fit))},
                             {"scored", scored.error(fit).has_value()}};
  if (scored.figure == TargetFigure::samples && scored.excluded.empty()) {
    row["low"] = scored.low;
    row["high"] = scored.high;
  }
  if (!scored.excluded.empty()) row["excluded"] = scored.excluded;
  if (fit == TargetFit::one_system && !scored.unfitted.empty()) row["excluded"] = scored.unfitted;
  return row;
}

}  // namespace

std::string target_validation_table(const TargetValidation& validation, const std::vector<TargetFit>& fits,
                                    bool only_families, const PrintStyle& style) {
  std::string text;
  if (!only_families) add_rows(text, validation, style);
  text += comment(
      fmt::format(
          "trainings to a target: errors of samples, times, energies and costs in %; bias: with sign, "
          "above 0 if predictions are too large; 1system: one factor on the kernel times of each system, "
          "from one of its rows, which is not scored; inside: share of the rows in the interval that "
          "{:.0f} % of means of as many runs should lie in",
          100 * expected_share),
      style.width);
  Table table({text_column(34).wraps(14), text_column(9), number_column(4), number_column(6),
               number_column(6).drops(3), number_column(6).drops(4), number_column(6).drops(2),
               number_column(6), number_column(8).drops(1), number_column(6).drops(5)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("family", "fit", "rows", "MAPE", "median", "p90", "worst", "bias", "coverage", "inside");
  for (const std::string& family : target_families(validation)) {
    std::string_view name = family;
    for (const TargetFit fit : fits) {
      const TargetErrors errors = errors_of(validation, fit, family);
      if (errors.rows == 0) continue;
      table.row(name, depends_on_fit(family) ? config::name_of(fit) : "-", errors.rows,
                percent_cell(errors.mape), percent_cell(errors.median), percent_cell(errors.p90),
                percent_cell(errors.worst), signed_cell(errors.bias), percent_cell(errors.coverage),
                percent_cell(errors.inside));
      if (!depends_on_fit(family)) break;
      name = "";
    }
  }
  text += table.text(style.width) + "\n# figures of trainings to a target left out\n";
  for (const auto& [reason, count] : left_out(validation))
    text += hanging(fmt::format("{:>8}  ", count), reason, style.width);
  return text;
}

nlohmann::ordered_json target_validation_json(const TargetValidation& validation, TargetFit fit) {
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const std::string& family : target_families(validation))
    families[family] = errors_json(errors_of(validation, fit, family));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ScoredTarget& scored : validation.rows) rows.push_back(row_json(scored, fit));
  nlohmann::ordered_json excluded = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : left_out(validation)) excluded[reason] = count;
  return {{"fit", config::name_of(fit)},
          {"families", std::move(families)},
          {"rows", std::move(rows)},
          {"excluded", std::move(excluded)}};
}

}  // namespace trainyard
