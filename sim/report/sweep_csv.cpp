#include "report/sweep_report.hpp"
#include "run/figures.hpp"
#include "sweep/choice.hpp"
#include "sweep/scaling.hpp"
#include "units/csv.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

/// A figure that is a name: "beyond".
void add_figure(CsvText& csv, const std::string& field, const std::optional<double>& number) {
  const std::string_view name = number ? sweep_name(field, *number) : std::string_view();
  if (name.empty())
    csv.add(number);
  else
    csv.add(name);
}

/// The point and the values of its keys, or their names.
template <class Point>
void add_keys(CsvText& csv, const Point& point, const std::vector<std::string>& keys) {
  csv.add(point);
  for (const std::string& key : keys) csv.add(key);
}

std::optional<double> ratio(const std::optional<double>& of, const std::optional<double>& to) {
  if (!of || !to || *to <= 0) return std::nullopt;
  return *of / *to;
}

std::optional<double> times(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a * *b;
}

/// The columns of a row besides its figures.
void add_derived(CsvText& csv, const SweepResult& result, const SweepRow& row,
                 const std::optional<RelativeScaling>& scaling) {
  constexpr double hour = 3600;
  const auto value = [&](const char* name) { return figure(result, row, name); };
  const auto of_series = [&](double RelativeScaling::*member) {
    return scaling ? std::optional((*scaling).*member) : std::nullopt;
  };
  csv.add(ratio(times(value("throughput_samples_per_s"), hour), value("rent_usd_per_h")),
          ratio(value("throughput_samples_per_s"), value("average_power_w")),
          times(value("average_power_w"), value("epoch_time_s")), of_series(&RelativeScaling::baseline_ranks),
          of_series(&RelativeScaling::speedup), of_series(&RelativeScaling::efficiency));
}

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  CsvText csv("");
  add_keys(csv, "point", result.sweep.keys);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < result.figures.size(); ++i) {
    if (std::ranges::find(result.sweep.keys, result.figures[i]) != result.sweep.keys.end()) continue;
    columns.push_back(i);
    csv.add(result.figures[i]);
  }
  csv.row("samples_per_usd", "samples_per_j", "energy_per_epoch_j", "baseline_ranks", "relative_speedup",
          "relative_efficiency", "is_pareto");
  const auto scaling = relative_scaling(result);
  const Choice choice = choose(result, needs_of(result));
  const std::set<std::size_t> pareto(choice.pareto.begin(), choice.pareto.end());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    if (row.status != PointStatus::done) continue;
    add_keys(csv, row.point, result.sweep.points[row.point]);
    for (const std::size_t column : columns) add_figure(csv, result.figures[column], row.figures[column]);
    add_derived(csv, result, row, scaling[i]);
    csv.row(pareto.contains(i));
  }
  return csv.text();
}

std::string failures_csv(const SweepResult& result) {
  CsvText csv("");
  add_keys(csv, "point", result.sweep.keys);
  csv.row("exit_code", "reason");
  for (const SweepRow& row : result.rows) {
    if (row.status == PointStatus::done) continue;
    add_keys(csv, row.point, result.sweep.points[row.point]);
    csv.row(exit_code_of(row.status), row.reason);
  }
  return csv.text();
}

}  // namespace trainyard
