#include "report/sweep_published.hpp"

#include "document/json_text.hpp"
#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/sweep_words.hpp"
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

/// An end of the interval in which the measured figure is expected, in its unit.
std::optional<double> interval_end(const PublishedComparison& comparison, double ErrorBounds::*end) {
  if (!comparison.predicted || !comparison.expected) return std::nullopt;
  return *comparison.predicted * (1 + (*comparison.expected).*end);
}

/// A sweep with these keys alone, for words about points.
Sweep with_keys(const Sweep& sweep, const std::vector<std::size_t>& keys) {
  Sweep few;
  for (const std::size_t key : keys) few.keys.push_back(sweep.keys[key]);
  return few;
}

/// The table has the unit of rates in the figure's cell, so that its columns are narrow.
bool is_rate(const PublishedComparison& comparison) {
  return !comparison.reference_row && figure_of(comparison).unit == FigureUnit::samples_per_s;
}

std::string value_in_table(double value, const PublishedComparison& comparison) {
  return is_rate(comparison) ? rounded(value) : published_value(value, comparison);
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

std::string published_expected_error(const PublishedComparison& comparison) {
  if (!comparison.predicted || !comparison.expected) return "-";
  const ErrorBounds& of = *comparison.expected;
  if (!is_in_percent(comparison)) return error_range(of);
  constexpr double points = 100;
  const auto in_points = [&](double end) {
    return with_sign(fmt::format("{:.0f}", points * *comparison.predicted * end));
  };
  return fmt::format("{} to {} points", in_points(of.low), in_points(of.high));
}

std::pair<doc::Table, doc::List> published_table(const SweepResult& result, PublishedKeys place) {
  const std::vector<std::size_t> keys = identifying_keys(result.sweep);
  const std::vector<PublishedComparison> comparisons = published_comparisons(result);
  const bool has_columns = place == PublishedKeys::in_columns;
  doc::Table table{.key = "published",
                   .title = "predicted and published figures",
                   .columns = {{.head = "figure", .layout = text_column().wraps(14)}}};
  if (has_columns)
    for (const std::size_t key : keys)
      table.columns.push_back({.head = result.sweep.keys[key], .layout = number_column().wraps(8)});
  table.columns.push_back(doc::numbers("predicted"));
  const std::size_t longest = std::ranges::any_of(comparisons, is_in_percent) ? 10 : 8;  // "+53 points"
  table.columns.push_back({.head = "expected error", .layout = number_column().wraps(longest)});
  table.columns.push_back(doc::numbers("published"));
  table.columns.push_back(doc::numbers("differs", {}, has_columns ? 0 : 1));
  table.columns.push_back(doc::numbers("ref.", {}, has_columns ? 0 : 2));
  doc::List sources{.kind = doc::List::Kind::notes};
  for (const PublishedComparison& comparison : comparisons) {
    const auto known = std::ranges::find(sources.items, comparison.source, &doc::Labelled::text);
    const auto number = known - sources.items.begin() + 1;
    if (known == sources.items.end())
      sources.items.push_back({fmt::format("[{}]", number), comparison.source});
    std::string figure = published_figure_in_words(result, comparison);
    if (is_rate(comparison)) figure += ", samples/s";
    PointValues values;
    for (const std::size_t key : keys)
      values.push_back(result.sweep.points[result.rows[comparison.row].point][key]);
    if (!has_columns) figure += "; " + point_in_a_cell(with_keys(result.sweep, keys), values);
    std::vector<doc::Cell> cells{std::move(figure)};
    if (has_columns) cells.insert(cells.end(), values.begin(), values.end());
    cells.emplace_back(comparison.predicted ? value_in_table(*comparison.predicted, comparison) : "-");
    cells.emplace_back(published_expected_error(comparison));
    cells.emplace_back(value_in_table(comparison.published, comparison));
    cells.emplace_back(published_difference(comparison));
    cells.emplace_back(fmt::format("[{}]", number));
    table.rows.push_back({.cells = std::move(cells)});
  }
  return {std::move(table), std::move(sources)};
}

std::string published_csv(const SweepResult& result) {
  const std::vector<PublishedComparison> comparisons = published_comparisons(result);
  if (comparisons.empty()) return {};
  CsvText csv(
      "point,relative_to,figure,predicted,predicted_low,predicted_high,published,difference,relative_"
      "difference,source");
  for (const PublishedComparison& comparison : comparisons)
    csv.row(result.rows[comparison.row].point, reference_point(result, comparison), comparison.figure,
            comparison.predicted, interval_end(comparison, &ErrorBounds::low),
            interval_end(comparison, &ErrorBounds::high), comparison.published, difference(comparison),
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
                   {"predicted_low", number_or_null(interval_end(comparison, &ErrorBounds::low))},
                   {"predicted_high", number_or_null(interval_end(comparison, &ErrorBounds::high))},
                   {"published", comparison.published},
                   {"difference", number_or_null(difference(comparison))},
                   {"relative_difference", number_or_null(relative_difference(comparison))},
                   {"source", comparison.source}});
  }
  return all;
}

}  // namespace trainyard
