#include "html/sweep_points.hpp"

#include "config/keys.hpp"
#include "document/fluid_plot.hpp"
#include "document/json_text.hpp"
#include "html/sweep_published.hpp"
#include "report/sweep_words.hpp"
#include "run/figures.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t most_colours = 8;     ///< the style sheet's series
constexpr std::size_t most_in_table = 500;  ///< of the table without script
constexpr std::size_t most_points = 5000;   ///< of the script's: about 1 MB

/// What the script does with a number to print it.
const char* unit_name(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::time:
      return "s";
    case FigureUnit::samples_per_s:
      return "samples/s";
    case FigureUnit::tokens_per_s:
      return "tokens/s";
    case FigureUnit::per_second:
      return "1/s";
    case FigureUnit::times:
      return "x";
    case FigureUnit::share:
      return "%";
    case FigureUnit::bytes:
      return "B";
    case FigureUnit::flops:
      return "FLOP";
    case FigureUnit::flop_rate:
      return "FLOP/s";
    case FigureUnit::energy:
      return "J";
    case FigureUnit::power:
      return "W";
    case FigureUnit::usd:
      return "USD";
    case FigureUnit::usd_per_h:
      return "USD/h";
    case FigureUnit::gpus:
      return "GPUs";
    case FigureUnit::samples:
      return "samples";
    case FigureUnit::text:
    case FigureUnit::count:
    case FigureUnit::number:
    case FigureUnit::batch_range:
      break;
  }
  return "";
}

/// A figure's values for all points.
struct PointFigure {
  std::string name, label, unit;
  std::vector<std::optional<double>> values;
};

std::size_t points_of(const SweepResult& result) { return std::min(result.rows.size(), most_points); }

bool is_name(std::string_view field) {
  const auto table = figures();
  const auto known = std::ranges::find(table, field, &Figure::field);
  return known != table.end() && known->unit == FigureUnit::batch_range;
}

/// Those with a value, without keys and names; the throughput per GPU after the throughput, and what the
/// table shows relative to the smallest run likewise here.
std::vector<PointFigure> point_figures(const SweepResult& result, const SweepColumns& shown) {
  std::vector<PointFigure> all;
  const auto add = [&](std::string name, std::string label, std::string unit, const auto& value) {
    PointFigure one{
        .name = std::move(name), .label = std::move(label), .unit = std::move(unit), .values = {}};
    for (std::size_t i = 0; i < points_of(result); ++i) {
      const SweepRow& row = result.rows[i];
      one.values.push_back(row.status == PointStatus::done ? value(row) : std::nullopt);
    }
    if (std::ranges::any_of(one.values, [](const auto& number) { return number.has_value(); }))
      all.push_back(std::move(one));
  };
  const auto table = figures();
  const std::vector<std::string> names = shown.figures();
  for (const std::string& name : result.figures) {
    if (std::ranges::find(result.sweep.keys, name) != result.sweep.keys.end() || is_name(name)) continue;
    const auto known = std::ranges::find(table, std::string_view(name), &Figure::field);
    const bool is_known = known != table.end();
    const auto column = std::ranges::find(names, name);
    add(name, is_known ? std::string(known->label) : name, is_known ? unit_name(known->unit) : "",
        [&](const SweepRow& row) {
          return column == names.end() ? figure(result, row, name)
                                       : shown.number(row, static_cast<std::size_t>(column - names.begin()));
        });
    if (name == throughput_figure) {
      add(per_gpu_figure, "throughput per GPU", "samples/s",
          [&](const SweepRow& row) { return throughput_per_gpu(result, row); });
    }
  }
  return all;
}

/// The key's values in order of appearance, and which of them each point has.
struct PointKey {
  std::vector<std::string> values;
  std::vector<std::size_t> of;
};

PointKey point_key(const SweepResult& result, std::size_t key) {
  PointKey its;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < points_of(result); ++i) {
    const std::string& value = result.sweep.points[result.rows[i].point][key];
    const auto [place, is_new] = places.try_emplace(value, its.values.size());
    if (is_new) its.values.push_back(value);
    its.of.push_back(place->second);
  }
  return its;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + json_quoted(text);
  return list;
}

std::string column_of(const std::vector<PointFigure>& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, &PointFigure::name);
  return found == figures.end() ? std::string() : fmt::format("figure {}", found - figures.begin());
}

/// A row's cells: the point, then the columns'; without figures where it failed.
std::vector<std::string> cells_of(const SweepResult& result, const SweepColumns& shown, const SweepRow& row) {
  std::vector<std::string> cells = shown.cells(row);
  cells.insert(cells.begin(), grouped(static_cast<std::int64_t>(row.point)));
  if (row.status != PointStatus::done) cells.resize(1 + result.sweep.keys.size());
  return cells;
}

/// `by`, or the first key other than a number of GPUs, with several values, not more than there are colours;
/// empty: none.
std::string colour_column(const SweepResult& result, const std::vector<PointKey>& keys,
                          const std::optional<std::string>& by) {
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const std::size_t values = keys[key].values.size();
    if (by == result.sweep.keys[key] && values > 1 && values <= most_colours)
      return fmt::format("key {}", key);
  }
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const std::size_t values = keys[key].values.size();
    if (!is_scale_key(result.sweep.keys[key]) && values > 1 && values <= most_colours)
      return fmt::format("key {}", key);
  }
  return {};
}

/// The number of GPUs if it varies, as a key or a figure; or the first key that does.
std::string across_column(const SweepResult& result, const std::vector<PointFigure>& figures,
                          const std::vector<PointKey>& keys) {
  const auto varies = [&](std::size_t key) { return keys[key].values.size() > 1; };
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (varies(key) && (result.sweep.keys[key] == "ranks" || result.sweep.keys[key] == "gpus"))
      return fmt::format("key {}", key);
  }
  const auto ranks = std::ranges::find(figures, std::string_view("ranks"), &PointFigure::name);
  if (ranks != figures.end() &&
      std::set<std::optional<double>>(ranks->values.begin(), ranks->values.end()).size() > 1)
    return column_of(figures, "ranks");
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (varies(key)) return fmt::format("key {}", key);
  }
  return column_of(figures, "step_time_s");
}

Html choice_of(const char* id, const char* label) {
  return element(
      "label", as_text(std::string(label) + " ") + element("select", Html{}, fmt::format(" id=\"{}\"", id)));
}

}  // namespace

Html points_chart(const SweepResult& result) {
  if (result.rows.size() < failures(result) + 2) return {};
  const Html controls = element("div",
                                choice_of("points-x", "across") + choice_of("points-y", "up") +
                                    choice_of("points-colour", "colour"),
                                " class=\"controls\"") +
                        Html{"\n"} + element("div", Html{}, " class=\"controls\" id=\"points-filters\"") +
                        element("p", element("output", Html{}, " id=\"points-shown\""), " class=\"hint\"") +
                        Html{"\n"} + element("div", Html{}, " id=\"points-plot\"") + Html{"\n"};
  return element("div", controls, " id=\"points-view\" hidden=\"hidden\"") + Html{"\n"} +
         element("noscript",
                 paragraph("Axes, colours and filters of this chart need JavaScript. The table and the "
                           "charts below do not."));
}

Html points_table(const SweepResult& result) {
  if (result.rows.empty()) return {};
  const SweepColumns shown(result, true);
  std::vector<HtmlColumn> columns{{"point", true}};
  for (const std::string& head : shown.heads())
    columns.push_back({head, columns.size() <= result.sweep.keys.size()});
  columns.push_back({"share of the highest samples/s", true});
  double highest = 0;
  for (const SweepRow& row : result.rows)
    highest = std::max(highest, figure(result, row, throughput_figure).value_or(0));
  HtmlTable table("points", std::move(columns));
  for (const SweepRow& row : result.rows) {
    if (table.rows() == most_in_table) break;
    const std::vector<std::string> cells = cells_of(result, shown, row);
    if (row.status == PointStatus::done) {
      std::vector<Html> markup;
      for (const std::string& cell : cells) markup.push_back(as_text(cell));
      markup.push_back(share_bar(
          "compute", figure(result, row, throughput_figure).value_or(0) / std::max(highest, 1e-300)));
      table.row(markup);
    } else {
      table.row_with_remark(cells, "failed; the reason is below");
    }
  }
  Html html;
  if (is_relative_to_smallest(result) && !series_of(result).empty()) {
    html += paragraph(
        "Speedup and efficiency are relative to the smallest run of each series; sweep.csv also has those "
        "relative to one GPU with the same batch per GPU, where ranks do not share a model.");
  }
  return html +
         paragraph(table.rows() < result.rows.size()
                       ? fmt::format("The first {} of {} points; sweep.csv, next to this page, has all of "
                                     "them with more columns.",
                                     table.rows(), grouped(static_cast<std::int64_t>(result.rows.size())))
                       : "sweep.csv, next to this page, has the finished points with more columns, in SI "
                         "base units.") +
         element("p", element("output", Html{}, " id=\"points-order\""), " class=\"hint\"") + Html{"\n"} +
         element("div", table.html(table.rows() > 30), " id=\"points-table\"") + Html{"\n"};
}

std::string points_json(const SweepResult& result, const std::optional<std::string>& by) {
  if (result.rows.empty()) return {};
  const SweepColumns shown(result, true);
  const std::vector<PointFigure> figures = point_figures(result, shown);
  std::vector<PointKey> keys;
  std::string json = "{\"keys\":[";
  std::vector<std::string> columns{"point"};
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    const PointKey& its = keys.emplace_back(point_key(result, key));
    fmt::format_to(std::back_inserter(json),
                   "{}\n{{\"name\":{},\"is_scale\":{},\"values\":[{}],\"of\":[{}]}}", key == 0 ? "" : ",",
                   json_quoted(result.sweep.keys[key]), is_scale_key(result.sweep.keys[key]),
                   quoted_list(its.values), fmt::join(its.of, ","));
    columns.push_back(fmt::format("key {}", key));
  }
  json += "],\"figures\":[";
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const PointFigure& one = figures[i];
    std::string values;
    for (const std::optional<double>& value : one.values) {
      if (!values.empty()) values += ',';
      values += value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : "null";
    }
    fmt::format_to(std::back_inserter(json), "{}\n{{\"name\":{},\"label\":{},\"unit\":{},\"values\":[{}]}}",
                   i == 0 ? "" : ",", json_quoted(one.name), json_quoted(one.label), json_quoted(one.unit),
                   values);
  }
  for (const std::string& name : shown.figures()) columns.push_back(column_of(figures, name));
  std::string more;
  for (std::size_t i = most_in_table; i < points_of(result); ++i) {
    fmt::format_to(std::back_inserter(more), "{}\n[{}]", more.empty() ? "" : ",",
                   quoted_list(cells_of(result, shown, result.rows[i])));
  }
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < points_of(result); ++i) numbers.push_back(result.rows[i].point);
  if (std::ranges::is_sorted(numbers)) numbers.clear();
  fmt::format_to(std::back_inserter(json),
                 "],\"points\":{},\"numbers\":[{}],\"rows\":{},\"columns\":[{}],\"more\":[{}],\"x\":{},\"y\":"
                 "{},\"colour\":{}}}\n",
                 result.rows.size(), fmt::join(numbers, ","), points_of(result), quoted_list(columns), more,
                 json_quoted(across_column(result, figures, keys)),
                 json_quoted(column_of(figures, throughput_figure)),
                 json_quoted(colour_column(result, keys, by)));
  return json;
}

}  // namespace trainyard
