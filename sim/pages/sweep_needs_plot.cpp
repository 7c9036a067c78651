#include "document/time_unit.hpp"
#include "pages/sweep_curves.hpp"
#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace trainyard {
namespace {

/// The quantity on the vertical axis.
struct NeedUnit {
  std::optional<double> Needs::*need;
  std::string title;
  double unit = 1;
};

NeedUnit need_upwards(const std::vector<Needs>& needs) {
  const auto has_cost = [](const Needs& row) { return row.time_s && row.cost_usd; };
  if (std::ranges::any_of(needs, has_cost)) return {.need = &Needs::cost_usd, .title = "USD", .unit = 1};
  return {.need = &Needs::energy_j, .title = "kWh", .unit = joules_per_kwh};
}

/// Both values are known and positive, as logarithmic axes require.
bool is_drawn(const Needs& row, const NeedUnit& up) {
  return row.time_s.value_or(0) > 0 && (row.*up.need).value_or(0) > 0;
}

/// Keeps every n-th row if there are too many to be distinguishable.
void thin_out(std::vector<std::size_t>& rows) {
  constexpr std::size_t most_marks = 1000;
  const std::size_t step = (rows.size() + most_marks - 1) / most_marks;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < rows.size(); i += step) kept.push_back(rows[i]);
  rows = std::move(kept);
}

}  // namespace

std::optional<doc::Chart> needs_chart(const SweepResult& result, const std::vector<Needs>& needs,
                                      const Choice& choice) {
  const NeedUnit up = need_upwards(needs);
  std::vector<double> times;
  for (const Needs& row : needs)
    if (is_drawn(row, up)) times.push_back(*row.time_s);
  if (times.size() < 2) return std::nullopt;
  const auto [shortest_time, longest] = std::ranges::minmax(times);
  const TimeUnit unit = time_unit(Seconds(std::sqrt(shortest_time * longest)));
  const Goal& goal = result.sweep.goal;
  const std::string what = training_in_words(result);
  doc::Chart chart{
      .key = "needs",
      .title = "time and " + up.title + " of the points",
      .across_title = fmt::format("time {} {}, {}", is_of_learners(result) ? "to" : "of", what, unit.name),
      .up_title = fmt::format("{} for {}", up.title, what)};
  const auto add = [&](const char* kind, int shape, const std::vector<std::size_t>& rows,
                       const std::string& name) {
    doc::Chart::Series series{kind, name, {}, false, shape};
    for (const std::size_t row : rows)
      if (is_drawn(needs[row], up))
        series.points.push_back({*needs[row].time_s / unit.seconds, *(needs[row].*up.need) / up.unit,
                                 fmt::format("point {}: {}: {}", result.rows[row].point,
                                             point_in_words(result.sweep, result.rows[row].point),
                                             needs_in_words(result, needs[row]))});
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  };
  std::vector<std::size_t> others;
  std::vector<std::size_t> front;
  const std::set<std::size_t> pareto(choice.pareto.begin(), choice.pareto.end());
  for (std::size_t row = 0; row < needs.size(); ++row) {
    if (row == choice.fastest || row == choice.cheapest || !is_drawn(needs[row], up)) continue;
    (pareto.contains(row) ? front : others).push_back(row);
  }
  const std::size_t all_others = others.size();
  thin_out(others);
  add("others", 0, others,
      others.size() < all_others ? fmt::format("{} of {} other points", others.size(), all_others)
                                 : "other points");
  add("front", 1, front, "Pareto front of " + needs_compared(needs));
  const bool is_both = choice.fastest == choice.cheapest;
  if (choice.fastest) add("best-time", 2, {*choice.fastest}, is_both ? "fastest and cheapest" : "fastest");
  if (choice.cheapest && !is_both) add("best-cost", 3, {*choice.cheapest}, "cheapest");
  if (goal.deadline)
    chart.rules.push_back({.kind = "rule-used",
                           .text = "deadline of " + human(*goal.deadline),
                           .at = goal.deadline->si() / unit.seconds,
                           .is_upright = true});
  if (goal.budget && up.need == &Needs::cost_usd)
    chart.rules.push_back({.kind = "least",
                           .text = fmt::format("budget of {} USD", shortest(goal.budget->si())),
                           .at = goal.budget->si()});
  chart.across =
      decades_axis(numbers_across(chart), FluidPlot::across_begin, FluidPlot::across_length, 8, rounded_tick);
  chart.up = decades_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick);
  return chart;
}

}  // namespace trainyard
