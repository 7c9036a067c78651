#include "pages/sweep_curves.hpp"

#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_together = 8;  ///< the style sheet's series
constexpr std::size_t most_panels = 12;
constexpr int shapes = 4;
constexpr double drawn_from = 0.5;  ///< for efficiencies if none is lower: makes the 80 % line visible

/// The keys that distinguish series, by index among the sweep's keys: excludes numbers of GPUs and keys with
/// equal values everywhere.
std::vector<std::size_t> telling_keys(const SweepResult& result, const std::vector<Series>& all) {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    if (is_scale_key(result.sweep.keys[key])) continue;
    std::set<std::string> values;
    for (const Series& series : all)
      values.insert(result.sweep.points[result.rows[series.rows.front()].point][key]);
    if (values.size() > 1) keys.push_back(key);
  }
  return keys;
}

/// "model=resnet50, precision=amp" for the keys from `first` to before `last`.
std::string values_in_words(const SweepResult& result, const Series& series,
                            const std::vector<std::size_t>& keys, std::size_t first, std::size_t last) {
  const PointValues& values = result.sweep.points[result.rows[series.rows.front()].point];
  std::string text;
  for (std::size_t i = first; i < last; ++i)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", result.sweep.keys[keys[i]], values[keys[i]]);
  return text;
}

/// Those of the keys in which the series differ.
std::vector<std::size_t> differing(const SweepResult& result, const std::vector<Series>& series,
                                   const std::vector<std::size_t>& keys) {
  std::vector<std::size_t> differing;
  const auto value = [&](const Series& one, std::size_t key) {
    return result.sweep.points[result.rows[one.rows.front()].point][key];
  };
  for (const std::size_t key : keys) {
    if (std::ranges::any_of(series,
                            [&](const Series& one) { return value(one, key) != value(series.front(), key); }))
      differing.push_back(key);
  }
  return differing;
}

struct CurveFigures {
  const SweepResult& result;
  Efficiencies efficiency;
  std::vector<PublishedComparison> published;

  [[nodiscard]] double ranks(std::size_t row) const {
    return figure(result, result.rows[row], "ranks").value();
  }
  /// "on 16 GPUs", with the keys if several runs use this number: "on 16 GPUs (nodes=2, gpus_per_node=8)".
  [[nodiscard]] std::string place_in_words(const Series& series, std::size_t row) const {
    std::string text = "on " + count(std::llround(ranks(row)), "GPU");
    const auto is_beside = [&](std::size_t other) { return ranks(other) == ranks(row); };
    if (std::ranges::count_if(series.rows, is_beside) > 1)
      text += fmt::format(" ({})", point_in_words(result.sweep, result.rows[row].point));
    return text;
  }
  [[nodiscard]] double throughput(std::size_t row) const {
    return figure(result, result.rows[row], throughput_figure).value();
  }
  /// Published values of a figure at the panel's runs.
  [[nodiscard]] std::vector<PlotPoint> published_points(const CurvePanel& panel,
                                                        std::string_view name) const {
    std::vector<PlotPoint> points;
    for (const PublishedComparison& comparison : published) {
      const auto is_in = [&](const Series& series) {
        return std::ranges::find(series.rows, comparison.row) != series.rows.end();
      };
      if (comparison.figure != name || comparison.reference_row) continue;
      if (std::ranges::none_of(panel.series, is_in)) continue;
      points.push_back({ranks(comparison.row), comparison.published, published_tooltip(comparison)});
    }
    return points;
  }
};

/// A figure over the number of GPUs.
struct Measure {
  std::string title, up_title;
  std::function<double(std::size_t)> value;  ///< of a row
  std::function<std::string(double)> text;   ///< with its unit
  std::vector<PlotPoint> published = {};
};

/// The highest point at each horizontal place in order, and the others: a curve has one run per number of
/// GPUs.
std::pair<std::vector<PlotPoint>, std::vector<PlotPoint>> best_of_each(const std::vector<PlotPoint>& points) {
  std::vector<PlotPoint> best, others;
  for (const PlotPoint& point : points) {
    if (best.empty() || best.back().x != point.x) {
      best.push_back(point);
      continue;
    }
    others.push_back(point);
    if (point.y > best.back().y) std::swap(best.back(), others.back());
  }
  return {best, others};
}

/// The curves of a panel; the vertical axis is missing.
doc::Chart curves(const CurvePanel& panel, const CurveFigures& figures, const Measure& measure) {
  doc::Chart chart{.key = "scaling",
                   .title = measure.title + " over GPUs; " + panel.title,
                   .across_title = "GPUs",
                   .up_title = measure.up_title};
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    std::vector<PlotPoint> points;
    for (const std::size_t row : panel.series[i].rows) {
      const double value = measure.value(row);
      points.push_back({figures.ranks(row), value,
                        fmt::format("{}: {} {}", panel.names[i], measure.text(value),
                                    figures.place_in_words(panel.series[i], row))});
    }
    const auto [best, others] = best_of_each(points);
    const std::string kind = fmt::format("series{}", i % most_together);
    const int mark = static_cast<int>(i) % shapes;
    chart.series.push_back({kind, panel.names[i], best, true, mark});
    if (!others.empty()) chart.series.push_back({kind, "", others, false, mark});
  }
  if (!measure.published.empty())
    chart.series.push_back({published_kind, "published", measure.published, false, published_shape});
  chart.across = count_axis(numbers_across(chart), FluidPlot::across_begin, FluidPlot::across_length, 8);
  return chart;
}

doc::Chart throughput_chart(const CurvePanel& panel, const CurveFigures& figures) {
  doc::Chart chart = curves(panel, figures,
                            {.title = "throughput",
                             .up_title = "throughput, samples/s",
                             .value = [&](std::size_t row) { return figures.throughput(row); },
                             .text = [](double rate) { return rounded(rate) + " samples/s"; },
                             .published = figures.published_points(panel, throughput_figure)});
  for (const Series& series : panel.series) {
    const double first = figures.ranks(series.rows.front());
    const double last = figures.ranks(series.rows.back());
    const double rate = figures.throughput(series.rows.front());
    chart.series.push_back({"ideal",
                            "linear from the smallest run",
                            {{first, rate, {}}, {last, rate * last / first, {}}},
                            true});
  }
  chart.up = decades_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick);
  return chart;
}

doc::Chart per_gpu_chart(const CurvePanel& panel, const CurveFigures& figures) {
  doc::Chart chart =
      curves(panel, figures,
             {.title = "throughput per GPU",
              .up_title = "throughput per GPU, samples/s",
              .value = [&](std::size_t row) { return figures.throughput(row) / figures.ranks(row); },
              .text = [](double rate) { return rounded(rate) + " samples/s per GPU"; }});
  chart.up = linear_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick);
  return chart;
}

doc::Chart efficiency_chart(const CurvePanel& panel, const CurveFigures& figures) {
  const bool is_relative = is_relative_to_smallest(figures.result);
  doc::Chart chart = curves(panel, figures,
                            {.title = "scaling efficiency",
                             .up_title = is_relative ? "throughput per GPU, relative to the smallest run"
                                                     : "scaling efficiency, relative to linear scaling",
                             .value = [&](std::size_t row) { return figures.efficiency[row].value(); },
                             .text = percent,
                             .published = is_relative ? std::vector<PlotPoint>{}
                                                      : figures.published_points(panel, efficiency_figure)});
  chart.rules.push_back({.kind = "least", .text = "80 %", .at = scales_well});
  std::vector<double> shares = numbers_upwards(chart);
  shares.insert(shares.end(), {1, drawn_from});
  const auto percent_tick = [](double share) { return fmt::format("{:.6g} %", 100 * share); };
  chart.up = linear_axis(shares, FluidPlot::up_begin, FluidPlot::up_length, 8, percent_tick,
                         std::ranges::min(shares) < drawn_from);
  return chart;
}

/// Names the series of a panel by the keys in which they differ, and the panel by the others.
void name_panel(const SweepResult& result, const std::vector<std::size_t>& keys, CurvePanel& panel) {
  const std::vector<std::size_t> its = differing(result, panel.series, keys);
  std::vector<std::size_t> common;
  std::ranges::set_difference(keys, its, std::back_inserter(common));
  panel.title = values_in_words(result, panel.series.front(), common, 0, common.size());
  for (const Series& series : panel.series) {
    panel.names.push_back(values_in_words(result, series, its, 0, its.size()));
    if (panel.names.back().empty())
      panel.names.back() = panel.title.empty() ? result.sweep.name : panel.title;
  }
}

}  // namespace

std::vector<CurvePanel> curve_panels(const SweepResult& result) {
  const std::vector<Series> all = series_of(result);
  if (all.empty()) return {};
  const std::vector<std::size_t> keys = telling_keys(result, all);
  std::vector<CurvePanel> panels;
  for (std::size_t in_title = 0; in_title <= keys.size(); ++in_title) {
    panels.clear();
    std::map<std::string, std::size_t> places;
    for (const Series& series : all) {
      const std::string title = values_in_words(result, series, keys, 0, in_title);
      const auto [place, is_new] = places.try_emplace(title, panels.size());
      if (is_new) panels.emplace_back();
      panels[place->second].series.push_back(series);
    }
    if (std::ranges::all_of(panels,
                            [](const CurvePanel& panel) { return panel.series.size() <= most_together; }))
      break;
  }
  for (CurvePanel& panel : panels) name_panel(result, keys, panel);
  return panels;
}

void add_scaling_curves(doc::Section& section, const SweepResult& result) {
  std::vector<CurvePanel> panels = curve_panels(result);
  const auto is_curve = [](const Series& series) { return series.rows.size() > 1; };
  std::erase_if(panels,
                [&](const CurvePanel& panel) { return std::ranges::none_of(panel.series, is_curve); });
  const CurveFigures figures{
      .result = result, .efficiency = efficiencies(result), .published = published_comparisons(result)};
  for (std::size_t i = 0; i < std::min(panels.size(), most_panels); ++i) {
    const CurvePanel& panel = panels[i];
    if (!panel.title.empty()) section.add(doc::Heading{panel.title});
    section.add(throughput_chart(panel, figures));
    section.add(per_gpu_chart(panel, figures));
    section.add(efficiency_chart(panel, figures));
  }
  if (panels.size() > most_panels)
    section.add(
        doc::Sentence{fmt::format("The first {} of {} groups of series are drawn; sweep.csv has all of them.",
                                  most_panels, panels.size())});
}

}  // namespace trainyard
