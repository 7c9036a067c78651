#include "report/training_plot.hpp"

#include "document/plot_axis.hpp"
#include "published/scores.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

// In pixels.
constexpr double picture_width = 980;
constexpr double first_panel = 62;   ///< left edge of the first panel of a line
constexpr double family_step = 310;  ///< distance between neighbouring panels
constexpr double family_width = 272;
constexpr double family_height = 128;
constexpr double first_line = 84;  ///< top of the first line of panels
constexpr double line_step = family_height + 66;
constexpr double inset = 26;  ///< distance of the first and last number of GPUs from the panel's edge
constexpr double mark_radius = 2.4;
constexpr std::size_t panels_beside = 3;

constexpr double band = 0.1;
constexpr double widest_column = 0.76;  ///< width of the marks on one number of GPUs, relative to a doubling
constexpr Fit drawn = Fit::one_gpu;

enum class MarkKind { linear, predicted, predicted_incomplete };

struct Mark {
  double gpus = 0;
  double predicted = 0, linear = 0;  ///< relative to the measured value
  bool is_incomplete = false;        ///< the row's column clean is "partial"
  double aside = 0;                  ///< distance from its number of GPUs, in columns
};

struct Panel {
  const Family* family = nullptr;
  std::vector<Mark> marks;
};

/// Places the marks of runs on one number of GPUs side by side, in the order of the rows.
void stand_beside(std::vector<Mark>& marks) {
  constexpr double farthest = 0.1;  // distance between neighbours, so that a few stay together
  std::map<double, std::vector<Mark*>> columns;
  for (Mark& mark : marks) columns[mark.gpus].push_back(&mark);
  for (const auto& [gpus, its] : columns) {
    const double step = std::min(farthest, widest_column / static_cast<double>(its.size()));
    for (std::size_t i = 0; i < its.size(); ++i)
      its[i]->aside = step * (static_cast<double>(i) - static_cast<double>(its.size() - 1) / 2);
  }
}

std::vector<Panel> panels_of(const Validation& validation) {
  std::vector<Panel> panels;
  for (const auto& family : validation.families) {
    Panel panel{.family = family.get(), .marks = {}};
    for (const ScoredCase& scored : validation.cases) {
      if (!scored.counts(drawn) || scored.family != family.get()) continue;
      const PredictedCase& run = scored.predicted;
      panel.marks.push_back({.gpus = static_cast<double>(scored.of.row->gpus_total),
                             .predicted = 1 + scored.error(drawn),
                             .linear = run.linear[Fit::one_gpu].value_or(*run.measured) / *run.measured,
                             .is_incomplete = scored.of.row->clean == "partial"});
    }
    stand_beside(panel.marks);
    if (!panel.marks.empty()) panels.push_back(std::move(panel));
  }
  return panels;
}

std::string_view class_of(MarkKind kind) {
  switch (kind) {
    case MarkKind::linear:
      return "linear";
    case MarkKind::predicted:
      return "mark";
    case MarkKind::predicted_incomplete:
      return "part";
  }
  return "";
}

void add_dot(std::string& svg, double x, double y) {
  fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", x, y,
                 mark_radius);
}

/// An arrow at the edge that points to a ratio beyond the panel.
void add_arrow(std::string& svg, double x, double y, bool is_up) {
  const double tip = is_up ? -3.5 : 3.5;
  fmt::format_to(std::back_inserter(svg), "<polygon points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                 x, y + tip, x - 3, y - tip / 2, x + 3, y - tip / 2);
}

/// "8.0 %, linear 26.3 %, 77 runs; 8 incomplete 5.1 %": all that fits above a panel.
std::string drawn_errors(const Validation& validation, const std::string& family) {
  const CaseErrors complete = errors_of(validation, drawn, {.family = family, .is_incomplete = false});
  const CaseErrors incomplete = errors_of(validation, drawn, {.family = family, .is_incomplete = true});
  std::string text;
  if (complete.rows > 0) {
    text = fmt::format("{:.1f} %", 100 * *complete.mape);
    if (complete.linear) text += fmt::format(", linear {:.1f} %", 100 * *complete.linear);
    text += fmt::format(", {} run{}", complete.rows, complete.rows == 1 ? "" : "s");
  }
  if (incomplete.rows == 0) return text;
  return text + fmt::format("{}{} incomplete {:.1f} %", text.empty() ? "" : "; ", incomplete.rows,
                            100 * *incomplete.mape);
}

struct PanelPlace {
  double left = 0, top = 0;
  PlotAxis across, up;
  double column = 0;  ///< width of a doubling
};

PanelPlace place_of(const Panel& panel, std::size_t number) {
  PanelPlace place;
  place.left = first_panel + family_step * static_cast<double>(number % panels_beside);
  const std::size_t line = number / panels_beside;
  place.top = first_line + line_step * static_cast<double>(line);
  std::vector<double> counts;
  for (const Mark& mark : panel.marks) counts.push_back(mark.gpus);
  place.across = count_axis(counts, place.left + inset, family_width - 2 * inset);
  place.up = ratio_axis(place.top + family_height, -family_height);
  const double first = place.across.ticks.front().value;
  place.column = std::min(place.across.at(2 * first) - place.across.at(first), 2 * inset / widest_column);
  return place;
}

void add_frame(std::string& svg, const PanelPlace& place) {
  const double right = place.left + family_width;
  const double bottom = place.top + family_height;
  const double band_top = place.up.at(1 + band);
  fmt::format_to(std::back_inserter(svg),
                 "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                 place.left, band_top, family_width, place.up.at(1 - band) - band_top);
  for (const AxisTick& tick : place.up.ticks) {
    const double y = place.up.at(tick.value);
    add_svg_line(svg, tick.value == 1 ? "exact" : "grid", place.left, y, right, y);
    add_svg_text(svg, place.left - 5, y + 4, "end", tick.text);
  }
  for (const AxisTick& tick : place.across.ticks) {
    const double x = place.across.at(tick.value);
    add_svg_line(svg, "grid", x, bottom, x, bottom + 4);
    add_svg_text(svg, x, bottom + 16, "middle", tick.text);
  }
}

void add_marks(std::string& svg, const Panel& panel, const PanelPlace& place, MarkKind kind) {
  const double least = place.up.ticks.front().value;
  const double most = place.up.ticks.back().value;
  fmt::format_to(std::back_inserter(svg), "<g class=\"{}\">\n", class_of(kind));
  for (const Mark& mark : panel.marks) {
    if (kind != MarkKind::linear && mark.is_incomplete != (kind == MarkKind::predicted_incomplete)) continue;
    const double ratio = kind == MarkKind::linear ? mark.linear : mark.predicted;
    const double x = place.across.at(mark.gpus) + place.column * mark.aside;
    const double y = place.up.at(std::clamp(ratio, least, most));
    if (ratio < least || ratio > most)
      add_arrow(svg, x, y, ratio > most);
    else
      add_dot(svg, x, y);
  }
  svg += "</g>\n";
}

void add_legend(std::string& svg) {
  double x = first_panel + 3;
  const auto add = [&](MarkKind kind, std::string_view text, double width) {
    fmt::format_to(std::back_inserter(svg), "<g class=\"{}\">\n", class_of(kind));
    add_dot(svg, x, 39);
    svg += "</g>\n";
    add_svg_text(svg, x + 8, 43, "start", text);
    x += width;
  };
  add_svg_text(svg, first_panel, 22, "bold",
               "Predicted / measured training throughput over the number of GPUs, by family");
  add(MarkKind::predicted, "predicted, kernel times scaled to match the one-GPU run", 336);
  add(MarkKind::predicted_incomplete, "incomplete source", 124);
  add(MarkKind::linear, "linear scaling of that run", 156);
  add_svg_text(svg, x, 43, "start", "band: 10 %; arrows: outside; %: mean error");
}

}  // namespace

std::string training_plot(const Validation& validation) {
  const std::vector<Panel> panels = panels_of(validation);
  constexpr std::string_view style =
      ".grid {stroke: #e2e2e2} .band {fill: #dfe8f4} .exact {stroke: #888} .linear {fill: #b9b9b9} "
      ".mark {fill: #1f5fa8; fill-opacity: 0.75} .part {fill: white; stroke: #1f5fa8; stroke-width: 1.2} "
      ".middle {text-anchor: middle} .end {text-anchor: end} .bold {font-weight: bold; font-size: 13px} "
      ".name {font-weight: bold}";
  const std::size_t lines = (panels.size() + panels_beside - 1) / panels_beside;
  std::string svg = svg_begin(picture_width, first_line + line_step * static_cast<double>(lines), style);
  if (panels.empty()) {
    add_svg_text(svg, first_panel, 22, "bold", "No run is scored with fit 1gpu");
    return svg + "</svg>\n";
  }
  add_legend(svg);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Panel& panel = panels[i];
    const PanelPlace place = place_of(panel, i);
    add_svg_text(svg, place.left, place.top - 19, "name", panel.family->name);
    add_svg_text(svg, place.left, place.top - 6, "start", drawn_errors(validation, panel.family->name));
    add_frame(svg, place);
    for (const MarkKind kind : {MarkKind::linear, MarkKind::predicted, MarkKind::predicted_incomplete})
      add_marks(svg, panel, place, kind);
  }
  return svg + "</svg>\n";
}

}  // namespace trainyard
