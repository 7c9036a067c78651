#include "report/sweep_published.hpp"

#include "document/json_text.hpp"
#include "report/figure_text.hpp"
#include "run/figures.hpp"
#include "units/csv.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

const Figure& figure_of(const PublishedComparison& comparison) {
  return figures()[index_of(comparison.figure)];
}

/// The number of a source, counted from 1; a new one is added.
std::size_t number_of_source(std::vector<std::string>& sources, const std::string& source) {
  const auto found = std::ranges::find(sources, source);
  const auto number = static_cast<std::size_t>(found - sources.begin()) + 1;
  if (found == sources.end()) sources.push_back(source);
  return number;
}

/// The keys that identify points with published figures, by index.
std::vector<std::size_t> identifying_keys(const Sweep& sweep) {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const auto is_named = [&](const PublishedPoint& point) {
      return std::ranges::find(point.keys, sweep.keys[key]) != point.keys.end();
    };
    if (std::ranges::any_of(sweep.published, is_named)) keys.push_back(key);
  }
  return keys;
}

std::optional<std::size_t> reference_point(const SweepResult& result, const PublishedComparison& comparison) {
  if (!comparison.reference_row) return std::nullopt;
  return result.rows[*comparison.reference_row].point;
}

}  // namespace

bool is_in_percent(const PublishedComparison& comparison) {
  return comparison.reference_row || figure_of(comparison).unit == FigureUnit::share;
}

std::string published_figure_in_words(const SweepResult& result, const PublishedComparison& comparison) {
  std::string words(figure_of(comparison).label);
  if (comparison.reference_row) words += ", relative to " + reference_in_words(result, comparison);
  return words;
}

std::string published_value(double value, const PublishedComparison& comparison) {
  return is_in_percent(comparison) ? percent(value) : in_unit(value, figure_of(comparison).unit);
}

std::string published_difference(const PublishedComparison& comparison) {
  if (!comparison.predicted) return "-";
  constexpr double points = 100;
  return is_in_percent(comparison) ? with_sign(fmt::format("{:.1f} points", points * *difference(comparison)))
                                   : signed_percent(*relative_difference(comparison));
}

PublishedTable published_table(const SweepResult& result) {
  const std::vector<std::size_t> keys = identifying_keys(result.sweep);
  PublishedTable table;
  table.heads.emplace_back("figure");
  for (const std::size_t key : keys) table.heads.push_back(result.sweep.keys[key]);
  table.heads.insert(table.heads.end(), {"predicted", "published", "difference", "source"});
  for (const PublishedComparison& comparison : published_comparisons(result)) {
    std::vector<std::string> row{published_figure_in_words(result, comparison)};
    const PointValues& values = result.sweep.points[result.rows[comparison.row].point];
    for (const std::size_t key : keys) row.push_back(values[key]);
    row.push_back(comparison.predicted ? published_value(*comparison.predicted, comparison) : "-");
    row.push_back(published_value(comparison.published, comparison));
    row.push_back(published_difference(comparison));
    row.push_back(fmt::format("[{}]", number_of_source(table.sources, comparison.source)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string published_csv(const SweepResult& result) {
  const std::vector<PublishedComparison> comparisons = published_comparisons(result);
  if (comparisons.empty()) return {};
  CsvText csv("point,relative_to,figure,predicted,published,difference,relative_difference,source");
  for (const PublishedComparison& comparison : comparisons)
    csv.row(result.rows[comparison.row].point, reference_point(result, comparison), comparison.figure,
            comparison.predicted, comparison.published, difference(comparison),
            relative_difference(comparison), comparison.source);
  return csv.text();
}

nlohmann::ordered_json published_json(const SweepResult& result) {
  Json all = Json::array();
  for (const PublishedComparison& comparison : published_comparisons(result)) {
    const std::optional<std::size_t> reference = reference_point(result, comparison);
    all.push_back({{"point", result.rows[comparison.row].point},
                   {"relative_to", reference ? Json(*reference) : Json()},
                   {"figure", comparison.figure},
                   {"predicted", number_or_null(comparison.predicted)},
                   {"published", comparison.published},
                   {"difference", number_or_null(difference(comparison))},
                   {"relative_difference", number_or_null(relative_difference(comparison))},
                   {"source", comparison.source}});
  }
  return all;
}

}  // namespace trainyard
