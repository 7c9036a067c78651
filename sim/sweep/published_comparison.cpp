#include "sweep/published_comparison.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

std::optional<std::size_t> row_of(const SweepResult& result, std::size_t point) {
  const auto found = std::ranges::find(result.rows, point, &SweepRow::point);
  if (found == result.rows.end()) return std::nullopt;
  return static_cast<std::size_t>(found - result.rows.begin());
}

/// The figure of a row; also nothing if the rows are of an older program, which did not have the figure.
std::optional<double> known_figure(const SweepResult& result, std::size_t row, const std::string& name) {
  if (std::ranges::find(result.figures, name) == result.figures.end()) return std::nullopt;
  return figure(result, result.rows[row], name);
}

}  // namespace

std::optional<double> figure_like(const SweepResult& result, std::size_t row,
                                  const PublishedComparison& comparison) {
  const std::optional<double> value = known_figure(result, row, comparison.figure);
  if (!value || !comparison.reference_row) return value;
  const std::optional<double> reference = known_figure(result, *comparison.reference_row, comparison.figure);
  if (!reference || *reference <= 0) return std::nullopt;
  return *value / *reference;
}

std::vector<PublishedComparison> published_comparisons(const SweepResult& result) {
  std::vector<PublishedComparison> comparisons;
  for (const PublishedPoint& published : result.sweep.published) {
    const std::optional<std::size_t> row = row_of(result, published.point);
    const std::optional<std::size_t> reference =
        published.reference ? row_of(result, *published.reference) : std::nullopt;
    if (!row || (published.reference && !reference)) continue;
    PublishedComparison comparison{.row = *row,
                                   .reference_row = reference,
                                   .figure = published.figure,
                                   .published = published.value,
                                   .predicted = {},
                                   .source = published.source};
    comparison.predicted = figure_like(result, *row, comparison);
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

std::optional<double> difference(const PublishedComparison& comparison) {
  if (!comparison.predicted) return std::nullopt;
  return *comparison.predicted - comparison.published;
}

std::optional<double> relative_difference(const PublishedComparison& comparison) {
  if (!comparison.predicted) return std::nullopt;
  return *comparison.predicted / comparison.published - 1;
}

std::string reference_in_words(const SweepResult& result, const PublishedComparison& comparison) {
  if (!comparison.reference_row) return {};
  const PointValues& values = result.sweep.points[result.rows[comparison.row].point];
  const PointValues& reference = result.sweep.points[result.rows[*comparison.reference_row].point];
  std::string text;
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    if (values[key] != reference[key])
      text += (text.empty() ? "" : ", ") + result.sweep.keys[key] + "=" + reference[key];
  }
  return text;
}

}  // namespace trainyard
