// The map of a plan's layouts, and how the search went.

#include "html/fluid_plot.hpp"
#include "html/plan_sections.hpp"
#include "html/time_unit.hpp"
#include "report/page.hpp"
#include "report/plan_words.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// Values up to so much above the best have one colour, the style sheet's .heat0 and on.
struct HeatLevel {
  double above = 0;
  const char* kind;
  const char* text;
};
constexpr HeatLevel heat_levels[] = {{0.02, "heat0", "up to 2 % above the best"},
                                     {0.1, "heat1", "to 10 %"},
                                     {0.25, "heat2", "to 25 %"},
                                     {0.5, "heat3", "to 50 %"},
                                     {1e300, "heat4", "more"}};

const char* heat_of(double ratio) {
  return std::ranges::find_if(heat_levels, [&](const HeatLevel& one) { return ratio - 1 <= one.above; })
      ->kind;
}

/// A layout without its first words, which the place in the map says.
std::string after_axes(const std::string& layout) {
  const std::size_t end = layout.find("; ");
  return end == std::string::npos ? layout : layout.substr(end + 2);
}

Html map_cell(const PlanAnswer& answer, PlanPlace place) {
  const LayoutCell* const cell = cell_at(answer, place);
  if (cell == nullptr) {
    const EmptyPlace& empty = empty_place(answer, place);
    return element("div", empty.word, " class=\"cell\"" + attribute("title", empty.remark));
  }
  const CellValue its = cell_value(answer, *cell);
  const double ratio = its.value / compared_value(answer, *answer.best);
  const bool is_best = cell->row == answer.best;
  const std::string value = goal_in_words(answer, its.value);
  std::string title = fmt::format("tensor {}, {}: ", cell->tensor, count(cell->pipeline, "stage"));
  std::string remark = "not simulated";
  if (cell->row) {
    const std::string layout = plan_layout_in_words(answer.space, answer.result.rows[*cell->row].point);
    title += layout + ", " + goal_in_words(answer, *cell->value);
    remark = after_axes(layout);
  }
  if (its.is_bound) {
    title += fmt::format("{}the layouts that were not simulated {} at least {}", cell->row ? "; " : "",
                         goal_words(answer.space.request.settings.goal).has, value);
    if (cell->row) remark = "at best; simulated: " + goal_in_words(answer, *cell->value);
  }
  const Html content = element("strong", prose((its.is_bound ? "> " : "") + value)) +
                       element("span", is_best ? "best" : signed_percent(ratio - 1), " class=\"above\"") +
                       element("small", prose(remark));
  return element("div", content,
                 fmt::format(" class=\"cell {}{}{}\"", heat_of(ratio), its.is_bound ? " bound" : "",
                             is_best ? " chosen" : "") +
                     attribute("title", title));
}

Html heat_legend() {
  std::vector<LegendEntry> entries;
  for (const HeatLevel& one : heat_levels) entries.push_back({swatch(one.kind), one.text});
  entries.push_back({Html{R"(<span class="swatch cell bound"></span>)"}, "a lower bound"});
  return legend(entries);
}

}  // namespace

Html plan_map_html(const PlanAnswer& answer) {
  if (!answer.best) return {};
  const PlanMap map = plan_map(answer);
  if (map.tensors.size() * map.stages.size() < 2) return {};
  std::vector<HtmlColumn> columns{{"tensor ranks", true}};
  for (const int stage : map.stages) columns.push_back({count(stage, "stage"), true});
  const PlanGoal goal = answer.space.request.settings.goal;
  const std::string quantile = answer.space.randomness ? quantile_in_words(answer.space) + " of the " : "";
  HtmlTable table(goal_figure_in_words(answer) + " by tensor ranks and stages", columns);
  for (const int tensor : map.tensors) {
    std::vector<Html> cells{as_text(std::to_string(tensor))};
    for (const int stage : map.stages) cells.push_back(map_cell(answer, {tensor, stage}));
    table.row(cells);
  }
  std::string empty;
  for (const EmptyPlace* const one : map.empty) empty += fmt::format(" \"{}\": {}.", one->word, one->legend);
  return paragraph(fmt::format(
             "The {} of the best layout with this number of tensor ranks and pipeline stages, {}. \">\": a "
             "lower bound: no layout there is {} than this, and none can be the {}.{}",
             quantile + (goal == PlanGoal::time ? "step" : goal_words(goal).figure),
             group_in_words(answer.space, group_of_row(answer, *answer.best)), goal_words(goal).better,
             best_plan_word(goal), empty)) +
         table.html(false, " id=\"map-table\"") + heat_legend();
}

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

}  // namespace

Html plan_progress_html(const PlanAnswer& answer) {
  const std::optional<std::size_t> group = shown_group(answer);
  if (!group || answer.searches[*group].steps.empty()) return {};
  const GroupSearch& search = answer.searches[*group];
  const SearchStep& last = search.steps.back();
  const bool is_time = std::string_view(searched_figure(answer.space)) == "step_time_s";
  const TimeUnit unit =
      is_time ? time_unit(Seconds{last.best ? *last.best : last.least_open.value_or(0)}) : TimeUnit{"J", 1};
  const SearchCurves curves = search_curves(answer, search, is_time, unit.seconds);
  if (curves.values.empty()) return {};
  const std::vector<double> numbers{1, static_cast<double>(search.steps.size())};
  FluidPlot plot(
      "progress of the search",
      linear_axis(numbers, FluidPlot::across_begin, FluidPlot::across_length, 8, whole_tick),
      "layouts that were planned, in the order of the search",
      linear_axis(curves.values, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false),
      fmt::format("{}{}, {}", answer.space.randomness ? quantile_in_words(answer.space) + " of the " : "",
                  is_time ? "step time" : "energy per step", unit.name));
  plot.line("series2", curves.bound);
  plot.line("series0", curves.best);
  plot.marks("others", 0, curves.simulated);
  const double gap = gap_of(search);
  return paragraph(fmt::format(
             "Layouts are planned in the order of their lower bounds, and each is simulated unless its "
             "planned step rules it out, {}. {}",
             group_in_words(answer.space, answer.space.groups[*group]),
             !last.best ? "None of them has a result."
             : gap == 0 ? "The two lines meet: no layout that was not simulated can be better than the best."
                        : fmt::format("The lines are {} apart: a layout that was not simulated may be better "
                                      "by as much.",
                                      percent(gap)))) +
         plot.html() +
         legend({{swatch_line("series0"), "best so far"},
                 {swatch_line("series2"), "lower bound of all layouts"},
                 {mark_sign("others", 0), "a simulated layout"}});
}

namespace {

Html asked_html(const PlanSpace& space) {
  const PlanRequest& request = space.request;
  HtmlTable table("what was asked for", {{"what was asked for", true}, {"value", true}});
  const PlanSettings& settings = request.settings;
  table.row("goal", std::string(config::name_of(settings.goal)));
  if (settings.gpus) table.row("GPUs", *settings.gpus);
  if (settings.global_batch) table.row("global batch", grouped(*settings.global_batch));
  for (const auto& [key, value] : request.set) table.row(key, value);
  for (const auto& [key, values] : settings.over) table.row(key, fmt::format("{}", fmt::join(values, ", ")));
  if (settings.deadline) table.row("deadline", human(*settings.deadline));
  if (settings.budget) table.row("budget", exact(*settings.budget));
  if (settings.memory_headroom > 0) table.row("memory headroom", percent(settings.memory_headroom));
  if (settings.quantile) table.row("quantile", quantile_in_words(space));
  if (settings.quantile) table.row("draws", grouped(settings.draws));
  if (settings.gap > 0) table.row("gap", percent(settings.gap));
  return table.html();
}

Html space_html(const PlanSpace& space) {
  HtmlTable table("values that were tried", {{"values that were tried", true}, {"", true}});
  for (const LayoutAxis& axis : space.axes)
    table.row(axis.key, fmt::format("{}", fmt::join(axis.values, ", ")));
  return table.html();
}

Html counts_html(const LayoutCounts& counts) {
  std::vector<BarPart> bar;
  HtmlTable table("what became of all layouts", {{"layouts", true}, {"number"}, {"share"}, {"", true}});
  const auto add = [&](const char* kind, const char* name, std::size_t number, const char* what) {
    if (number == 0) return;
    const double share = static_cast<double>(number) / static_cast<double>(counts.all);
    bar.push_back({kind, name, share, count_text(static_cast<double>(number))});
    table.row(swatch(kind) + as_text(std::string(" ") + name), count_text(static_cast<double>(number)),
              percent(share), what);
  };
  add("communication", "do not fit", counts.too_large, "more memory than a GPU has");
  add("waiting", "impossible", counts.impossible, "the model, the GPUs or the framework do not allow them");
  add("forward", "cannot be better", counts.bounded,
      "their lower bound says that they are not among the best two");
  add("optimizer", "simulated", counts.simulated, "");
  add("wasted-compute", "left", counts.left, "the search ended before");
  table.row("sum", count_text(static_cast<double>(counts.all)), "", "");
  return stacked_bar("what became of all layouts", bar) + table.html();
}

Html reasons_html(const LayoutCounts& counts) {
  if (counts.reasons.empty()) return {};
  constexpr std::size_t most_rows = 100;
  HtmlTable table("why layouts are impossible", {{"layouts"}, {"why they are impossible", true}});
  for (const auto& [number, reason] : counts.reasons) {
    if (table.rows() == most_rows) break;
    table.row(count_text(static_cast<double>(number)), reason);
  }
  return folded(fmt::format("{} why layouts are impossible",
                            count(static_cast<std::int64_t>(counts.reasons.size()), "reason")),
                table.html(table.rows() > 12));
}

}  // namespace

Html plan_search_html(const PlanAnswer& answer) {
  const LayoutCounts counts = layout_counts(answer);
  if (counts.all == 0) return {};
  std::string failed;
  if (counts.failed > 0)
    failed = fmt::format(" {} of the simulations ended with an error, the first: {}.", counts.failed,
                         counts.first_error);
  return paragraph(fmt::format("Proof: {}.{}", proof_in_words(counts), failed)) + counts_html(counts) +
         reasons_html(counts) + in_columns({asked_html(answer.space), space_html(answer.space)});
}

}  // namespace trainyard
