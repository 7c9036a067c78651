#include "sweep/published_comparison.hpp"

#include "run/expected_bounds.hpp"
#include "sweep/scaling.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
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

/// Figures whose interval is stored with them.
struct StoredInterval {
  std::string_view figure, low, high;
};
constexpr StoredInterval stored_intervals[] = {
    {throughput_figure, "throughput_low_samples_per_s", "throughput_high_samples_per_s"},
    {"accuracy_at_end", "accuracy_at_end_low", "accuracy_at_end_high"},
    {"expected_accuracy", "expected_accuracy_low", "expected_accuracy_high"},
    {"time_to_target_s", "time_to_target_low_s", "time_to_target_high_s"}};

std::optional<ErrorBounds> stored_error(const SweepResult& result, const SweepRow& row,
                                        std::string_view name) {
  const auto* const found = std::ranges::find(stored_intervals, name, &StoredInterval::figure);
  if (found == std::end(stored_intervals)) return std::nullopt;
  const auto expected = figure_if_stored(result, row, name);
  const auto low = figure_if_stored(result, row, found->low);
  const auto high = figure_if_stored(result, row, found->high);
  if (!expected || !low || !high) return std::nullopt;
  return ErrorBounds{.low = *low / *expected - 1, .high = *high / *expected - 1};
}

std::optional<ErrorBounds> speed_error(const SweepResult& result, const SweepRow& row) {
  return stored_error(result, row, throughput_figure);
}

/// The error of speedups and efficiencies is that of the throughput relative to the reference.
bool is_relative_speed(std::string_view figure) { return figure == efficiency_figure || figure == "speedup"; }

std::optional<ErrorBounds> expected_error(const SweepResult& result, const PublishedComparison& comparison,
                                          std::size_t published) {
  const auto at = [](const std::vector<std::optional<ErrorBounds>>& errors, std::size_t place) {
    return place < errors.size() ? errors[place] : std::nullopt;
  };
  const SweepRow& row = result.rows[comparison.row];
  if (!comparison.reference_row) {
    if (const auto stored = stored_error(result, row, comparison.figure)) return stored;
  }
  std::optional<ErrorBounds> speed;
  if (comparison.reference_row)
    speed = at(result.relative_errors, published);
  else if (!is_relative_speed(comparison.figure))
    speed = speed_error(result, row);
  else if (!is_relative_to_smallest(result))
    speed = at(result.efficiency_errors, comparison.row);
  // without comparable pairs the error of the larger job itself, as if none of it cancelled
  if (!speed && comparison.figure == "speedup") speed = speed_error(result, row);
  if (!speed || is_relative_speed(comparison.figure)) return speed;
  return bounds_from_speed(comparison.figure, *speed, result.sweep.is_of_targets);
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
  for (std::size_t i = 0; i < result.sweep.published.size(); ++i) {
    const PublishedPoint& published = result.sweep.published[i];
    const std::optional<std::size_t> row = row_of(result, published.point);
    const std::optional<std::size_t> reference =
        published.reference ? row_of(result, *published.reference) : std::nullopt;
    if (!row || (published.reference && !reference)) continue;
    PublishedComparison comparison{.row = *row,
                                   .reference_row = reference,
                                   .figure = published.figure,
                                   .published = published.value,
                                   .predicted = {},
                                   .expected = {},
                                   .source = published.source};
    comparison.predicted = figure_like(result, *row, comparison);
    if (comparison.predicted) comparison.expected = expected_error(result, comparison, i);
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

bool is_as_expected(const PublishedComparison& comparison) {
  if (!comparison.predicted || !comparison.expected) return false;
  const double ratio = comparison.published / *comparison.predicted - 1;
  return comparison.expected->low <= ratio && ratio <= comparison.expected->high;
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
