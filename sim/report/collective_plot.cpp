#include "report/collective_plot.hpp"

#include "config/keys.hpp"
#include "document/plot_axis.hpp"
#include "report/svg.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <vector>

namespace trainyard {
namespace {

// In pixels.
constexpr double plot_left = 90;
constexpr double plot_top = 52;
constexpr double plot_width = 560;
constexpr double plot_height = 360;
constexpr double legend_left = plot_left + plot_width + 28;
constexpr double legend_width = 210;
constexpr double legend_step = 18;
constexpr double axis_height = 52;  ///< the numbers and the name of the lower axis

constexpr std::size_t most_times = 10;
constexpr std::size_t looks = 8;  ///< after as many lines their looks repeat
constexpr std::string_view way_styles =
    ".grid {stroke: #ddd} path {fill: none; stroke-width: 1.8} .s0, .s1, .s2, .s3, .s4, .s5, .s6, .s7 "
    "{stroke: "
    "currentColor} circle[class] {fill: currentColor; stroke: white; stroke-dasharray: none} "
    ".bound {stroke: #999; stroke-dasharray: 2 3} .middle {text-anchor: middle} .end {text-anchor: end} "
    ".bold {font-weight: bold} .s1, .s5 {stroke-dasharray: 7 3} .s2, .s6 {stroke-dasharray: 2 2} "
    ".s3, .s7 {stroke-dasharray: 9 3 2 3} .s0 {color: #0b5fa5} .s1 {color: #c33} .s2 {color: #2a7d2e} "
    ".s3 {color: #8a4bb0} .s4 {color: #b36b00} .s5 {color: #11828c} .s6 {color: #444} .s7 {color: #c2417d}";

/// The rows of one algorithm and protocol of a group, by size.
struct WayLine {
  std::string name;
  std::vector<const CollectiveTiming*> rows;
  std::vector<bool> follows;  ///< by row: the group's size before it is in this line too
};

std::vector<WayLine> way_lines(const CollectiveReport& report) {
  std::vector<WayLine> lines;
  std::vector<const WayLine*> last(report.groups.size(), nullptr);
  lines.reserve(report.rows.size());  // `last` points into it
  for (const CollectiveTiming& row : report.rows) {
    std::string name = fmt::format("{}/{}", row.algorithm, row.protocol);
    if (report.groups.size() > 1) name += fmt::format(", group {}", row.group);
    const auto same = std::ranges::find(lines, name, &WayLine::name);
    WayLine& line = same != lines.end() ? *same : lines.emplace_back(WayLine{std::move(name), {}, {}});
    const WayLine*& before = last[static_cast<std::size_t>(row.group)];
    line.follows.push_back(before == &line);
    line.rows.push_back(&row);
    before = &line;
  }
  return lines;
}

void add_way_dot(std::string& svg, std::size_t look, double x, double y) {
  fmt::format_to(std::back_inserter(svg),
                 "<circle class=\"s{0}\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"2.8\"/>\n", look, x, y);
}

void add_way_line(std::string& svg, const WayLine& line, std::size_t look, const PlotAxis& across,
                  const PlotAxis& up) {
  std::string path;
  for (std::size_t i = 0; i < line.rows.size(); ++i) {
    fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}",
                   line.follows[i] ? " L"
                   : i == 0        ? "M"
                                   : " M",
                   across.at(line.rows[i]->size.si()), up.at(line.rows[i]->time.si()));
  }
  svg += fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", look, path);
  for (const CollectiveTiming* row : line.rows)
    add_way_dot(svg, look, across.at(row->size.si()), up.at(row->time.si()));
}

void add_axes(std::string& svg, const PlotAxis& across, const PlotAxis& up) {
  constexpr double bottom = plot_top + plot_height;
  constexpr double right = plot_left + plot_width;
  for (const AxisTick& tick : across.ticks) {
    add_svg_line(svg, "grid", across.at(tick.value), plot_top, across.at(tick.value), bottom);
    add_svg_text(svg, across.at(tick.value), bottom + 16, "middle", tick.text);
  }
  for (const AxisTick& tick : up.ticks) {
    add_svg_line(svg, "grid", plot_left, up.at(tick.value), right, up.at(tick.value));
    add_svg_text(svg, plot_left - 6, up.at(tick.value) + 4, "end", tick.text);
  }
  add_svg_text(svg, plot_left + plot_width / 2, bottom + 36, "middle", "size");
  add_svg_upright_text(svg, 16, plot_top + plot_height / 2, "time");
}

}  // namespace

std::string collective_plot(const CollectiveReport& report) {
  const std::vector<WayLine> lines = way_lines(report);
  const bool has_bound = report.groups.size() == 1;
  std::vector<double> sizes;
  std::vector<double> times;
  for (const CollectiveTiming& row : report.rows) {
    sizes.push_back(row.size.si());
    times.push_back(row.time.si());
    if (has_bound && row.bound > Seconds{}) times.push_back(row.bound.si());
  }
  const PlotAxis across = size_axis(sizes, plot_left, plot_width);
  const PlotAxis up = decades_axis(times, plot_top + plot_height, -plot_height, most_times,
                                   [](double time) { return human(Seconds{time}); });
  const double entries = static_cast<double>(lines.size() + (has_bound ? 1 : 0));
  const double height = std::max(plot_height, entries * legend_step);
  std::string svg = svg_begin(legend_left + legend_width, plot_top + height + axis_height, way_styles);
  add_svg_text(svg, plot_left, 20, "bold",
               fmt::format("{} on {}, {} on {}", config::name_of(report.operation), report.platform,
                           plural(report.ranks, "rank"), plural(report.nodes, "node")));
  add_svg_text(svg, plot_left, 36, "start",
               fmt::format("Library: {}. Both axes are logarithmic.", report.library));
  add_axes(svg, across, up);
  double entry = plot_top + 8;
  const auto name_entry = [&](std::string_view name) {
    add_svg_text(svg, legend_left + 40, entry + 4, "start", name);
    entry += legend_step;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    add_way_line(svg, lines[i], i % looks, across, up);
    add_svg_line(svg, fmt::format("s{}", i % looks), legend_left, entry, legend_left + 32, entry);
    add_way_dot(svg, i % looks, legend_left + 16, entry);
    name_entry(lines[i].name);
  }
  if (has_bound) {
    std::string path;
    for (const CollectiveTiming& row : report.rows) {
      if (row.bound > Seconds{})
        fmt::format_to(std::back_inserter(path), "{}{:.1f},{:.1f}", path.empty() ? "M" : " L",
                       across.at(row.size.si()), up.at(row.bound.si()));
    }
    if (!path.empty()) svg += fmt::format("<path class=\"bound\" d=\"{}\"/>\n", path);
    add_svg_line(svg, "bound", legend_left, entry, legend_left + 32, entry);
    name_entry("bound: no algorithm is faster");
  }
  return svg + "</svg>\n";
}

}  // namespace trainyard
