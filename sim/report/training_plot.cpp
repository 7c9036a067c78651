#include "report/training_plot.hpp"

#include "report/plot_axis.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

// In pixels.
constexpr double panel_size = 400;   ///< width and height of both
constexpr double left_panel = 70;    ///< where it begins
constexpr double right_panel = 560;  ///< likewise
constexpr double panels_top = 46;
constexpr double panels_bottom = panels_top + panel_size;
constexpr double legend_top = panels_bottom + 66;
constexpr double legend_line = 17;
constexpr double picture_width = 980;
constexpr double legend_column = 460;

constexpr double band = 0.1;
constexpr FitProtocol drawn = FitProtocol::one_gpu;

// Hues that are told apart beside each other; the second time round they are squares.
constexpr std::array<std::string_view, 10> colours{"#1f5fa8", "#d9541a", "#2f8f3a", "#8a4fbf", "#c2185b",
                                                   "#7a5230", "#0f9aa8", "#a08a00", "#e377b0", "#4d4d4d"};

struct Mark {
  const ScoredRun* run = nullptr;
  std::size_t family = 0;
  double measured = 0, predicted = 0, linear = 0, gpus = 0;
};

struct Marks {
  std::vector<const FamilyRule*> families;  ///< in the order of the rules
  std::vector<Mark> marks;
};

bool is_drawn(const ScoredRun& scored) {
  const Verdict& verdict = scored.verdict(drawn);
  return scored.family != nullptr && scored.family->not_claimed.empty() && verdict.is_asked &&
         verdict.excluded.empty() && verdict.outcome.empty();
}

Marks marks_of(const TrainingValidation& validation) {
  Marks all;
  for (const FamilyRule& rule : validation.rules->families) {
    const auto same = [&](const FamilyRule* known) { return known->family == rule.family; };
    if (std::ranges::any_of(all.families, same)) continue;  // several rules may lead to one family
    const std::size_t before = all.marks.size();
    for (const ScoredRun& scored : validation.runs) {
      if (!is_drawn(scored) || scored.family->family != rule.family) continue;
      const PredictedRun& run = scored.predicted;
      all.marks.push_back({.run = &scored,
                           .family = all.families.size(),
                           .measured = *run.measured,
                           .predicted = *run.by_protocol[static_cast<std::size_t>(drawn)].throughput,
                           .linear = run.linear_from_one_gpu.value_or(*run.measured),
                           .gpus = static_cast<double>(scored.run.row->gpus_total)});
    }
    if (all.marks.size() > before) all.families.push_back(&rule);
  }
  return all;
}

/// A dot, or a square for families past the last colour; hollow for rows clean in part.
void add_mark(std::string& svg, double x, double y, std::size_t family, bool is_partial) {
  const std::string_view colour = colours[family % colours.size()];
  const std::string fill = is_partial ? "none" : std::string(colour);
  if (family < colours.size()) {
    fmt::format_to(std::back_inserter(svg),
                   "<circle class=\"mark\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" "
                   "stroke=\"{}\"/>\n",
                   x, y, fill, colour);
  } else {
    fmt::format_to(std::back_inserter(svg),
                   "<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"4.8\" height=\"4.8\" fill=\"{}\" "
                   "stroke=\"{}\"/>\n",
                   x - 2.4, y - 2.4, fill, colour);
  }
}

bool is_clean_in_part(const Mark& mark) { return mark.run->run.row->clean == "partial"; }

struct PanelAxes {
  PlotAxis across, up;
};

void add_grid(std::string& svg, const PanelAxes& axes, double left) {
  for (const AxisTick& tick : axes.across.ticks) {
    const double x = axes.across.at(tick.value);
    add_svg_line(svg, "grid", x, panels_top, x, panels_bottom);
    add_svg_text(svg, x, panels_bottom + 16, "middle", tick.text);
  }
  for (const AxisTick& tick : axes.up.ticks) {
    const double y = axes.up.at(tick.value);
    add_svg_line(svg, "grid", left, y, left + panel_size, y);
    add_svg_text(svg, left - 6, y + 4, "end", tick.text);
  }
}

void add_names(std::string& svg, double left, std::string_view title, std::string_view across,
               std::string_view up) {
  add_svg_text(svg, left, panels_top - 14, "bold", title);
  add_svg_text(svg, left + panel_size / 2, panels_bottom + 34, "middle", across);
  add_svg_upright_text(svg, left - 50, panels_top + panel_size / 2, up);
}

/// The part of a panel between the lines up = (1 - band) x middle(across) and (1 + band) x it.
void add_band(std::string& svg, std::string_view clip, const PanelAxes& axes, double first, double last,
              double middle_first, double middle_last) {
  const double x1 = axes.across.at(first);
  const double x2 = axes.across.at(last);
  fmt::format_to(std::back_inserter(svg),
                 "<polygon class=\"band\" clip-path=\"url(#{})\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} "
                 "{:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                 clip, x1, axes.up.at(middle_first * (1 - band)), x2, axes.up.at(middle_last * (1 - band)),
                 x2, axes.up.at(middle_last * (1 + band)), x1, axes.up.at(middle_first * (1 + band)));
  add_svg_line(svg, "exact", x1, axes.up.at(middle_first), x2, axes.up.at(middle_last));
}

void add_clip(std::string& svg, std::string_view name, double left) {
  fmt::format_to(std::back_inserter(svg),
                 "<clipPath id=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
                 "</clipPath>\n",
                 name, left, panels_top, panel_size, panel_size);
}

void add_run_by_run(std::string& svg, const Marks& all) {
  std::vector<double> rates;
  for (const Mark& mark : all.marks) rates.insert(rates.end(), {mark.measured, mark.predicted});
  const PanelAxes axes{.across = throughput_axis(rates, left_panel, panel_size),
                       .up = throughput_axis(rates, panels_bottom, -panel_size)};
  const double first = axes.across.ticks.front().value;
  const double last = axes.across.ticks.back().value;
  add_clip(svg, "left", left_panel);
  add_band(svg, "left", axes, first, last, first, last);
  add_grid(svg, axes, left_panel);
  for (const Mark& mark : all.marks)
    add_mark(svg, axes.across.at(mark.measured), axes.up.at(mark.predicted), mark.family,
             is_clean_in_part(mark));
  add_names(svg, left_panel, "Throughput, run by run", "measured, samples/s", "predicted, samples/s");
}

/// Dots of one number of GPUs stand beside each other, family by family; those of linear scaling before them.
void add_over_gpus(std::string& svg, const Marks& all) {
  std::vector<double> counts;
  std::vector<double> ratios{1 - band, 1 + band};
  for (const Mark& mark : all.marks) {
    counts.push_back(mark.gpus);
    ratios.insert(ratios.end(), {mark.predicted / mark.measured, mark.linear / mark.measured});
  }
  constexpr double inset = 14;  // of the first and last number, whose dots spread
  const PanelAxes axes{.across = count_axis(counts, right_panel + inset, panel_size - 2 * inset),
                       .up = ratio_axis(ratios, panels_bottom, -panel_size)};
  add_clip(svg, "right", right_panel);
  const double first = axes.across.ticks.front().value;
  const double last = axes.across.ticks.back().value;
  add_band(svg, "right", axes, first, last, 1, 1);
  add_grid(svg, axes, right_panel);
  constexpr double before = -5;
  constexpr double spread = 12;
  for (const Mark& mark : all.marks) {
    fmt::format_to(std::back_inserter(svg),
                   "<circle class=\"linear\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n",
                   axes.across.at(mark.gpus) + before, axes.up.at(mark.linear / mark.measured));
  }
  for (const Mark& mark : all.marks) {
    const double place = static_cast<double>(mark.family) / static_cast<double>(all.families.size());
    add_mark(svg, axes.across.at(mark.gpus) + spread * place, axes.up.at(mark.predicted / mark.measured),
             mark.family, is_clean_in_part(mark));
  }
  add_names(svg, right_panel, "Predicted / measured; grey: linear scaling from one GPU", "GPUs",
            "predicted / measured throughput");
}

/// "4.2 %, 77 runs; clean in part 5.1 %, 8"
std::string errors_text(const TrainingValidation& validation, const std::string& family) {
  std::string text;
  for (const bool partial : {false, true}) {
    const RunErrors errors = errors_of(validation, drawn, {.family = family, .is_partial = partial});
    if (errors.rows == 0) continue;
    text += fmt::format("{}{}{:.1f} %, {} run{}", text.empty() ? "" : "; ", partial ? "clean in part " : "",
                        100 * *errors.mape, errors.rows, errors.rows == 1 ? "" : "s");
  }
  return text;
}

double legend_bottom(const Marks& all) {
  const auto lines = static_cast<double>((all.families.size() + 1) / 2);
  return legend_top + legend_line * (lines + 1);
}

void add_legend(std::string& svg, const TrainingValidation& validation, const Marks& all) {
  const std::size_t lines = (all.families.size() + 1) / 2;
  for (std::size_t i = 0; i < all.families.size(); ++i) {
    const double x = left_panel + (i < lines ? 0 : legend_column);
    const double y = legend_top + legend_line * static_cast<double>(i % lines);
    add_mark(svg, x, y - 4, i, false);
    const std::string& family = all.families[i]->family;
    add_svg_text(svg, x + 12, y, "start", family + ": " + errors_text(validation, family));
  }
  add_svg_text(
      svg, left_panel, legend_bottom(all), "start",
      "Fitted: one compute scale a series, to its run on one GPU, which is not drawn. Percentages: mean "
      "of |predicted / measured - 1|. Band: 10 %. Hollow: rows clean in part.");
}

}  // namespace

std::string training_plot(const TrainingValidation& validation) {
  const Marks all = marks_of(validation);
  constexpr std::string_view style =
      ".grid {stroke: #e2e2e2} .band {fill: #dfe8f4} .exact {stroke: #666; stroke-dasharray: 4 3} "
      ".linear {fill: #bbb} .mark {fill-opacity: 0.75} .middle {text-anchor: middle} "
      ".end {text-anchor: end} .bold {font-weight: bold; font-size: 13px}";
  std::string svg = svg_begin(picture_width, legend_bottom(all) + legend_line, style);
  if (all.marks.empty()) {
    add_svg_text(svg, left_panel, panels_top, "bold",
                 "No run is scored with one compute scale from the series' run on one GPU");
  } else {
    add_run_by_run(svg, all);
    add_over_gpus(svg, all);
    add_legend(svg, validation, all);
  }
  return svg + "</svg>\n";
}

}  // namespace trainyard
