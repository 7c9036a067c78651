#include "html/sweep_curves.hpp"

#include "document/fluid_plot.hpp"
#include "document/page.hpp"
#include "html/sweep_published.hpp"
#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

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

std::string series_kind(std::size_t number) { return fmt::format("series{}", number % most_together); }

/// The highest point at each horizontal place, in order: a curve has one run per number of GPUs.
std::vector<PlotPoint> best_of_each(const std::vector<PlotPoint>& points) {
  std::vector<PlotPoint> best;
  for (const PlotPoint& point : points) {
    if (best.empty() || best.back().x != point.x)
      best.push_back(point);
    else if (point.y > best.back().y)
      best.back() = point;
  }
  return best;
}

PlotAxis ranks_axis(const std::vector<double>& ranks) {
  return count_axis(ranks, FluidPlot::across_begin, FluidPlot::across_length, 8);
}

/// The curves of a panel: marks at all points, and lines through the best at each number of GPUs. `value`
/// gives a row's place on the vertical axis, `text` that value with its unit.
template <class Value, class Text>
void add_curves(FluidPlot& plot, const CurvePanel& panel, const CurveFigures& figures, const Value& value,
                const Text& text) {
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    std::vector<PlotPoint> points;
    for (const std::size_t row : panel.series[i].rows) {
      points.push_back({figures.ranks(row), value(row),
                        fmt::format("{}: {} {}", panel.names[i], text(value(row)),
                                    figures.place_in_words(panel.series[i], row))});
    }
    plot.line(series_kind(i), best_of_each(points));
    plot.marks(series_kind(i), static_cast<int>(i) % shapes, points);
  }
}

Html throughput_plot(const CurvePanel& panel, const CurveFigures& figures) {
  std::vector<double> ranks;
  std::vector<double> rates;
  for (const Series& series : panel.series) {
    const double per_gpu = figures.throughput(series.rows.front()) / figures.ranks(series.rows.front());
    for (const std::size_t row : series.rows) {
      ranks.push_back(figures.ranks(row));
      rates.push_back(figures.throughput(row));
    }
    rates.push_back(per_gpu * figures.ranks(series.rows.back()));
  }
  const std::vector<PlotPoint> published = figures.published_points(panel, throughput_figure);
  for (const PlotPoint& point : published) rates.push_back(point.y);
  FluidPlot plot("throughput over GPUs; " + panel.title, ranks_axis(ranks), "GPUs",
                 decades_axis(rates, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick),
                 "throughput, samples/s");
  for (const Series& series : panel.series) {
    const double first = figures.ranks(series.rows.front());
    const double last = figures.ranks(series.rows.back());
    const double rate = figures.throughput(series.rows.front());
    plot.line("ideal", {{first, rate, {}}, {last, rate * last / first, {}}});
  }
  add_curves(
      plot, panel, figures, [&](std::size_t row) { return figures.throughput(row); },
      [](double rate) { return rounded(rate) + " samples/s"; });
  plot.marks(published_kind, published_shape, published);
  return plot.html();
}

Html per_gpu_plot(const CurvePanel& panel, const CurveFigures& figures) {
  std::vector<double> ranks;
  std::vector<double> rates;
  const auto per_gpu = [&](std::size_t row) { return figures.throughput(row) / figures.ranks(row); };
  for (const Series& series : panel.series) {
    for (const std::size_t row : series.rows) {
      ranks.push_back(figures.ranks(row));
      rates.push_back(per_gpu(row));
    }
  }
  FluidPlot plot("throughput per GPU over GPUs; " + panel.title, ranks_axis(ranks), "GPUs",
                 linear_axis(rates, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick),
                 "throughput per GPU, samples/s");
  add_curves(plot, panel, figures, per_gpu, [](double rate) { return rounded(rate) + " samples/s per GPU"; });
  return plot.html();
}

Html efficiency_plot(const CurvePanel& panel, const CurveFigures& figures, bool is_relative) {
  std::vector<double> ranks;
  std::vector<double> shares{1, drawn_from};
  for (const Series& series : panel.series) {
    for (const std::size_t row : series.rows) {
      ranks.push_back(figures.ranks(row));
      shares.push_back(figures.efficiency[row].value());
    }
  }
  const std::vector<PlotPoint> published =
      is_relative ? std::vector<PlotPoint>{} : figures.published_points(panel, efficiency_figure);
  for (const PlotPoint& point : published) shares.push_back(point.y);
  const auto percent_tick = [](double share) { return fmt::format("{:.6g} %", 100 * share); };
  FluidPlot plot("scaling efficiency over GPUs; " + panel.title, ranks_axis(ranks), "GPUs",
                 linear_axis(shares, FluidPlot::up_begin, FluidPlot::up_length, 8, percent_tick,
                             std::ranges::min(shares) < drawn_from),
                 is_relative ? "throughput per GPU, relative to the smallest run"
                             : "scaling efficiency, relative to linear scaling");
  plot.level("least", scales_well);
  add_curves(
      plot, panel, figures, [&](std::size_t row) { return figures.efficiency[row].value(); }, percent);
  plot.marks(published_kind, published_shape, published);
  return plot.html();
}

}  // namespace

std::vector<std::string> telling_names(const SweepResult& result, const std::vector<Series>& all) {
  const std::vector<std::size_t> keys = telling_keys(result, all);
  std::vector<std::string> names;
  for (const Series& series : all) {
    names.push_back(values_in_words(result, series, keys, 0, keys.size()));
    if (names.back().empty()) names.back() = result.sweep.name;
  }
  return names;
}

namespace {

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

Html scaling_curves(const SweepResult& result) {
  std::vector<CurvePanel> panels = curve_panels(result);
  const auto is_curve = [](const Series& series) { return series.rows.size() > 1; };
  std::erase_if(panels,
                [&](const CurvePanel& panel) { return std::ranges::none_of(panel.series, is_curve); });
  if (panels.empty()) return {};
  const CurveFigures figures{
      .result = result, .efficiency = efficiencies(result), .published = published_comparisons(result)};
  Html html;
  for (std::size_t i = 0; i < std::min(panels.size(), most_panels); ++i) {
    const CurvePanel& panel = panels[i];
    if (!panel.title.empty()) html += subheading(panel.title);
    html += element("div",
                    throughput_plot(panel, figures) + per_gpu_plot(panel, figures) +
                        efficiency_plot(panel, figures, is_relative_to_smallest(result)),
                    " class=\"plots\"") +
            Html{"\n"};
    std::vector<LegendEntry> entries;
    for (std::size_t k = 0; k < panel.series.size(); ++k)
      entries.push_back({series_sign(series_kind(k), static_cast<int>(k) % shapes), panel.names[k]});
    entries.push_back({swatch_line("ideal"), "linear from the smallest run"});
    entries.push_back({swatch_line("least"), "80 %"});
    if (!figures.published_points(panel, throughput_figure).empty() ||
        !figures.published_points(panel, efficiency_figure).empty())
      entries.push_back({mark_sign(published_kind, published_shape), "published"});
    html += legend(entries);
  }
  if (panels.size() > most_panels) {
    html += paragraph(fmt::format("The first {} of {} groups of series are drawn; sweep.csv has all of them.",
                                  most_panels, panels.size()));
  }
  return html;
}

}  // namespace trainyard
