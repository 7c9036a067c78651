// How the search of a plan went.

#include "document/time_unit.hpp"
#include "pages/plan_sections.hpp"
#include "report/plan_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// The group whose search is shown.
std::optional<std::size_t> shown_group(const PlanAnswer& answer) {
  if (answer.best) return answer.space.bounds[answer.result.rows[*answer.best].point].group;
  const auto first =
      std::ranges::find_if(answer.searches, [](const GroupSearch& search) { return !search.steps.empty(); });
  if (first == answer.searches.end()) return std::nullopt;
  return static_cast<std::size_t>(first - answer.searches.begin());
}

/// The curves of a search over the number of planned layouts, in a unit of the vertical axis.
struct SearchCurves {
  std::vector<PlotPoint> simulated, best, bound;
  std::vector<double> values;  ///< all that is drawn
};

/// Adds the corner that makes a curve a staircase.
void add_stair(std::vector<PlotPoint>& curve, double x, double y) {
  if (!curve.empty()) curve.push_back({x, curve.back().y, {}});
  curve.push_back({x, y, {}});
}

/// Keeps every n-th dot, and those that were the best, if there are too many to tell apart.
bool is_drawn(const GroupSearch& search, std::size_t i) {
  constexpr std::size_t most_dots = 600;
  const std::size_t every = (search.steps.size() + most_dots - 1) / most_dots;
  return i % every == 0 || search.steps[i].value == search.steps[i].best;
}

SearchCurves search_curves(const PlanAnswer& answer, const GroupSearch& search, bool is_time, double unit) {
  SearchCurves curves;
  for (std::size_t i = 0; i < search.steps.size(); ++i) {
    const SearchStep& step = search.steps[i];
    const auto x = static_cast<double>(i + 1);
    if (step.best) add_stair(curves.best, x, *step.best / unit);
    // Once nothing below the best is open, the best is the bound.
    if (step.best || step.least_open)
      add_stair(curves.bound, x,
                std::min(step.best.value_or(step.least_open.value_or(0)),
                         step.least_open.value_or(step.best.value_or(0))) /
                    unit);
    if (step.value && is_drawn(search, i))
      curves.simulated.push_back(
          {x, *step.value / unit,
           fmt::format("{}: {}, {}", i + 1,
                       is_time ? estimate(Seconds{*step.value}) : estimate(Joules{*step.value}),
                       plan_layout_in_words(answer.space, step.point))});
  }
  for (const auto* const curve : {&curves.simulated, &curves.best, &curves.bound}) {
    for (const PlotPoint& point : *curve) curves.values.push_back(point.y);
  }
  return curves;
}

std::string whole_tick(double number) {
  return number == std::floor(number) ? rounded_tick(number) : std::string();
}

std::string end_in_words(const GroupSearch& search) {
  if (!search.steps.back().best) return "None of them has a result.";
  const double gap = gap_of(search);
  if (gap == 0) return "The two lines meet: no layout that was not simulated can be better than the best.";
  return fmt::format("The lines are {} apart: a layout that was not simulated may be better by as much.",
                     percent(gap));
}

/// The search over time, of one group.
void add_progress(doc::Section& section, const PlanAnswer& answer) {
  const std::optional<std::size_t> group = shown_group(answer);
  if (!group || answer.searches[*group].steps.empty()) return;
  const PlanSpace& space = answer.space;
  const GroupSearch& search = answer.searches[*group];
  const SearchStep& last = search.steps.back();
  const bool is_time = std::string_view(searched_figure(space)) == "step_time_s";
  const TimeUnit unit =
      is_time ? time_unit(Seconds{last.best ? *last.best : last.least_open.value_or(0)}) : TimeUnit{"J", 1};
  SearchCurves curves = search_curves(answer, search, is_time, unit.seconds);
  if (curves.values.empty()) return;
  section.add(doc::Heading{"progress", {}, doc::Shown::pages});
  section.add(doc::Sentence{
      .text = fmt::format("Layouts are planned in the order of their lower bounds, and each is simulated "
                          "unless its planned step rules it out, {}. {}",
                          group_in_words(space, space.groups[*group]), end_in_words(search)),
      .shown = doc::Shown::pages});
  const std::vector<double> numbers{1, static_cast<double>(search.steps.size())};
  const std::string quantile = space.randomness ? quantile_in_words(space) + " of the " : "";
  section.add(doc::Chart{
      .key = "progress",
      .title = "progress of the search",
      .across = linear_axis(numbers, FluidPlot::across_begin, FluidPlot::across_length, 8, whole_tick),
      .up = linear_axis(curves.values, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false),
      .across_title = "layouts that were planned, in the order of the search",
      .up_title = fmt::format("{}{}, {}", quantile, is_time ? "step time" : "energy per step", unit.name),
      .series = {{"series2", "lower bound of all layouts", std::move(curves.bound), true},
                 {"series0", "best so far", std::move(curves.best), true},
                 {"others", "a simulated layout", std::move(curves.simulated), false, 0}}});
}

/// What was asked for and is not in the plan's name.
void add_request(doc::Section& section, const PlanSpace& space) {
  const PlanSettings& settings = space.request.settings;
  const auto add = [&](const char* label, std::string text) {
    section.add(doc::Fact{{}, label, {}, std::move(text), false, doc::Shown::pages});
  };
  section.add(doc::Heading{"what was asked for", {}, doc::Shown::pages});
  add("goal", std::string(config::name_of(settings.goal)));
  if (settings.gpus) add("GPUs", *settings.gpus);
  if (settings.global_batch) add("global batch", grouped(*settings.global_batch));
  for (const auto& [key, value] : space.request.set) add(key.c_str(), value);
  for (const auto& [key, values] : settings.over)
    add(key.c_str(), fmt::format("{}", fmt::join(values, ", ")));
  if (settings.deadline) add("deadline", human(*settings.deadline));
  if (settings.budget) add("budget", exact(*settings.budget));
  if (settings.memory_headroom > 0) add("memory headroom", percent(settings.memory_headroom));
  if (settings.quantile) add("quantile", quantile_in_words(space));
  if (settings.quantile) add("draws", grouped(settings.draws));
  if (settings.gap > 0) add("gap", percent(settings.gap));
}

/// All layouts as parts of a bar, and in numbers.
void add_counts(doc::Section& section, const LayoutCounts& counts) {
  doc::Bars::Bar bar;
  doc::Table table{.key = "counts",
                   .title = "layouts by what became of them",
                   .columns = {{.head = "layouts"},
                               {.head = "number", .layout = number_column()},
                               {.head = "share", .layout = number_column()},
                               {.head = "remark"}},
                   .shown = doc::Shown::pages};
  const auto add = [&](const char* kind, const char* name, std::size_t number, const char* what) {
    if (number == 0) return;
    const double share = static_cast<double>(number) / static_cast<double>(counts.all);
    const std::string text = count_text(static_cast<double>(number));
    bar.parts.push_back({kind, name, share, text});
    table.rows.push_back({.cells = {doc::Cell(doc::Value(name), kind),
                                    doc::Value(text, static_cast<double>(number)), percent(share), what}});
  };
  add("communication", "do not fit", counts.too_large, "more memory than a GPU has");
  add("waiting", "impossible", counts.impossible, "the model, the GPUs or the framework do not allow them");
  add("forward", "cannot be better", counts.bounded, "their lower bound excludes them from the best two");
  add("optimizer", "simulated", counts.simulated, "");
  add("wasted-compute", "left", counts.left, "the search ended before");
  table.rows.push_back({.cells = {"sum", count_text(static_cast<double>(counts.all))}});
  section.add(doc::Bars{.key = "layouts", .title = table.title, .bars = {std::move(bar)}});
  section.add(std::move(table));
}

/// Why layouts are impossible: the most frequent reasons in the terminal, more of them on pages.
void add_reasons(doc::Section& section, const LayoutCounts& counts) {
  constexpr std::size_t most_facts = 3;
  constexpr std::size_t most_rows = 100;
  doc::Table table{.key = "impossible",
                   .title = "impossible layouts by reason",
                   .columns = {{.head = "layouts", .layout = number_column()}, {.head = "reason"}},
                   .folded = "impossible layouts by reason: " +
                             count(static_cast<std::int64_t>(counts.reasons.size()), "reason"),
                   .shown = doc::Shown::pages};
  for (const auto& [number, reason] : counts.reasons) {
    const std::string text = count_text(static_cast<double>(number));
    if (table.rows.size() < most_facts)
      section.add(
          doc::Fact{{}, table.rows.empty() ? "impossible" : "", {}, fmt::format("{}: {}", text, reason)});
    if (table.rows.size() < most_rows)
      table.rows.push_back({.cells = {doc::Value(text, static_cast<double>(number)), reason}});
  }
  if (table.rows.size() > most_facts) section.add(std::move(table));
}

}  // namespace

void add_plan_search(doc::Document& page, const PlanAnswer& answer) {
  const LayoutCounts counts = layout_counts(answer);
  doc::Section& section = page.section("search", "how it was found");
  section.fact("layouts", counts_in_words(counts));
  section.fact("proof", proof_in_words(counts));
  if (counts.failed > 0)
    section.add(doc::Fact{{},
                          "failed",
                          {},
                          fmt::format("{} of the simulations ended with an error, the first: {}",
                                      counts.failed, counts.first_error),
                          false,
                          doc::Shown::pages});
  add_reasons(section, counts);
  std::string axes;
  for (const LayoutAxis& axis : answer.space.axes)
    axes += fmt::format("{}{} {}", axes.empty() ? "" : "; ", axis.key.substr(axis.key.find('.') + 1),
                        fmt::join(axis.values, ", "));
  section.fact("space", axes);
  if (counts.all > 0) add_counts(section, counts);
  add_progress(section, answer);
  add_request(section, answer.space);
}

}  // namespace trainyard
