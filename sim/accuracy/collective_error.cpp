#include "accuracy/collective_error.hpp"

#include "accuracy/expected_error.hpp"
#include "units/statistics.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace trainyard {
namespace {

constexpr Bytes large_from{1024.0 * 1024};

/// A value and its weight.
using Weighted = std::pair<double, double>;

/// Sorts the values.
double quantile_of(std::vector<Weighted>& values, double share) {
  std::ranges::sort(values);
  double sum = 0;
  for (const auto& [value, weight] : values) sum += weight;
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= share * sum) return value;
  }
  return values.back().first;
}

std::vector<double> logs_of(const PublishedCurve& curve, SizeRange range) {
  std::vector<double> logs;
  for (const CollectivePoint& point : curve.points) {
    if (range_of(point.size) == range) logs.push_back(std::log(point.ratio));
  }
  return logs;
}

/// Before the widening: of log(measured / predicted).
struct LocalCurves {
  double centre = 0, half = 0;
  std::vector<std::pair<double, const PublishedCurve*>> nearest;
};

std::optional<LocalCurves> local_curves(const CollectiveErrors& errors, const CurveSubject& of,
                                        SizeRange range, std::optional<int> without_series) {
  LocalCurves local;
  for (const PublishedCurve& curve : errors.curves) {
    if (curve.series != without_series && !logs_of(curve, range).empty())
      local.nearest.emplace_back(distance(curve.of, of), &curve);
  }
  if (local.nearest.size() < nearest_count) return std::nullopt;
  std::ranges::stable_sort(local.nearest, {}, [](const auto& near) { return near.first; });
  local.nearest.resize(nearest_count);
  std::vector<Weighted> ratios;
  std::vector<double> distances;
  for (const auto& [far, curve] : local.nearest) {
    const std::vector<double> logs = logs_of(*curve, range);
    for (const double log : logs) ratios.emplace_back(log, 1.0 / static_cast<double>(logs.size()));
    distances.push_back(far);
  }
  const double low = quantile_of(ratios, (1 - expected_share) / 2);
  const double high = quantile_of(ratios, (1 + expected_share) / 2);
  local.centre = (low + high) / 2;
  local.half = half_width(low, high, mean(distances));
  return local;
}

constexpr std::string_view large_line = "widening from 1 MiB up";
constexpr std::string_view small_line = "widening below 1 MiB";
constexpr std::array curve_columns{"curve", "series", "operation", "platform", "links", "compute_capability",
                                   "gpus",  "nodes",  "fitted",    "bytes",    "ratio", "row",
                                   "source"};

}  // namespace

SizeRange range_of(Bytes size) { return size < large_from ? SizeRange::small : SizeRange::large; }

double distance(const CurveSubject& a, const CurveSubject& b) {
  const auto cost_if = [](bool differs, double cost) { return differs ? cost : 0; };
  const auto doublings = [](double x, double y) { return std::abs(std::log2(x / y)); };
  return cost_if(a.operation != b.operation, 1) + cost_if(a.platform != b.platform, 0.7) +
         cost_if(a.links != b.links, 2) + cost_if(a.compute_capability / 10 != b.compute_capability / 10, 1) +
         0.5 * doublings(a.gpus, b.gpus) + 0.5 * doublings(a.nodes, b.nodes);
}

std::optional<CollectiveError> collective_error(const CollectiveErrors& errors, const CurveSubject& of,
                                                SizeRange range, std::optional<int> without_series) {
  const auto local = local_curves(errors, of, range, without_series);
  if (!local) return std::nullopt;
  const double half = errors.widening_of(range) * local->half;
  const auto is_fitted = [](const auto& near) { return near.second->is_fitted; };
  return CollectiveError{.low = std::exp(local->centre - half) - 1,
                         .high = std::exp(local->centre + half) - 1,
                         .curves = static_cast<int>(local->nearest.size()),
                         .fitted = static_cast<int>(std::ranges::count_if(local->nearest, is_fitted)),
                         .nearest = *local->nearest.front().second};
}

void fit_widenings(CollectiveErrors& errors) {
  for (const SizeRange range : size_ranges) {
    std::vector<Weighted> needed;
    for (const PublishedCurve& curve : errors.curves) {
      const auto local = local_curves(errors, curve.of, range, curve.series);
      if (!local) continue;
      const std::vector<double> logs = logs_of(curve, range);
      for (const double log : logs)
        needed.emplace_back(std::abs(log - local->centre) / local->half,
                            1.0 / static_cast<double>(logs.size()));
    }
    errors.widening[static_cast<std::size_t>(range)] =
        needed.empty() ? 1 : quantile_of(needed, expected_share);
  }
}

CollectiveErrors read_collective_errors(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const auto wrong = [&](int line, std::string message) {
    problems.error(line, std::move(message), "write the file with 'trainyard validate --errors'");
  };
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  CollectiveErrors errors;
  const auto number = [&](int line, const std::string& cell, double least, double most = 1e15) {
    const Parsed<double> read = parse_number(cell);
    if (read && *read >= least && *read <= most) return *read;
    wrong(line, fmt::format("'{}' is not usable", cell));
    return least;
  };
  for (const auto& [key, value] :
       {std::pair(large_line, SizeRange::large), std::pair(small_line, SizeRange::small)}) {
    const auto found = std::ranges::find(file.comments, key, &CsvComment::key);
    if (found == file.comments.end())
      wrong(1, fmt::format("no line '# {}: '", key));
    else
      errors.widening[static_cast<std::size_t>(value)] = number(found->line, found->value.text, 0);
  }
  if (!std::ranges::equal(file.header.cells, curve_columns, {}, &CsvCell::text))
    wrong(file.header.line, "other columns than errors of published curves have");
  problems.finish();
  int last = 0;
  for (const CsvRow& row : file.rows) {
    const auto cell = [&](std::size_t column) -> const std::string& { return row.cells[column].text; };
    const auto count = [&](std::size_t column, int least) {
      constexpr double most = 1e9;
      return static_cast<int>(number(row.line, cell(column), least, most));
    };
    if (const int curve = count(0, 1); curve != last) {
      last = curve;
      errors.curves.push_back({.of = {.operation = cell(2),
                                      .platform = cell(3),
                                      .links = cell(4),
                                      .compute_capability = count(5, 0),
                                      .gpus = count(6, 1),
                                      .nodes = count(7, 1)},
                               .series = count(1, 1),
                               .is_fitted = count(8, 0) != 0,
                               .place = cell(11),
                               .source = cell(12)});
    }
    constexpr double least_ratio = 1e-9;
    errors.curves.back().points.push_back(
        {.size = Bytes{number(row.line, cell(9), 1)}, .ratio = number(row.line, cell(10), least_ratio)});
  }
  problems.finish();
  return errors;
}

bool covers(const CollectiveError& interval, double error) {
  return error >= interval.low && error <= interval.high;
}

std::string collective_errors_text(const CollectiveErrors& errors) {
  CsvText csv(fmt::format("# {}: {:.4g}\n# {}: {:.4g}\n{}", large_line, errors.widening_of(SizeRange::large),
                          small_line, errors.widening_of(SizeRange::small), fmt::join(curve_columns, ",")));
  int number = 0;
  for (const PublishedCurve& curve : errors.curves) {
    ++number;
    const CurveSubject& of = curve.of;
    for (const CollectivePoint& point : curve.points) {
      csv.row(number, curve.series, of.operation, of.platform, of.links, of.compute_capability, of.gpus,
              of.nodes, curve.is_fitted, fmt::format("{:.0f}", point.size.si()),
              fmt::format("{:.6g}", point.ratio), curve.place, curve.source);
    }
  }
  return csv.text();
}

}  // namespace trainyard
