#include "report/training_plot.hpp"

#include "report/plot_axis.hpp"
#include "report/svg.hpp"
#include "study/run_errors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>
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

Marks marks_of(const TrainingValidation& validation) {
  Marks all;
  for (const FamilyRule& rule : validation.rules->families) {
    const auto same = [&](const FamilyRule* known) { return known->family == rule.family; };
    if (std::ranges::any_of(all.families, same)) continue;  // several rules may lead to one family
    const std::size_t before = all.marks.size();
    for (const ScoredRun& scored : validation.runs) {
      if (!scored.counts(drawn) || scored.family->family != rule.family) continue;
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

bool is_clean_in_part(const Mark& mark) { return mark.run->run.row->clean == "partial"; }

/// A dot, or a square for families past the last colour.
void add_mark(std::string& svg, double x, double y, std::size_t family) {
  if (family < colours.size()) {
    fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"/>\n", x, y);
  } else {
    fmt::format_to(std::back_inserter(svg),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"4.8\" height=\"4.8\"/>\n", x - 2.4, y - 2.4);
  }
}

void begin_marks(std::string& svg, std::size_t family, bool is_hollow) {
  const std::string_view colour = colours[family % colours.size()];
  fmt::format_to(std::back_inserter(svg), "<g class=\"mark\" fill=\"{}\" stroke=\"{}\">\n",
                 is_hollow ? "none" : colour, colour);
}

/// All marks at their places; those of rows clean in part are hollow.
template <class Place>
void add_marks(std::string& svg, const Marks& all, const Place& place_of) {
  for (std::size_t family = 0; family < all.families.size(); ++family) {
    for (const bool is_hollow : {false, true}) {
      const auto is_one = [&](const Mark& mark) {
        return mark.family == family && is_clean_in_part(mark) == is_hollow;
      };
      if (std::ranges::none_of(all.marks, is_one)) continue;
      begin_marks(svg, family, is_hollow);
      for (const Mark& mark : all.marks) {
        if (!is_one(mark)) continue;
        const auto [x, y] = place_of(mark);
        add_mark(svg, x, y, family);
      }
      svg += "</g>\n";
    }
  }
}

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

void add_run_by_run(std::string& svg, const Marks& all) {
  std::vector<double> rates;
  for (const Mark& mark : all.marks) rates.insert(rates.end(), {mark.measured, mark.predicted});
  const PanelAxes axes{.across = throughput_axis(rates, left_panel, panel_size),
                       .up = throughput_axis(rates, panels_bottom, -panel_size)};
  const double first = axes.across.ticks.front().value;
  const double last = axes.across.ticks.back().value;
  const auto y = [&](double rate) { return axes.up.at(rate); };
  fmt::format_to(std::back_inserter(svg),
                 "<clipPath id=\"panel\"><rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" "
                 "height=\"{2:.1f}\"/></clipPath>\n"
                 "<polygon class=\"band\" clip-path=\"url(#panel)\" points=\"{0:.1f},{3:.1f} {4:.1f},{5:.1f} "
                 "{4:.1f},{6:.1f} {0:.1f},{7:.1f}\"/>\n",
                 left_panel, panels_top, panel_size, y(first * (1 - band)), left_panel + panel_size,
                 y(last * (1 - band)), y(last * (1 + band)), y(first * (1 + band)));
  add_grid(svg, axes, left_panel);
  add_svg_line(svg, "exact", left_panel, y(first), left_panel + panel_size, y(last));
  add_marks(svg, all,
            [&](const Mark& mark) { return std::pair(axes.across.at(mark.measured), y(mark.predicted)); });
  add_names(svg, left_panel, "Run by run", "measured, samples/s", "predicted, samples/s");
}

/// Runs on one number of GPUs stand beside each other, family by family, after those of linear scaling.
void add_over_gpus(std::string& svg, const Marks& all) {
  constexpr double linear_before = 6;  // of the number's own place
  constexpr double spread = 20;
  std::vector<double> counts;
  for (const Mark& mark : all.marks) counts.push_back(mark.gpus);
  const PanelAxes axes{
      .across = count_axis(counts, right_panel + 2 * linear_before, panel_size - spread - 3 * linear_before),
      .up = ratio_axis(panels_bottom, -panel_size)};
  const double least = axes.up.ticks.front().value;
  const double most = axes.up.ticks.back().value;
  const auto y = [&](double ratio) { return axes.up.at(std::clamp(ratio, least, most)); };
  fmt::format_to(std::back_inserter(svg),
                 "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                 right_panel, y(1 + band), panel_size, y(1 - band) - y(1 + band));
  add_grid(svg, axes, right_panel);
  add_svg_line(svg, "exact", right_panel, y(1), right_panel + panel_size, y(1));
  svg += "<g class=\"linear\">\n";
  for (const Mark& mark : all.marks) {
    fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n",
                   axes.across.at(mark.gpus) - linear_before, y(mark.linear / mark.measured));
  }
  svg += "</g>\n";
  add_marks(svg, all, [&](const Mark& mark) {
    const double place = static_cast<double>(mark.family) / static_cast<double>(all.families.size());
    return std::pair(axes.across.at(mark.gpus) + spread * place, y(mark.predicted / mark.measured));
  });
  add_names(svg, right_panel, "By GPUs, with linear scaling from one GPU in grey", "GPUs",
            "predicted / measured throughput");
}

/// "4.2 %, 77 runs; clean in part 5.1 %, 8"
std::string drawn_errors(const TrainingValidation& validation, const std::string& family) {
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
  const std::size_t pairs = (all.families.size() + 1) / 2;
  const auto lines = static_cast<double>(pairs);
  return legend_top + legend_line * (lines + 1.5);
}

void add_legend(std::string& svg, const TrainingValidation& validation, const Marks& all) {
  const std::size_t lines = (all.families.size() + 1) / 2;
  for (std::size_t i = 0; i < all.families.size(); ++i) {
    const double x = left_panel + (i < lines ? 0 : legend_column);
    const double y = legend_top + legend_line * static_cast<double>(i % lines);
    begin_marks(svg, i, false);
    add_mark(svg, x, y - 4, i);
    svg += "</g>\n";
    const std::string& family = all.families[i]->family;
    add_svg_text(svg, x + 12, y, "start", family + ": " + drawn_errors(validation, family));
  }
  const double y = legend_bottom(all) - legend_line;
  add_svg_text(
      svg, left_panel, y, "start",
      "Fitted: one compute scale a series, to its run on one GPU, which is not drawn. Percentages: mean "
      "of |predicted / measured - 1|.");
  add_svg_text(svg, left_panel, y + legend_line, "start",
               "Band: 10 %. Hollow: rows clean in part. On the upper or lower edge: as far off, or farther.");
}

}  // namespace

std::string training_plot(const TrainingValidation& validation) {
  const Marks all = marks_of(validation);
  constexpr std::string_view style =
      ".grid {stroke: #e2e2e2} .band {fill: #dfe8f4} .exact {stroke: #666; stroke-dasharray: 4 3} "
      ".linear {fill: #b4b4b4} .mark {fill-opacity: 0.75} .middle {text-anchor: middle} "
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
