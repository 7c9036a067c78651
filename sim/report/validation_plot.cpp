#include "config/keys.hpp"
#include "report/validation_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

// In pixels.
constexpr double panel_width = 300;
constexpr double panel_height = 190;
constexpr double left_margin = 64;
constexpr double top_margin = 40;
constexpr double gap = 26;
constexpr int panels_per_row = 4;
constexpr std::size_t fewest_dots = 3;

/// Base-10 logarithms, so that a step is a decade.
struct Axis {
  double low = 0, high = 1;  ///< whole decades
  double begin = 0, length = 1;

  [[nodiscard]] double at(double value) const {
    return begin + length * (std::log10(value) - low) / (high - low);
  }
};

Axis axis_over(const std::vector<double>& values, double begin, double length) {
  const auto [least, most] = std::ranges::minmax(values);
  const double low = std::floor(std::log10(least));
  return {low, std::max(low + 1, std::ceil(std::log10(most))), begin, length};
}

struct Dot {
  double size = 0, measured = 0, predicted = 0;  ///< bytes, bytes per second
};

/// Bus bandwidths of the sizes of a curve.
std::vector<Dot> dots_of(const ScoredCurve& scored) {
  std::vector<Dot> dots;
  for (const ScoredPoint& point : scored.points) {
    if (point.point->figure != CollectiveFigure::time) continue;
    const Bytes size = point.point->size();
    const auto rate = [&](double seconds) {
      return busbw(scored.curve->operation, scored.curve->gpus, size, Seconds{seconds}).si();
    };
    dots.push_back({size.si(), rate(point.point->measured), rate(point.predicted)});
  }
  return dots;
}

std::string decade_text(double power, std::string_view unit) {
  constexpr std::array<std::string_view, 5> prefixes{"", "k", "M", "G", "T"};
  const int whole = static_cast<int>(power);
  const int prefix = std::clamp(whole / 3, 0, 4);
  return fmt::format("{} {}{}", std::pow(10, whole - 3 * prefix), prefixes[static_cast<std::size_t>(prefix)],
                     unit);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&')
      result += "&amp;";
    else if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else
      result += letter;
  }
  return result;
}

/// "8 V100-SXM2, all_reduce": the name without its source.
std::string short_name(const CollectiveCurve& curve) { return curve.name.substr(0, curve.name.find(": ")); }

void add_text(std::string& svg, double x, double y, std::string_view anchor, std::string_view text) {
  fmt::format_to(std::back_inserter(svg), "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x,
                 y, anchor, escaped(text));
}

void add_line(std::string& svg, std::string_view kind, double x1, double y1, double x2, double y2) {
  fmt::format_to(std::back_inserter(svg),
                 "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
                 y1, x2, y2);
}

void add_panel(std::string& svg, const ScoredCurve& scored, const std::vector<Dot>& dots, double left,
               double top) {
  std::vector<double> sizes;
  std::vector<double> rates;
  for (const Dot& dot : dots) {
    sizes.push_back(dot.size);
    rates.insert(rates.end(), {dot.measured, dot.predicted});
  }
  const Axis across = axis_over(sizes, left, panel_width);
  Axis up = axis_over(rates, top + panel_height, -panel_height);
  for (double power = across.low; power <= across.high; ++power) {
    const double x = across.at(std::pow(10, power));
    add_line(svg, "grid", x, top, x, top + panel_height);
    const bool has_room = across.high - across.low <= 5 || std::fmod(power - across.low, 2) == 0;
    if (has_room) add_text(svg, x, top + panel_height + 13, "middle", decade_text(power, "B"));
  }
  for (double power = up.low; power <= up.high; ++power) {
    const double y = up.at(std::pow(10, power));
    add_line(svg, "grid", left, y, left + panel_width, y);
    add_text(svg, left - 4, y + 4, "end", decade_text(power, "B/s"));
  }
  add_text(svg, left, top - 18, "start", short_name(*scored.curve));
  const auto text_of = [](std::optional<double> error) {
    return error ? fmt::format("{:.1f} %", 100 * *error) : std::string("-");
  };
  add_text(svg, left, top - 5, "start",
           fmt::format("error {} from 1 MiB on, {} below", text_of(scored.large), text_of(scored.small)));
  std::string path;
  for (const Dot& dot : dots) {
    fmt::format_to(std::back_inserter(path), "{:.1f},{:.1f} ", across.at(dot.size), up.at(dot.predicted));
  }
  svg += "<polyline class=\"predicted\" points=\"" + path + "\"/>\n";
  for (const Dot& dot : dots) {
    fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\"/>\n",
                   across.at(dot.size), up.at(dot.measured));
  }
}

}  // namespace

std::string validation_plot(const Validation& validation) {
  std::string panels;
  int count = 0;
  for (const auto& family : config::Names<CurveFamily>::table) {
    for (const ScoredCurve& scored : validation.curves) {
      const std::vector<Dot> dots = dots_of(scored);
      if (scored.family != family.value || dots.size() < fewest_dots) continue;
      const double left = left_margin + (count % panels_per_row) * (panel_width + left_margin + gap);
      const int row = count / panels_per_row;
      const double top = top_margin + row * (panel_height + top_margin + gap);
      add_panel(panels, scored, dots, left, top);
      ++count;
    }
  }
  const int rows = (count + panels_per_row - 1) / panels_per_row;
  const int columns = std::min(count, panels_per_row);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
             "font-family=\"sans-serif\" font-size=\"11\">\n"
             "<style>.grid {{stroke: #ddd}} .predicted {{fill: none; stroke: #c33; stroke-width: 1.4}} "
             "circle {{fill: #225}}</style>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             columns * (panel_width + left_margin + gap) + gap,
             rows * (panel_height + top_margin + gap) + gap) +
         panels + "</svg>\n";
}

}  // namespace trainyard
