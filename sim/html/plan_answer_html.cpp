// The head of a plan's page, what binds, the next best, the groups and the machines that differ a little.

#include "html/fluid_plot.hpp"
#include "html/plan_sections.hpp"
#include "html/time_unit.hpp"
#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "report/limits.hpp"
#include "report/plan_words.hpp"
#include "report/sweep_words.hpp"
#include "report/text_layout.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

std::string usd(double amount) { return rounded(amount) + " USD"; }

Html labelled_item(std::string_view label, std::string_view text) {
  return element("li", element("strong", label) + prose(": ") + prose(text)) + Html{"\n"};
}

Html unordered(const Html& items) { return element("ul", Html{"\n"} + items) + Html{"\n"}; }

Html error_of_plan(const Run& best) {
  if (!best.expected_error) return paragraph("Expected error unknown: " + best.expected_error.error() + ".");
  return paragraph(fmt::format(
             "Expected error of samples/s: {}, within which 80 % of {} comparable published runs lie.",
             error_range(*best.expected_error), best.expected_error->runs)) +
         (best.assumed ? paragraph("In this plan " + assumed_in_words(best) + ".") : Html());
}

Html tie_html(const PlanAnswer& answer) {
  const std::vector<std::size_t> ties = ties_of(answer);
  if (ties.empty()) return {};
  return element("p", element("strong", "A tie: ") + prose(ties_in_words(answer, ties) + ".")) + Html{"\n"};
}

Html robustness_html(const PlanAnswer& answer) {
  Html items;
  for (const LabelledText& one : robustness_in_words(answer)) items += labelled_item(one.label, one.text);
  return items.markup.empty() ? Html{} : unordered(items);
}

Html costs_html(const PlanAnswer& answer, const Run& best) {
  const std::size_t row = *answer.best;
  const PlanCosts& costs = answer.costs[row];
  const double scale = costs_scale(answer);
  Html items = labelled_item("throughput",
                             rounded(plan_figure(answer, row, "throughput_samples_per_s")) + " samples/s");
  if (const auto mfu = figure(answer.result, answer.result.rows[row], "model_flops_utilization"))
    items += labelled_item("MFU", percent(*mfu));
  std::string what = estimate(Seconds{scale * costs.time_s});
  if (costs.usd) what += ", " + usd(scale * *costs.usd) + " (" + price_in_words(answer, row) + ")";
  if (costs.energy_j) what += ", " + estimate(Joules{scale * *costs.energy_j});
  items += labelled_item(costs_in_words(answer), what);
  if (const std::string turn = turn_in_words(answer); !turn.empty()) items += labelled_item("price", turn);
  if (best.memory) {
    const MemoryReport& memory = fullest(*best.memory);
    items += labelled_item(
        "memory", fmt::format("{} of the {} of a GPU", gpu_memory(memory.peak), gpu_memory(memory.capacity)));
  }
  return unordered(items);
}

}  // namespace

Html plan_answer_html(const PlanAnswer& answer, const PlanDetails& details) {
  if (!answer.best || details.best == nullptr)
    return element("p",
                   std::ranges::any_of(answer.best_of_group, [](const auto& its) { return its.has_value(); })
                       ? "No plan keeps to the limits."
                       : "No plan: nothing fits or runs.",
                   " class=\"verdict\"") +
           Html{"\n"};
  const Run& best = *details.best;
  const std::string plan =
      fmt::format("{}: {}", group_in_words(answer.space, group_of_row(answer, *answer.best)),
                  plan_layout_in_words(answer.space, answer.result.rows[*answer.best].point));
  const Html head = element("p",
                            element("strong", estimate(best.pace.time)) +
                                prose(fmt::format(" step time of the {} plan",
                                                  best_plan_word(answer.space.request.settings.goal))),
                            " class=\"headline\"") +
                    Html{"\n"} + element("p", prose(plan), " class=\"verdict\"") + Html{"\n"} +
                    error_of_plan(best) + robustness_html(answer) + tie_html(answer) +
                    paragraph(fmt::format("Proof: {}.", proof_in_words(layout_counts(answer))));
  const Html run =
      subheading("Run it") +
      element("button", "Copy", " type=\"button\" class=\"copy\" hidden=\"hidden\" data-copies=\"command\"") +
      Html{"\n"} + element("pre", details.command, " id=\"command\" class=\"command\" tabindex=\"0\"") +
      Html{"\n"};
  return in_columns({head, costs_html(answer, best) + run});
}

Html plan_binds_html(const PlanAnswer& answer, const PlanDetails& details) {
  if (details.best == nullptr) return {};
  Html items;
  for (const LabelledText& one : binds_in_words(answer, *details.best))
    items += labelled_item(one.label, one.text);
  return element("p", prose(limit_in_words(*details.best)), " class=\"verdict\"") + Html{"\n"} +
         unordered(items);
}

namespace {

/// The differences of the steps as a table, a column for each part that some layout loses or gains by.
Html losses_by_part(const std::vector<Comparison>& losses) {
  std::vector<StepPart> parts;
  for (const Comparison& loss : losses) {
    for (const ComparedPart& part : loss.parts) {
      const bool is_seen = std::abs(part.time.difference / loss.step.a) > 1e-3;
      if (is_seen && std::ranges::find(parts, part.part) == parts.end()) parts.push_back(part.part);
    }
  }
  std::ranges::sort(parts);
  std::vector<HtmlColumn> columns{{"step"}, {"longer"}};
  for (const StepPart part : parts) {
    std::string head(config::name_of(part));
    std::ranges::replace(head, '_', ' ');
    columns.push_back({head});
  }
  HtmlTable table("differences of the step by part", columns);
  for (const Comparison& loss : losses) {
    std::vector<std::string> cells{human_like(loss.step.b, loss.step.b),
                                   with_sign(human_like(loss.step.difference, loss.step.a))};
    for (const StepPart part : parts) {
      const auto its = std::ranges::find(loss.parts, part, &ComparedPart::part);
      cells.push_back(its == loss.parts.end() ? ""
                                              : with_sign(human_like(its->time.difference, loss.step.a)));
    }
    table.row(cells);
  }
  return folded("All differences, part by part", table.html());
}

}  // namespace

Html plan_next_html(const PlanAnswer& answer, const PlanDetails& details) {
  if (!answer.best || answer.others.empty()) return {};
  const PlanGoal goal = answer.space.request.settings.goal;
  std::vector<HtmlColumn> columns{{"step"},
                                  {goal_words(goal).excess},
                                  {"memory"},
                                  {"layout", true},
                                  {"why it loses: its step, part by part, less the best", true}};
  if (goal == PlanGoal::energy) columns.insert(columns.begin() + 2, HtmlColumn{"power"});
  if (answer.robustness) columns.insert(columns.begin() + 1, HtmlColumn{"ahead of the best in"});
  if (has_own_figure(answer.space)) columns.insert(columns.begin() + 1, HtmlColumn{goal_figure_head(answer)});
  HtmlTable table("the best and the next", columns);
  const auto add = [&](std::size_t row, const std::string& why) {
    const Seconds step{plan_figure(answer, row, "step_time_s")};
    std::vector<std::string> cells{human_like(step, step),
                                   row == *answer.best ? "" : signed_percent(excess_of(answer, row)),
                                   gpu_memory(Bytes{plan_figure(answer, row, "memory_peak_bytes")}),
                                   plan_layout_in_words(answer.space, answer.result.rows[row].point), why};
    if (goal == PlanGoal::energy)
      cells.insert(cells.begin() + 2,
                   row == *answer.best ? "" : signed_percent(power_excess_of(answer, row)));
    if (const auto& robust = answer.robustness)
      cells.insert(cells.begin() + 1, row == *answer.best ? "" : percent(robust->ahead_shares[row]));
    if (has_own_figure(answer.space))
      cells.insert(cells.begin() + 1, goal_in_words(answer, compared_value(answer, row)));
    table.row(cells);
  };
  add(*answer.best, "the best");
  for (std::size_t i = 0; i < std::min(most_others, answer.others.size()); ++i) {
    std::string why = i < details.losses.size() ? loss_in_words(details.losses[i]) : std::string();
    if (is_tie(answer.result, *answer.best, answer.others[i])) why += why.empty() ? "a tie" : " (a tie)";
    add(answer.others[i], why);
  }
  Html html = paragraph("Listed are " + listed_in_words(answer) + ".") + table.html();
  if (!details.losses.empty()) html += losses_by_part(details.losses);
  const std::string errors = plan_errors_in_words(answer, details.best, "plan.csv");
  if (!errors.empty())
    html += paragraph("A tie: the intervals of the expected errors overlap. Expected error" +
                      errors.substr(std::string_view("expected error").size()) + ".");
  return html;
}

namespace {

/// Time and cost of the best of each group, or its energy without a price.
Html front_plot(const PlanAnswer& answer) {
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
  if (rows.size() < 2) return {};
  const TimeUnit unit = time_unit(Seconds(std::ranges::max(times)));
  for (double& time : times) time /= unit.seconds;
  const std::string up_title = has_price ? "USD" : "kWh";
  FluidPlot plot("time and " + up_title + " of the best of each",
                 linear_axis(times, FluidPlot::across_begin, FluidPlot::across_length, 8, rounded_tick),
                 fmt::format("time for {}, {}", costs_in_words(answer), unit.name),
                 linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick),
                 fmt::format("{} for {}", up_title, costs_in_words(answer)));
  std::vector<PlotPoint> best;
  std::vector<PlotPoint> front;
  std::vector<PlotPoint> others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_on_front = std::ranges::find(answer.front, rows[i]) != answer.front.end();
    std::vector<PlotPoint>& points = rows[i] == answer.best ? best : is_on_front ? front : others;
    points.push_back({times[i], heights[i],
                      fmt::format("{}: {}", group_in_words(answer.space, group_of_row(answer, rows[i])),
                                  plan_layout_in_words(answer.space, answer.result.rows[rows[i]].point))});
  }
  std::vector<LegendEntry> entries;
  const auto add = [&](const char* kind, int shape, const std::vector<PlotPoint>& points, const char* name) {
    if (points.empty()) return;
    plot.marks(kind, shape, points);
    entries.push_back({mark_sign(kind, shape), name});
  };
  add("others", 0, others, "beaten in all");
  add("front", 1, front, "Pareto front");
  add("best-time", 2, best, "the best plan");
  return plot.html() + legend(entries);
}

void add_group_row(const PlanAnswer& answer, std::size_t i, HtmlTable& table) {
  const PlanGroup& group = answer.space.groups[i];
  std::vector<std::string> cells = group.values;
  const std::optional<std::size_t>& row = answer.best_of_group[i];
  if (!row) {
    table.row_with_remark(std::move(cells), group.failure.empty() ? "nothing fits or runs" : group.failure);
    return;
  }
  const PlanCosts& costs = answer.costs[*row];
  const double scale = costs_scale(answer);
  const bool is_on_front = std::ranges::find(answer.front, *row) != answer.front.end();
  const auto mfu = figure(answer.result, answer.result.rows[*row], "model_flops_utilization");
  std::vector<std::string> figures{*row == answer.best ? "best"
                                   : is_on_front       ? "front"
                                                       : "",
                                   estimate(Seconds{plan_figure(answer, *row, "step_time_s")}),
                                   rounded(plan_figure(answer, *row, "throughput_samples_per_s")),
                                   mfu ? percent(*mfu) : "",
                                   estimate(Seconds{scale * costs.time_s}),
                                   costs.usd ? rounded(scale * *costs.usd) : "",
                                   costs.energy_j ? estimate(Joules{scale * *costs.energy_j}) : "",
                                   plan_layout_in_words(answer.space, answer.result.rows[*row].point)};
  if (answer.robustness)
    figures.insert(figures.begin() + 2, searched_in_words(answer.space, answer.robustness->quantiles[*row]));
  for (std::string& figure : figures) cells.push_back(std::move(figure));
  table.row(cells);
}

}  // namespace

Html plan_groups_html(const PlanAnswer& answer) {
  if (answer.space.groups.size() < 2) return {};
  std::vector<HtmlColumn> columns;
  for (const std::string& key : answer.space.group_keys) columns.push_back({key, true});
  for (const char* const head : {"", "step"}) columns.push_back({head});
  if (answer.robustness) columns.push_back({quantile_in_words(answer.space)});
  for (const char* const head : {"samples/s", "MFU", "time", "USD", "energy"}) columns.push_back({head});
  columns.push_back({"layout", true});
  HtmlTable table("the best of each", columns);
  for (std::size_t i = 0; i < answer.space.groups.size(); ++i) add_group_row(answer, i, table);
  std::vector<std::string> keys = answer.space.group_keys;
  std::ranges::replace(keys, "gpus", "number of GPUs");
  std::string prices = assumed_prices_in_words(answer);
  if (!prices.empty()) prices = fmt::format(" ({})", prices);
  return paragraph(fmt::format("The best layout for each {}. Time, USD and energy are those of {}{}. On the "
                               "front: no other is as good in time, rent, energy and number of GPUs, and "
                               "better in one of them.",
                               fmt::join(keys, " and "), costs_in_words(answer), prices)) +
         table.html(answer.space.groups.size() > 20) + front_plot(answer);
}

Html plan_changes_html(const PlanAnswer& answer, const PlanDetails& details) {
  if (!answer.best || details.changes.empty()) return {};
  HtmlTable table("machines that differ a little", {{"change", true}, {"then", true}});
  for (const PlanChange& change : details.changes) table.row(change.change, change_in_words(answer, change));
  return paragraph(
             "The search goes on for a machine that differs a little. If another layout is the best then, "
             "the choice hangs on that figure.") +
         table.html();
}

}  // namespace trainyard
