#include "report/validation_plot.hpp"

#include "config/keys.hpp"
#include "document/plot_axis.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

// In pixels.
constexpr double panel_width = 300;
constexpr double panel_height = 170;
constexpr double panel_left = 82;    ///< from the edge of its cell: the axis' name and numbers
constexpr double panel_top = 46;     ///< likewise: three lines of text
constexpr double cell_width = 412;   ///< including half the width of the numbers at the panel's edge
constexpr double cell_height = 270;  ///< including the numbers and the axis' name below
constexpr double margin = 16;
constexpr double legend_height = 58;
constexpr double heading_height = 34;
constexpr int panels_per_row = 4;

constexpr std::size_t fewest_dots = 3;
constexpr std::size_t longest_line = 54;  ///< characters above a panel

struct Dot {
  double size = 0, measured = 0, predicted = 0;  ///< bytes, bytes per second
};

/// Bus bandwidths at the sizes of a curve.
std::vector<Dot> dots_of(const ScoredCurve& scored) {
  std::vector<Dot> dots;
  for (const ScoredPoint& point : scored.points) {
    if (point.point.figure != CollectiveFigure::time) continue;
    const Bytes size = point.point.size();
    const auto rate = [&](double seconds) {
      return busbw(scored.curve.operation, scored.curve.gpus, size, Seconds{seconds}).si();
    };
    dots.push_back({size.si(), rate(point.point.measured), rate(point.predicted)});
  }
  return dots;
}

/// The first characters of a text too long for a panel, and "...".
std::string shortened(std::string_view text) {
  constexpr std::string_view dots = "...";
  if (text.size() <= longest_line) return std::string(text);
  std::size_t length = longest_line - dots.size();
  // never through the middle of a character of several bytes
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  return std::string(text.substr(0, length)) + std::string(dots);
}

void add_measured_dot(std::string& svg, double x, double y) {
  fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"/>\n", x, y);
}

/// "fitted: 4.4 % from 1 MiB on, 7.6 % below": parts without sizes are left out.
std::string errors_text(const ScoredCurve& scored) {
  std::string text = is_fitted(scored.curve) ? "fitted: " : "unseen: ";
  if (scored.large) text += fmt::format("{:.1f} % from 1 MiB up", 100 * *scored.large);
  if (scored.large && scored.small) text += ", ";
  if (scored.small)
    text += fmt::format("{:.1f} % below{}", 100 * *scored.small, scored.large ? "" : " 1 MiB");
  return text;
}

/// The panel of a curve, its cell at the given corner.
void add_panel(std::string& svg, const ScoredCurve& scored, const std::vector<Dot>& dots, double cell_left,
               double cell_top) {
  const double left = cell_left + panel_left;
  const double top = cell_top + panel_top;
  const double bottom = top + panel_height;
  const double right = left + panel_width;
  std::vector<double> sizes;
  std::vector<double> rates;
  for (const Dot& dot : dots) {
    sizes.push_back(dot.size);
    rates.insert(rates.end(), {dot.measured, dot.predicted});
  }
  const PlotAxis across = size_axis(sizes, left, panel_width);
  const PlotAxis up = bandwidth_axis(rates, bottom, -panel_height);
  for (const AxisTick& tick : across.ticks) {
    add_svg_line(svg, "grid", across.at(tick.value), top, across.at(tick.value), bottom);
    add_svg_text(svg, across.at(tick.value), bottom + 16, "middle", tick.text);
  }
  for (const AxisTick& tick : up.ticks) {
    add_svg_line(svg, "grid", left, up.at(tick.value), right, up.at(tick.value));
    add_svg_text(svg, left - 5, up.at(tick.value) + 4, "end", tick.text);
  }
  add_svg_text(svg, left + panel_width / 2, bottom + 31, "middle", "size");
  const double middle = top + panel_height / 2;
  add_svg_upright_text(svg, cell_left + 12, middle, "bus bandwidth");

  const std::string& name = scored.curve.name;
  const std::size_t colon = name.find(": ");
  add_svg_text(svg, left, top - 34, "bold", shortened(name.substr(0, colon)));
  if (colon != std::string::npos)
    add_svg_text(svg, left, top - 20, "start", shortened(name.substr(colon + 2)));
  add_svg_text(svg, left, top - 6, "start", errors_text(scored));

  std::string path;
  for (const Dot& dot : dots)
    fmt::format_to(std::back_inserter(path), "{:.1f},{:.1f} ", across.at(dot.size), up.at(dot.predicted));
  svg += "<polyline class=\"predicted\" points=\"" + path + "\"/>\n";
  for (const Dot& dot : dots) add_measured_dot(svg, across.at(dot.size), up.at(dot.measured));
}

/// The meaning of dots, lines and numbers, at the top.
std::string legend(int not_drawn) {
  std::string svg;
  const double first = margin + 18;
  add_measured_dot(svg, margin + 16, first - 4);
  add_svg_text(svg, margin + 38, first, "start", "measured, as published");
  add_svg_line(svg, "predicted", margin + 200, first - 4, margin + 232, first - 4);
  add_svg_text(svg, margin + 240, first, "start",
               "predicted; fitted: constants were fitted to the curve, unseen: they were not");
  add_svg_text(svg, margin, first + 18, "start",
               "Percentages: mean of |predicted time / measured time - 1|. Both axes are logarithmic.");
  if (not_drawn > 0) {
    add_svg_text(svg, margin, first + 34, "start",
                 fmt::format("Not drawn: {} of fewer than {} sizes.",
                             not_drawn == 1 ? "1 curve" : fmt::format("{} curves", not_drawn), fewest_dots));
  }
  return svg;
}

std::string_view heading_of(CurveFamily family) {
  switch (family) {
    case CurveFamily::nvlink:
      return "NVLink, one node";
    case CurveFamily::pcie:
      return "PCIe, one node";
    case CurveFamily::several_nodes:
      break;
  }
  return "Several nodes";
}

}  // namespace

std::string validation_plot(const CollectiveValidation& validation) {
  std::string panels;
  double top = legend_height + margin;
  int not_drawn = 0;
  int widest = 2;  // minimum width for the legend
  for (const auto& family : config::Names<CurveFamily>::table) {
    int count = 0;
    for (const ScoredCurve& scored : validation.curves) {
      if (scored.family != family.value) continue;
      const std::vector<Dot> dots = dots_of(scored);
      if (dots.size() < fewest_dots) {
        ++not_drawn;
        continue;
      }
      if (count == 0) {
        add_svg_text(panels, margin, top + 22, "heading", heading_of(family.value));
        top += heading_height;
      }
      const int row = count / panels_per_row;
      add_panel(panels, scored, dots, margin + (count % panels_per_row) * cell_width,
                top + row * cell_height);
      ++count;
    }
    widest = std::max(widest, std::min(count, panels_per_row));
    const int rows = (count + panels_per_row - 1) / panels_per_row;
    top += rows * cell_height;
  }
  constexpr std::string_view style =
      ".grid {stroke: #ddd} .predicted {fill: none; stroke: #c33; stroke-width: 1.6} "
      "circle {fill: white; stroke: #113; stroke-width: 1.1} .middle {text-anchor: middle} "
      ".end {text-anchor: end} .bold {font-weight: bold} "
      ".heading {font-weight: bold; font-size: 16px}";
  return svg_begin(2 * margin + widest * cell_width, top + margin, style) + legend(not_drawn) + panels +
         "</svg>\n";
}

}  // namespace trainyard
