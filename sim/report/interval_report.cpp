#include "report/interval_report.hpp"

#include "report/text_layout.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json coverage_json(const IntervalCoverage& its) {
  Json json{{"rows", its.runs}, {"coverage", its.covered}, {"median_half_width", its.half_width}};
  json["held_out"] = its.held_out_runs == 0 ? Json()
                                            : Json{{"rows", its.held_out_runs},
                                                   {"coverage", its.held_out_covered},
                                                   {"median_half_width", its.held_out_half_width}};
  return json;
}

}  // namespace

std::string interval_table(const CoverageByFamily& coverages, std::string_view what, std::string_view other,
                           std::string_view of_all, const PrintStyle& style) {
  if (coverages.empty()) return {};
  std::string text =
      '\n' + comment(fmt::format("{}: share of the runs inside the interval that `run` prints "
                                 "for them, which is meant to hold {:.0f} %, and its median half "
                                 "width; held out: the same without the published errors of the "
                                 "run's own {}; in %",
                                 what, 100 * expected_share, other),
                     style.width);
  Table table({text_column(40).wraps(16), number_column(4), number_column(7), number_column(11),
               number_column(8), number_column(11)},
              {.indent = 0, .gap = 1});
  table.row("family", "runs", "inside", "half width", "held out", "half width");
  for (const auto& [family, its] : coverages) {
    const bool is_held_out = its.held_out_runs > 0;
    table.row(family.empty() ? of_all : family, its.runs, percent_cell(its.covered),
              percent_cell(its.half_width), is_held_out ? percent_cell(its.held_out_covered) : "-",
              is_held_out ? percent_cell(its.held_out_half_width) : "-");
  }
  return text + table.text(style.width);
}

Json intervals_json(const CoverageByFamily& coverages) {
  if (coverages.empty()) return nullptr;
  Json families = Json::object();
  for (const auto& [family, its] : coverages) {
    if (!family.empty()) families[family] = coverage_json(its);
  }
  return {
      {"share", expected_share}, {"overall", coverage_json(coverages.back().second)}, {"families", families}};
}

void add_interval(Json& row, const std::optional<RunInterval>& interval) {
  const bool is_held_out = interval && interval->held_out;
  row["low"] = interval ? Json(interval->printed.low) : Json();
  row["high"] = interval ? Json(interval->printed.high) : Json();
  row["inside"] = interval ? Json(is_inside(*interval)) : Json();
  row["low_held_out"] = is_held_out ? Json(interval->held_out->low) : Json();
  row["high_held_out"] = is_held_out ? Json(interval->held_out->high) : Json();
  row["inside_held_out"] = is_held_out ? Json(is_inside_held_out(*interval)) : Json();
}

std::string validated_runs_csv(const Json& training, const Json& layouts) {
  constexpr std::array columns{"file",
                               "line",
                               "family",
                               "incomplete",
                               "platform",
                               "model",
                               "stack",
                               "precision",
                               "batch_per_gpu",
                               "accumulation",
                               "gpus",
                               "nodes",
                               "unit",
                               "measured",
                               "predicted",
                               "compute_scale",
                               "error",
                               "low",
                               "high",
                               "inside",
                               "low_held_out",
                               "high_held_out",
                               "inside_held_out",
                               "scored",
                               "excluded"};
  std::string csv;
  for (const char* column : columns) csv += fmt::format("{}{}", csv.empty() ? "" : ",", column);
  csv += '\n';
  for (const Json* rows : {&training, &layouts}) {
    if (rows->is_null()) continue;
    for (const Json& row : rows->at("rows")) {
      for (const char* column : columns) {
        if (column != columns.front()) csv += ',';
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
