#include "html/sweep_published.hpp"

#include "config/fields.hpp"
#include "document/fluid_plot.hpp"
#include "report/sweep_published.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/scaling.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
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
constexpr std::size_t tall_table = 30;  ///< rows
constexpr std::size_t numbers = 4;      ///< of a row: predicted, published, difference, source

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
Html published_curves(const SweepResult& result, const PublishedGroup& group,
                      const std::vector<std::pair<Series, const PublishedComparison*>>& all) {
  const auto ranks = [&](std::size_t row) { return figure(result, result.rows[row], "ranks").value(); };
  std::vector<std::vector<PlotPoint>> curves;
  std::vector<double> across;
  std::vector<double> upwards;
  for (const auto& [series, like] : all) {
    std::vector<PlotPoint>& curve = curves.emplace_back();
    for (const std::size_t row : series.rows) {
      const std::optional<double> value = figure_like(result, row, *like);
      if (!value) continue;
      curve.push_back({ranks(row), *value, predicted_tooltip(result, row, *value, *like)});
      across.push_back(ranks(row));
      upwards.push_back(*value);
    }
  }
  std::vector<PlotPoint> published;
  for (const PublishedComparison& comparison : group.comparisons) {
    if (result.rows[comparison.row].status != PointStatus::done) continue;
    published.push_back({ranks(comparison.row), comparison.published, published_tooltip(comparison)});
    across.push_back(published.back().x);
    upwards.push_back(published.back().y);
  }
  const auto tick = [&](double value) { return axis_tick(value, group.comparisons.front()); };
  FluidPlot plot(group.name + " over GPUs, predicted and published",
                 count_axis(across, FluidPlot::across_begin, FluidPlot::across_length, most_ticks), "GPUs",
                 linear_axis(upwards, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, tick, false),
                 axis_title(group));
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string kind = fmt::format("series{}", i % most_published_series);
    const int shape = static_cast<int>(i) % series_shapes;
    plot.line(kind, curves[i]);
    plot.marks(kind, shape, curves[i]);
    const std::string& name = all[i].first.name;
    entries.push_back({series_sign(kind, shape), name.empty() ? "predicted" : "predicted: " + name});
  }
  plot.marks(published_kind, published_shape, published);
  entries.push_back({mark_sign(published_kind, published_shape), "published"});
  return plot.html() + legend(entries);
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

/// Predicted against published figures, for points that no number of GPUs connects.
Html published_scatter(const SweepResult& result, const PublishedGroup& group) {
  const std::optional<std::size_t> key = colouring_key(result, group);
  config::Ordered<std::vector<PlotPoint>> clouds;  // by the legend's text
  std::vector<double> values;
  for (const PublishedComparison& comparison : group.comparisons) {
    if (!comparison.predicted || *comparison.predicted <= 0) continue;
    const PointValues& point = result.sweep.points[result.rows[comparison.row].point];
    const std::string name = key ? fmt::format("{}={}", result.sweep.keys[*key], point[*key]) : "points";
    auto cloud = std::ranges::find(clouds, name, &std::pair<std::string, std::vector<PlotPoint>>::first);
    if (cloud == clouds.end()) cloud = clouds.emplace(clouds.end(), name, std::vector<PlotPoint>());
    cloud->second.push_back(
        {comparison.published, *comparison.predicted,
         fmt::format("{}, published: {}, {}",
                     predicted_tooltip(result, comparison.row, *comparison.predicted, comparison),
                     published_value(comparison.published, comparison), published_difference(comparison))});
    values.push_back(comparison.published);
    values.push_back(*comparison.predicted);
  }
  if (values.size() <= 2) return {};  // a single point
  const auto tick = [&](double value) { return axis_tick(value, group.comparisons.front()); };
  const std::string title = axis_title(group);
  FluidPlot plot(group.name + ", predicted against published",
                 decades_axis(values, FluidPlot::across_begin, FluidPlot::across_length, most_ticks, tick),
                 "published " + title,
                 decades_axis(values, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, tick),
                 "predicted " + title);
  const auto [least, most] = std::ranges::minmax(values);
  plot.line("ideal", {{least, least, {}}, {most, most, {}}});
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < clouds.size(); ++i) {
    const std::string kind = fmt::format("series{}", i);
    const int shape = static_cast<int>(i) % series_shapes;
    plot.marks(kind, shape, clouds[i].second);
    entries.push_back({mark_sign(kind, shape), clouds[i].first});
  }
  entries.push_back({swatch_line("ideal"), "equal"});
  return plot.html() + legend(entries);
}

}  // namespace

std::string published_tooltip(const PublishedComparison& comparison) {
  return "published: " + published_value(comparison.published, comparison);
}

Html published_html(const SweepResult& result) {
  const PublishedTable published = published_table(result);
  if (published.rows.empty()) return {};
  std::vector<HtmlColumn> columns;
  for (std::size_t i = 0; i < published.heads.size(); ++i)
    columns.push_back({published.heads[i], i + numbers < published.heads.size()});
  HtmlTable table("predicted and published figures", std::move(columns));
  for (const std::vector<std::string>& row : published.rows) table.row(row);
  HtmlTable sources("sources of published figures", {{"source", true}, {"publication", true}});
  for (std::size_t i = 0; i < published.sources.size(); ++i)
    sources.row(fmt::format("[{}]", i + 1), published.sources[i]);
  Html html = paragraph(
                  "Differences of shares and of figures relative to another point are in percentage points, "
                  "others in percent of the published figure. published.csv has them in SI base units.") +
              table.html(published.rows.size() > tall_table) + sources.html();
  Html plots;
  for (const PublishedGroup& group : groups_of(result)) {
    const auto series = published_series(result, group);
    Html plot;
    if (series.empty())
      plot = published_scatter(result, group);
    else if (!is_on_scaling_curves(result, group))
      plot = published_curves(result, group, series);
    if (!plot.markup.empty()) plots += element("div", plot);
  }
  return plots.markup.empty() ? html : html + element("div", plots, " class=\"plots\"");
}

}  // namespace trainyard
