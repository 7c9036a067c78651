#include "report/sweep_published.hpp"

#include "pages/sweep_curves.hpp"
#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t most_ticks = 8;
constexpr std::size_t most_published_series = 8;  ///< of the style sheet
constexpr int series_shapes = 4;

/// Comparisons of one figure, relative to points named alike: they have an axis in common.
struct PublishedGroup {
  std::string name;
  std::vector<PublishedComparison> comparisons;
};

std::vector<PublishedGroup> groups_of(const SweepResult& result) {
  std::vector<PublishedGroup> groups;
  for (PublishedComparison& comparison : published_comparisons(result)) {
    const std::string name = published_figure_in_words(result, comparison);
    auto group = std::ranges::find(groups, name, &PublishedGroup::name);
    if (group == groups.end())
      group = groups.insert(groups.end(), PublishedGroup{.name = name, .comparisons = {}});
    group->comparisons.push_back(std::move(comparison));
  }
  return groups;
}

/// The series with at least two runs that have a published figure of the group, each with one of these.
std::vector<std::pair<Series, const PublishedComparison*>> published_series(const SweepResult& result,
                                                                            const PublishedGroup& group) {
  std::vector<std::pair<Series, const PublishedComparison*>> all;
  for (Series& series : series_of(result)) {
    const auto is_in_series = [&](const PublishedComparison& comparison) {
      return std::ranges::find(series.rows, comparison.row) != series.rows.end();
    };
    const auto found = std::ranges::find_if(group.comparisons, is_in_series);
    if (found != group.comparisons.end() && series.rows.size() > 1)
      all.emplace_back(std::move(series), &*found);
  }
  return all;
}

bool is_on_scaling_curves(const SweepResult& result, const PublishedGroup& group) {
  const PublishedComparison& first = group.comparisons.front();
  if (first.reference_row) return false;
  return first.figure == throughput_figure ||
         (first.figure == efficiency_figure && !is_relative_to_smallest(result));
}

/// The figure's name, with its unit.
std::string axis_title(const PublishedGroup& group) {
  const PublishedComparison& first = group.comparisons.front();
  return is_in_percent(first) ? group.name : fmt::format("{} ({})", group.name, first.figure);
}

std::string axis_tick(double value, const PublishedComparison& like) {
  constexpr double percents = 100;
  return is_in_percent(like) ? fmt::format("{:.6g} %", percents * value) : rounded_tick(value);
}

std::string predicted_tooltip(const SweepResult& result, std::size_t row, double value,
                              const PublishedComparison& like) {
  return fmt::format("{}: predicted: {}", point_in_words(result.sweep, result.rows[row].point),
                     published_value(value, like));
}

/// The group's figure over the number of GPUs.
doc::Chart published_curves(const SweepResult& result, const PublishedGroup& group,
                            const std::vector<std::pair<Series, const PublishedComparison*>>& all) {
  const auto ranks = [&](std::size_t row) { return figure(result, result.rows[row], "ranks").value(); };
  doc::Chart chart{.key = "published",
                   .title = group.name + " over GPUs, predicted and published",
                   .across_title = "GPUs",
                   .up_title = axis_title(group)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [series, like] = all[i];
    doc::Chart::Series curve{fmt::format("series{}", i % most_published_series),
                             series.name.empty() ? "predicted" : "predicted: " + series.name,
                             {},
                             true,
                             static_cast<int>(i) % series_shapes};
    for (const std::size_t row : series.rows)
      if (const std::optional<double> value = figure_like(result, row, *like))
        curve.points.push_back({ranks(row), *value, predicted_tooltip(result, row, *value, *like)});
    chart.series.push_back(std::move(curve));
  }
  doc::Chart::Series published{published_kind, "published", {}, false, published_shape};
  for (const PublishedComparison& comparison : group.comparisons)
    if (result.rows[comparison.row].status == PointStatus::done)
      published.points.push_back(
          {ranks(comparison.row), comparison.published, published_tooltip(comparison)});
  chart.series.push_back(std::move(published));
  const auto tick = [&](double value) { return axis_tick(value, group.comparisons.front()); };
  chart.across =
      count_axis(numbers_across(chart), FluidPlot::across_begin, FluidPlot::across_length, most_ticks);
  chart.up =
      linear_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, most_ticks, tick, false);
  return chart;
}

/// The first varied key by which the group's points are told apart in colours: few values, and several.
std::optional<std::size_t> colouring_key(const SweepResult& result, const PublishedGroup& group) {
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    std::set<std::string> values;
    for (const PublishedComparison& comparison : group.comparisons)
      values.insert(result.sweep.points[result.rows[comparison.row].point][key]);
    if (values.size() > 1 && values.size() <= most_published_series) return key;
  }
  return std::nullopt;
}

/// Predicted against published figures, for points that no number of GPUs connects; nothing for a single one.
std::optional<doc::Chart> published_scatter(const SweepResult& result, const PublishedGroup& group) {
  const std::optional<std::size_t> key = colouring_key(result, group);
  doc::Chart chart{.key = "published", .title = group.name + ", predicted against published"};
  std::vector<double> values;
  for (const PublishedComparison& comparison : group.comparisons) {
    if (!comparison.predicted || *comparison.predicted <= 0) continue;
    const PointValues& point = result.sweep.points[result.rows[comparison.row].point];
    const std::string name = key ? fmt::format("{}={}", result.sweep.keys[*key], point[*key]) : "points";
    auto cloud = std::ranges::find(chart.series, name, &doc::Chart::Series::name);
    if (cloud == chart.series.end()) {
      const std::size_t number = chart.series.size();
      chart.series.push_back(
          {fmt::format("series{}", number), name, {}, false, static_cast<int>(number) % series_shapes});
      cloud = std::prev(chart.series.end());
    }
    cloud->points.push_back(
        {comparison.published, *comparison.predicted,
         fmt::format("{}, published: {}, {}",
                     predicted_tooltip(result, comparison.row, *comparison.predicted, comparison),
                     published_value(comparison.published, comparison), published_difference(comparison))});
    values.push_back(comparison.published);
    values.push_back(*comparison.predicted);
  }
  if (values.size() <= 2) return std::nullopt;
  const auto tick = [&](double value) { return axis_tick(value, group.comparisons.front()); };
  chart.across_title = "published " + axis_title(group);
  chart.up_title = "predicted " + axis_title(group);
  chart.across = decades_axis(values, FluidPlot::across_begin, FluidPlot::across_length, most_ticks, tick);
  chart.up = decades_axis(values, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, tick);
  const auto [least, most] = std::ranges::minmax(values);
  chart.series.push_back({"ideal", "equal", {{least, least, {}}, {most, most, {}}}, true});
  return chart;
}

}  // namespace

std::string published_tooltip(const PublishedComparison& comparison) {
  return "published: " + published_value(comparison.published, comparison);
}

void add_published_charts(doc::Section& section, const SweepResult& result) {
  for (const PublishedGroup& group : groups_of(result)) {
    const auto series = published_series(result, group);
    std::optional<doc::Chart> chart;
    if (series.empty())
      chart = published_scatter(result, group);
    else if (!is_on_scaling_curves(result, group))
      chart = published_curves(result, group, series);
    if (!chart) continue;
    section.add(doc::Heading{group.name});
    section.add(std::move(*chart));
  }
}

}  // namespace trainyard
