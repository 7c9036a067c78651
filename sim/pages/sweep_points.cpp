#include "pages/sweep_points.hpp"

#include "config/keys.hpp"
#include "document/fluid_plot.hpp"
#include "document/json_text.hpp"
#include "pages/sweep_curves.hpp"
#include "report/sweep_words.hpp"
#include "run/figures.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

/// How the script prints a number; other units are none.
constexpr std::pair<FigureUnit, const char*> unit_names[] = {{FigureUnit::time, "s"},
                                                             {FigureUnit::samples_per_s, "samples/s"},
                                                             {FigureUnit::tokens_per_s, "tokens/s"},
                                                             {FigureUnit::per_second, "1/s"},
                                                             {FigureUnit::times, "x"},
                                                             {FigureUnit::share, "%"},
                                                             {FigureUnit::bytes, "B"},
                                                             {FigureUnit::flops, "FLOP"},
                                                             {FigureUnit::flop_rate, "FLOP/s"},
                                                             {FigureUnit::energy, "J"},
                                                             {FigureUnit::power, "W"},
                                                             {FigureUnit::usd, "USD"},
                                                             {FigureUnit::usd_per_h, "USD/h"},
                                                             {FigureUnit::gpus, "GPUs"},
                                                             {FigureUnit::samples, "samples"}};

const char* unit_name(FigureUnit unit) {
  const auto* const known = std::ranges::find(unit_names, unit, &std::pair<FigureUnit, const char*>::first);
  return known == std::end(unit_names) ? "" : known->second;
}

std::size_t points_of(const SweepResult& result) { return std::min(result.rows.size(), most_points_on_page); }

/// Six digits, enough for a chart; nothing for an infinite number.
std::optional<double> drawn_number(const std::optional<double>& number) {
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return std::stod(fmt::format("{:.6g}", *number));
}

/// Adds a figure if a point has it.
template <class ValueOf>
void add_figure(doc::Points& points, const SweepResult& result, doc::Points::Figure figure,
                const ValueOf& value) {
  for (std::size_t i = 0; i < points_of(result); ++i) {
    const SweepRow& row = result.rows[i];
    figure.values.push_back(row.status == PointStatus::done ? drawn_number(value(row)) : std::nullopt);
  }
  if (std::ranges::any_of(figure.values, [](const auto& number) { return number.has_value(); }))
    points.figures.push_back(std::move(figure));
}

/// Those with a value, without keys and names; the throughput per GPU after the throughput, and what the
/// table shows relative to the smallest run likewise here.
void add_figures(doc::Points& points, const SweepResult& result, const SweepColumns& shown) {
  const auto table = figures();
  const std::vector<doc::Column> columns = shown.columns();
  for (const std::string& name : result.figures) {
    const auto known = std::ranges::find(table, std::string_view(name), &Figure::field);
    const bool is_known = known != table.end();
    if (std::ranges::find(result.sweep.keys, name) != result.sweep.keys.end() ||
        (is_known && known->unit == FigureUnit::batch_range))
      continue;
    const auto column = std::ranges::find(columns, name, &doc::Column::key);
    add_figure(points, result,
               {.name = name,
                .label = is_known ? std::string(known->label) : name,
                .unit = is_known ? unit_name(known->unit) : ""},
               [&](const SweepRow& row) {
                 return column == columns.end()
                            ? figure(result, row, name)
                            : shown.value(row, static_cast<std::size_t>(column - columns.begin())).number;
               });
    if (name == throughput_figure)
      add_figure(points, result, {.name = per_gpu_figure, .label = "throughput per GPU", .unit = "samples/s"},
                 [&](const SweepRow& row) { return throughput_per_gpu(result, row); });
  }
}

doc::Points::Key point_key(const SweepResult& result, std::size_t key) {
  doc::Points::Key its{.name = result.sweep.keys[key], .is_scale = is_scale_key(result.sweep.keys[key])};
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < points_of(result); ++i) {
    const std::string& value = result.sweep.points[result.rows[i].point][key];
    const auto [place, is_new] = places.try_emplace(value, its.values.size());
    if (is_new) its.values.push_back(value);
    its.of.push_back(place->second);
  }
  return its;
}

/// The number of GPUs if it varies, as a key or a figure; or the first key that does.
std::string first_axis(const doc::Points& points) {
  const auto varies = [](const doc::Points::Key& key) { return key.values.size() > 1; };
  for (const doc::Points::Key& key : points.keys)
    if (varies(key) && (key.name == "ranks" || key.name == "gpus")) return key.name;
  const auto ranks = std::ranges::find(points.figures, "ranks", &doc::Points::Figure::name);
  if (ranks != points.figures.end() &&
      std::set<std::optional<double>>(ranks->values.begin(), ranks->values.end()).size() > 1)
    return ranks->name;
  const auto first = std::ranges::find_if(points.keys, varies);
  return first == points.keys.end() ? "step_time_s" : first->name;
}

}  // namespace

doc::Points points_chart(const SweepResult& result, const std::optional<std::string>& by) {
  const SweepColumns shown(result, true);
  doc::Points points{.all = result.rows.size(), .columns = {"point"}};
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key)
    points.keys.push_back(point_key(result, key));
  add_figures(points, result, shown);
  points.columns.insert(points.columns.end(), result.sweep.keys.begin(), result.sweep.keys.end());
  for (const doc::Column& column : shown.columns()) points.columns.push_back(column.key);
  points.x = first_axis(points);
  points.y = throughput_figure;
  points.colour = by.value_or("");
  return points;
}

}  // namespace trainyard
