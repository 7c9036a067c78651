#include "accuracy/expected_error.hpp"
#include "document/json_text.hpp"
#include "report/sweep_groups.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "report/sweep_words.hpp"
#include "run/figures.hpp"
#include "sweep/choice.hpp"
#include "sweep/gains.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/scaling.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/version.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

Json keys_json(const SweepResult& result, const SweepRow& row) {
  Json keys = Json::object();
  for (std::size_t i = 0; i < result.sweep.keys.size(); ++i)
    keys[result.sweep.keys[i]] = result.sweep.points[row.point][i];
  return keys;
}

Json row_json(const SweepResult& result, const SweepRow& row, const Needs& needs,
              const std::optional<RelativeScaling>& scaling) {
  Json json{{"point", row.point}, {"keys", keys_json(result, row)}};
  for (std::size_t i = 0; i < result.figures.size(); ++i) {
    const std::optional<double>& number = row.figures[i];
    const std::string_view name = number ? sweep_name(result.figures[i], *number) : std::string_view();
    json[result.figures[i]] = name.empty() ? number_or_null(number) : Json(name);
  }
  json["training_time_s"] = number_or_null(needs.time_s);
  const TimeRange range = needs.time_range.value_or(TimeRange{});
  json["training_time_low_s"] = needs.time_range ? Json(range.low_s) : Json();
  json["training_time_high_s"] = number_or_null(range.high_s);
  json["training_cost_usd"] = number_or_null(needs.cost_usd);
  json["training_energy_j"] = number_or_null(needs.energy_j);
  if (scaling) {
    json["baseline_ranks"] = scaling->baseline_ranks;
    json["relative_speedup"] = scaling->speedup;
    json["relative_efficiency"] = scaling->efficiency;
  }
  return json;
}

/// The largest GPU count that scales well; `low` and `high` where the expected error is known.
Json gains_json(const SweepResult& result) {
  Json all = Json::array();
  for (const GainSeries& series : gains_of(result)) {
    Json json{{"key", series.key},
              {"others", series.other_keys},
              {"values", series.values},
              {"gains", series.gains}};
    const auto end = gain_ends_at(series);
    json["ends_at"] = end ? Json(series.values[*end]) : Json();
    all.push_back(std::move(json));
  }
  return all;
}

Json left_out_json(const Sweep& sweep) {
  Json all = Json::array();
  for (const auto& [reason, points] : left_out_by_reason(sweep))
    all.push_back({{"reason", reason}, {"points", points}});
  return all;
}

Json best_json(const SweepResult& result, const Choice& choice) {
  const auto point = [&](const std::optional<std::size_t>& row) {
    return row ? Json(result.rows[*row].point) : Json();
  };
  return {{"fastest", point(choice.fastest)},
          {"cheapest", point(choice.cheapest)},
          {"least_energy", point(choice.least_energy)},
          {"most_accurate", point(choice.most_accurate)}};
}

/// The best points of each section of the report's tables.
Json sections_json(const SweepResult& result) {
  Json all = Json::array();
  for (const auto& [value, section] : sections_of(result))
    all.push_back({{"value", value}, {"best", best_json(section, choose(section, needs_of(section)))}});
  return all;
}

Json scaling_json(const SweepResult& result, const Efficiencies& reached, const Series& series) {
  const auto ranks = [&](const std::optional<std::size_t>& row) {
    return row ? Json(std::llround(figure(result, result.rows[*row], "ranks").value())) : Json();
  };
  Json json{{"efficiency_min", scales_well}, {"ranks", ranks(efficient_up_to(reached, series, scales_well))}};
  if (const auto range = efficient_range(result, reached, series, scales_well)) {
    json["error"] = {{"share", expected_share},
                     {"ranks_low", ranks(range->low)},
                     {"ranks_high", ranks(range->high)},
                     {"is_open", range->is_open}};
  } else {
    json["error"] = nullptr;
  }
  return json;
}

}  // namespace

Json sweep_json(const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  const auto scaling = relative_scaling(result);
  const Choice choice = choose(result, needs);
  const auto point = [&](std::size_t row) { return result.rows[row].point; };
  Json rows = Json::array();
  Json failed = Json::array();
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    if (row.status == PointStatus::done) {
      rows.push_back(row_json(result, row, needs[i], scaling[i]));
    } else {
      failed.push_back({{"point", row.point},
                        {"keys", keys_json(result, row)},
                        {"exit_code", exit_code_of(row.status)},
                        {"reason", row.reason}});
    }
  }
  Json pareto = Json::array();
  for (const std::size_t row : choice.pareto) pareto.push_back(point(row));
  Json learning = Json::array();
  for (const std::size_t row : learning_front(result)) learning.push_back(point(row));
  Json all_series = Json::array();
  const Efficiencies reached = efficiencies(result);
  for (const Series& series : series_of(result)) {
    Json points = Json::array();
    for (const std::size_t row : series.rows) points.push_back(point(row));
    all_series.push_back({{"name", series.name},
                          {"points", std::move(points)},
                          {"scales_to", scaling_json(result, reached, series)}});
  }
  Json json{{"schema_version", schema_version},
            {"trainyard_version", version()},
            {"sweep", result.sweep.name},
            {"experiment", result.sweep.experiment},
            {"changed_keys", result.sweep.changed},
            {"keys", result.sweep.keys},
            {"points", result.sweep.points.size()},
            {"done", rows.size()},
            {"failed", failed.size()},
            {"rows", std::move(rows)},
            {"failures", std::move(failed)},
            {"best", best_json(result, choice)},
            {"pareto", std::move(pareto)},
            {"learning_front", std::move(learning)},
            {"series", std::move(all_series)},
            {"gains", gains_json(result)},
            {"groups", groups_json(group_findings(result))},
            {"left_out", left_out_json(result.sweep)},
            {"published", published_json(result)}};
  if (result.sweep.report) json["sections"] = sections_json(result);
  return json;
}

}  // namespace trainyard
