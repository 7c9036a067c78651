// The best layouts of a plan: the next ones, the map, the groups.

#include "document/time_unit.hpp"
#include "pages/plan_sections.hpp"
#include "report/plan_words.hpp"
#include "report/sweep_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

doc::Value seconds_like(double seconds, Seconds largest) {
  return doc::Value(human_like(Seconds{seconds}, largest), seconds);
}

doc::Value percent_value(double ratio) { return doc::Value(percent(ratio), ratio); }

/// The best and the next: where the time of their steps goes.
doc::Table next_table(const PlanAnswer& answer) {
  const PlanSpace& space = answer.space;
  const bool has_own = has_own_figure(space);
  doc::Table table{.key = "next", .title = "the best and the next", .columns = {doc::numbers("step")}};
  if (has_own) table.columns.push_back(doc::numbers(goal_figure_head(answer)));
  table.columns.push_back(doc::numbers(goal_words(space.request.settings.goal).excess));
  if (answer.robustness)
    table.columns.push_back(doc::numbers("ahead of the best in", {}, 0, doc::Shown::pages));
  for (const char* const head : {"kernels", "comm.", "memory"}) table.columns.push_back(doc::numbers(head));
  table.columns.push_back({.head = "layout", .layout = text_column().wraps(30)});
  table.columns.push_back({.head = "remark", .shown = doc::Shown::pages});
  std::vector<std::size_t> shown{*answer.best};
  for (std::size_t i = 0; i < std::min(most_others, answer.others.size()); ++i)
    shown.push_back(answer.others[i]);
  const Seconds largest{plan_figure(answer, shown.back(), "step_time_s")};
  for (const std::size_t index : shown) {
    const bool is_best = index == *answer.best;
    const auto number = [&](const char* name) { return plan_figure(answer, index, name); };
    const double step = number("step_time_s");
    doc::Row row{.cells = {seconds_like(step, largest)}};
    const auto add = [&](auto cell) { row.cells.emplace_back(std::move(cell)); };
    if (has_own) add(doc::Value(goal_in_words(answer, compared_value(answer, index))));
    const double excess = excess_of(answer, index);
    add(is_best ? doc::Value() : doc::Value(signed_percent(excess), excess));
    if (answer.robustness)
      add(is_best ? doc::Value() : percent_value(answer.robustness->ahead_shares[index]));
    add(percent_value(number("compute_time_s") / step));
    add(percent_value(number("exposed_communication_s") / step));
    const Bytes memory{number("memory_peak_bytes")};
    add(doc::Value(gpu_memory(memory), memory));
    add(doc::Value(plan_layout_in_words(space, answer.result.rows[index].point)));
    const bool ties = !is_best && is_tie(answer.result, *answer.best, index);
    add(doc::Value(is_best ? "the best" : ties ? "a tie" : ""));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// By what the next are worse, and their steps longer.
void add_losses(doc::Document& page, const PlanAnswer& answer, const std::vector<Comparison>& losses) {
  if (losses.empty()) return;
  const PlanGoal goal = answer.space.request.settings.goal;
  const bool has_own = has_own_figure(answer.space);
  const bool has_power = goal == PlanGoal::energy;
  const std::string steps = "their steps, part by part, less that of the best";
  doc::Section& section = page.section("losses", "why the runners-up lose",
                                       has_power ? "energy is average power times step; " + steps : steps);
  doc::Table table{.key = "losses", .title = section.title};
  if (has_own)
    table.columns = {doc::numbers(goal_figure_head(answer)), doc::numbers(goal_words(goal).excess)};
  if (has_power) table.columns.push_back(doc::numbers("power"));
  table.columns.push_back(doc::numbers("step"));
  table.columns.push_back({.head = "longer by", .layout = text_column().wraps(30)});
  const std::size_t last = std::min(most_others, answer.others.size());
  const Seconds largest{plan_figure(answer, answer.others.at(last - 1), "step_time_s")};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::size_t index = answer.others[i];
    doc::Row row;
    if (has_own)
      row.cells = {goal_in_words(answer, compared_value(answer, index)),
                   signed_percent(excess_of(answer, index))};
    if (has_power) row.cells.emplace_back(signed_percent(power_excess_of(answer, index)));
    row.cells.emplace_back(seconds_like(losses[i].step.b.si(), largest));
    row.cells.emplace_back(loss_in_words(losses[i]));
    table.rows.push_back(std::move(row));
  }
  section.add(std::move(table));
}

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

doc::Cell map_cell(const PlanAnswer& answer, PlanPlace place) {
  const LayoutCell* const cell = cell_at(answer, place);
  if (cell == nullptr) {
    const EmptyPlace& empty = empty_place(answer, place);
    doc::Cell none(empty.word);
    none.tile = doc::Tile{.tip = empty.remark};
    return none;
  }
  const CellValue known = cell_value(answer, *cell);
  const double ratio = known.value / compared_value(answer, *answer.best);
  const bool is_best = cell->row == answer.best;
  const std::string value = goal_in_words(answer, known.value);
  doc::Tile tile{.fill = heat_of(ratio),
                 .is_striped = known.is_bound,
                 .is_chosen = is_best,
                 .above = is_best ? "best" : signed_percent(ratio - 1),
                 .remark = "not simulated",
                 .tip = fmt::format("tensor {}, {}: ", cell->tensor, count(cell->pipeline, "stage"))};
  if (cell->row) {
    const std::string layout = plan_layout_in_words(answer.space, answer.result.rows[*cell->row].point);
    tile.tip += layout + ", " + goal_in_words(answer, *cell->value);
    tile.remark = after_axes(layout);
  }
  if (known.is_bound) {
    tile.tip += fmt::format("{}the layouts that were not simulated {} at least {}", cell->row ? "; " : "",
                            goal_words(answer.space.request.settings.goal).has, value);
    if (cell->row) tile.remark = "at best; simulated: " + goal_in_words(answer, *cell->value);
  }
  doc::Cell shown(doc::Value((known.is_bound ? "> " : "") + value, known.value));
  shown.tile = std::move(tile);
  return shown;
}

/// Time and cost of the best of each group, or its energy without a price.
void add_front(doc::Section& section, const PlanAnswer& answer) {
  const double scale = costs_scale(answer);
  const bool has_price = std::ranges::any_of(
      answer.best_of_group, [&](const auto& row) { return row && answer.costs[*row].usd.has_value(); });
  const auto height = [&](std::size_t row) {
    const PlanCosts& costs = answer.costs[row];
    return scale * (has_price ? costs.usd.value_or(0) : costs.energy_j.value_or(0) / joules_per_kwh);
  };
  std::vector<std::size_t> rows;
  std::vector<double> times;
  std::vector<double> heights;
  for (const std::optional<std::size_t>& row : answer.best_of_group) {
    if (!row || height(*row) <= 0) continue;
    rows.push_back(*row);
    times.push_back(scale * answer.costs[*row].time_s);
    heights.push_back(height(*row));
  }
  if (rows.size() < 2) return;
  const TimeUnit unit = time_unit(Seconds(std::ranges::max(times)));
  for (double& time : times) time /= unit.seconds;
  const std::string up_title = has_price ? "USD" : "kWh";
  doc::Chart chart{
      .key = "front",
      .title = "time and " + up_title + " of the best of each",
      .across = linear_axis(times, FluidPlot::across_begin, FluidPlot::across_length, 8, rounded_tick),
      .up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick),
      .across_title = fmt::format("time for {}, {}", costs_in_words(answer), unit.name),
      .up_title = fmt::format("{} for {}", up_title, costs_in_words(answer)),
      .series = {{"others", "beaten in all", {}, false, 0},
                 {"front", "Pareto front", {}, false, 1},
                 {"best-time", "the best plan", {}, false, 2}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_on_front = std::ranges::find(answer.front, rows[i]) != answer.front.end();
    const std::size_t series = rows[i] == answer.best ? 2 : is_on_front ? 1 : 0;
    chart.series[series].points.push_back(
        {times[i], heights[i],
         fmt::format("{}: {}", group_in_words(answer.space, group_of_row(answer, rows[i])),
                     plan_layout_in_words(answer.space, answer.result.rows[rows[i]].point))});
  }
  std::erase_if(chart.series, [](const auto& series) { return series.points.empty(); });
  section.add(std::move(chart));
}

doc::Row group_row(const PlanAnswer& answer, std::size_t i) {
  const PlanGroup& group = answer.space.groups[i];
  doc::Row row{.cells = {group.values.begin(), group.values.end()}};
  const std::optional<std::size_t>& best = answer.best_of_group[i];
  if (!best) {
    row.rest = group.failure.empty() ? "nothing fits or runs" : group.failure;
    return row;
  }
  const PlanCosts& costs = answer.costs[*best];
  const double scale = costs_scale(answer);
  const auto add = [&](auto cell) { row.cells.emplace_back(std::move(cell)); };
  const bool is_on_front = std::ranges::find(answer.front, *best) != answer.front.end();
  add(doc::Value(is_on_front ? "*" : ""));
  const Seconds step{plan_figure(answer, *best, "step_time_s")};
  add(doc::Value(estimate(step), step));
  if (answer.robustness)
    add(doc::Value(searched_in_words(answer.space, answer.robustness->quantiles[*best])));
  const double rate = plan_figure(answer, *best, "throughput_samples_per_s");
  add(doc::Value(rounded(rate), rate));
  const auto mfu = figure(answer.result, answer.result.rows[*best], "model_flops_utilization");
  add(mfu ? percent_value(*mfu) : doc::Value("-"));
  const Seconds time{scale * costs.time_s};
  add(doc::Value(estimate(time), time));
  add(costs.usd ? doc::Value(rounded(scale * *costs.usd), scale * *costs.usd) : doc::Value("-"));
  const Joules energy{scale * costs.energy_j.value_or(0)};
  add(costs.energy_j ? doc::Value(estimate(energy), energy) : doc::Value("-"));
  add(doc::Value(plan_layout_in_words(answer.space, answer.result.rows[*best].point)));
  return row;
}

}  // namespace

void add_next_plans(doc::Document& page, const PlanAnswer& answer, const PlanDetails& details) {
  if (answer.others.empty()) return;
  doc::Section& section = page.section(
      "next", "the best and the next",
      group_in_words(answer.space, group_of_row(answer, *answer.best)) + ": " + listed_in_words(answer));
  section.add(next_table(answer));
  if (const std::string errors = plan_errors_in_words(answer, details.best, "--json"); !errors.empty())
    section.add(doc::Sentence{errors});
  add_losses(page, answer, details.losses);
}

void add_plan_map(doc::Document& page, const PlanAnswer& answer) {
  const PlanMap map = plan_map(answer);
  if (map.tensors.size() * map.stages.size() < 2) return;
  const PlanGoal goal = answer.space.request.settings.goal;
  std::string empty;
  for (const EmptyPlace* const one : map.empty) empty += fmt::format("; \"{}\": {}", one->word, one->legend);
  doc::Section& section = page.section(
      "map", goal_figure_in_words(answer) + " by tensor ranks and stages",
      fmt::format("of the best layout there; \">\": a lower bound: no layout there is {} than this, and none "
                  "can be the {}{}",
                  goal_words(goal).better, best_plan_word(goal), empty));
  doc::Table table{.key = "map",
                   .title = section.title,
                   .columns = {{.head = "tensor"}},
                   .shape = {.indent = 2, .goes_on_below = true}};
  for (const int stage : map.stages) table.columns.push_back(doc::numbers(count(stage, "stage")));
  for (const int tensor : map.tensors) {
    doc::Row& row = table.rows.emplace_back(doc::Row{.cells = {std::to_string(tensor)}});
    for (const int stage : map.stages) row.cells.push_back(map_cell(answer, {tensor, stage}));
  }
  for (const HeatLevel& one : heat_levels) table.legend.emplace_back(one.kind, one.text);
  table.legend.emplace_back("cell bound", "a lower bound");
  section.add(std::move(table));
}

void add_plan_groups(doc::Document& page, const PlanAnswer& answer) {
  const PlanSpace& space = answer.space;
  if (space.groups.size() < 2) return;
  doc::Section& section = page.section("groups", "the best of each",
                                       fmt::format("{}; *: no other is better in time, rent, energy and GPUs",
                                                   fmt::join(space.group_keys, ", ")));
  const bool is_whole = answer.is_of_training;
  doc::Table table{.key = "groups",
                   .title = "the best of each",
                   .columns = {},
                   .shape = {.indent = 2, .elsewhere = "--json"}};
  for (const std::string& key : space.group_keys) table.columns.push_back(doc::numbers(key));
  const auto add = [&](std::string head, int dropped) {
    table.columns.push_back(doc::numbers(std::move(head), {}, dropped));
  };
  add("", 0);
  add("step", 0);
  if (answer.robustness) add(quantile_in_words(space), 0);
  add("samples/s", 3);
  add("MFU", 4);
  add(is_whole ? "time" : "time/M", 2);
  add(is_whole ? "USD" : "USD/M", 5);
  add(is_whole ? "energy" : "energy/M", 1);
  table.columns.push_back({.head = "layout", .layout = text_column().wraps(24)});
  for (std::size_t i = 0; i < space.groups.size(); ++i) table.rows.push_back(group_row(answer, i));
  section.add(std::move(table));
  if (const std::string prices = assumed_prices_in_words(answer); !prices.empty())
    section.add(doc::Sentence{prices});
  add_front(section, answer);
}

}  // namespace trainyard
