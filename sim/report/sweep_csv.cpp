#include "report/sweep_report.hpp"
#include "run/figures.hpp"
#include "sweep/choice.hpp"
#include "sweep/scaling.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

/// Appends ",1.5", or "," if there is no number.
void append_number(std::string& csv, const std::optional<double>& number) {
  csv += ',';
  if (number) csv += digits12(*number);
}

/// The same, or ",beyond" for a figure that is a name.
void append_figure(std::string& csv, const std::string& field, const std::optional<double>& number) {
  const std::string_view name = number ? sweep_name(field, *number) : std::string_view();
  if (name.empty()) return append_number(csv, number);
  csv += ',';
  csv += name;
}

/// Appends the point and the values of its keys, or their names.
void append_keys(std::string& csv, const std::string& point, const std::vector<std::string>& keys) {
  csv += point;
  for (const std::string& key : keys) {
    csv += ',';
    append_csv_cell(csv, key);
  }
}

std::optional<double> ratio(const std::optional<double>& of, const std::optional<double>& to) {
  if (!of || !to || *to <= 0) return std::nullopt;
  return *of / *to;
}

std::optional<double> times(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a * *b;
}

/// The columns of a row besides its figures: each once, in the order of `derived_columns`.
constexpr const char* derived_columns =
    ",samples_per_usd,samples_per_j,energy_per_epoch_j,baseline_ranks,relative_speedup,relative_efficiency,"
    "is_pareto\n";

void append_derived(std::string& csv, const SweepResult& result, const SweepRow& row,
                    const std::optional<RelativeScaling>& scaling, bool is_pareto) {
  constexpr double hour = 3600;
  const auto value = [&](const char* name) { return figure(result, row, name); };
  const auto of_series = [&](double RelativeScaling::*member) {
    return scaling ? std::optional((*scaling).*member) : std::nullopt;
  };
  append_number(csv, ratio(times(value("throughput_samples_per_s"), hour), value("rent_usd_per_h")));
  append_number(csv, ratio(value("throughput_samples_per_s"), value("average_power_w")));
  append_number(csv, times(value("average_power_w"), value("epoch_time_s")));
  append_number(csv, of_series(&RelativeScaling::baseline_ranks));
  append_number(csv, of_series(&RelativeScaling::speedup));
  append_number(csv, of_series(&RelativeScaling::efficiency));
  csv += is_pareto ? ",1\n" : ",0\n";
}

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  std::string csv;
  append_keys(csv, "point", result.sweep.keys);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < result.figures.size(); ++i) {
    if (std::ranges::find(result.sweep.keys, result.figures[i]) != result.sweep.keys.end()) continue;
    columns.push_back(i);
    csv += ',' + result.figures[i];
  }
  csv += derived_columns;
  const auto scaling = relative_scaling(result);
  const Choice choice = choose(result, needs_of(result));
  const std::set<std::size_t> pareto(choice.pareto.begin(), choice.pareto.end());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    if (row.status != PointStatus::done) continue;
    append_keys(csv, std::to_string(row.point), result.sweep.points[row.point]);
    for (const std::size_t column : columns) append_figure(csv, result.figures[column], row.figures[column]);
    append_derived(csv, result, row, scaling[i], pareto.contains(i));
  }
  return csv;
}

std::string failures_csv(const SweepResult& result) {
  std::string csv;
  append_keys(csv, "point", result.sweep.keys);
  csv += ",exit_code,reason\n";
  for (const SweepRow& row : result.rows) {
    if (row.status == PointStatus::done) continue;
    append_keys(csv, std::to_string(row.point), result.sweep.points[row.point]);
    csv += ',' + std::to_string(exit_code_of(row.status)) + ',';
    append_csv_cell(csv, row.reason);
    csv += '\n';
  }
  return csv;
}

}  // namespace trainyard
