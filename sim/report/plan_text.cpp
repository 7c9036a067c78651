#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "report/limits.hpp"
#include "report/page.hpp"
#include "report/plan_report.hpp"
#include "report/plan_words.hpp"
#include "report/sweep_words.hpp"
#include "report/text_layout.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trainyard {

namespace {

constexpr std::size_t most_reasons = 3;

class PlanPage {
public:
  PlanPage(const PlanAnswer& answer, const PlanDetails& details, const PrintStyle& style)
      : answer_(answer),
        space_(answer.space),
        goal_(goal_words(answer.space.request.settings.goal)),
        details_(details),
        out_(style) {}

  std::string text() {
    if (const std::string keys = changed_keys(space_); !keys.empty())
      out_.paragraph(fmt::format("{}; set for all plans: {}", space_.request.name, keys), 0);
    write_best();
    write_search();
    if (answer_.best) {
      write_others();
      write_cells();
    }
    if (space_.groups.size() > 1) write_groups();
    write_changes();
    return out_.text();
  }

private:
  [[nodiscard]] const SweepRow& row(std::size_t index) const { return answer_.result.rows[index]; }

  [[nodiscard]] double number(std::size_t index, std::string_view name) const {
    return plan_figure(answer_, index, name);
  }

  void write_best() {
    if (!answer_.best) {
      const bool has_any =
          std::ranges::any_of(answer_.best_of_group, [](const auto& best) { return best.has_value(); });
      out_.heading(has_any ? "no plan keeps to the limits" : "no plan: nothing fits or runs");
      return;
    }
    const std::size_t best = *answer_.best;
    out_.heading(fmt::format("the {} plan", best_plan_word(space_.request.settings.goal)),
                 space_.sweep.title);
    out_.text_row("plan", fmt::format("{}: {}", group_in_words(space_, group_of_row(answer_, best)),
                                      plan_layout_in_words(space_, row(best).point)));
    out_.row("step time", estimate(Seconds{number(best, "step_time_s")}),
             details_.best->expected_error
                 ? "expected error of the throughput " + error_range(*details_.best->expected_error)
                 : std::string("expected error unknown: ") + details_.best->expected_error.error(),
             true);
    if (details_.best->assumed) out_.text_row("assumed inputs", assumed_in_words(*details_.best));
    for (const LabelledText& one : robustness_in_words(answer_)) out_.text_row(one.label, one.text);
    write_rates(best);
    write_costs(best);
    if (details_.best->memory) {
      const MemoryReport& memory = fullest(*details_.best->memory);
      out_.row(
          "memory", gpu_memory(memory.peak),
          fmt::format("{} of the {} of a GPU", percent(memory.utilization), gpu_memory(memory.capacity)));
    }
    out_.text_row("limit", limit_in_words(*details_.best));
    const std::vector<LabelledText> binds = binds_in_words(answer_, *details_.best);
    for (std::size_t i = 0; i < binds.size(); ++i)
      out_.text_row(i == 0 ? "what binds" : "", in_one_line(binds[i]));
    if (const std::vector<std::size_t> ties = ties_of(answer_); !ties.empty())
      out_.text_row("tie", ties_in_words(answer_, ties));
    out_.command("run it", details_.command);
  }

  void write_rates(std::size_t best) {
    const auto tokens = figure(answer_.result, row(best), "throughput_tokens_per_s");
    const auto mfu = figure(answer_.result, row(best), "model_flops_utilization");
    std::string remark = tokens ? rounded(*tokens) + " tokens/s" : std::string();
    if (mfu) remark += fmt::format("{}MFU {}", remark.empty() ? "" : ", ", percent(*mfu));
    out_.row("throughput", rounded(number(best, "throughput_samples_per_s")) + " samples/s", remark);
  }

  void write_costs(std::size_t best) {
    const PlanCosts& costs = answer_.costs[best];
    const std::string what = "for " + costs_in_words(answer_);
    const double scale = costs_scale(answer_);
    out_.row("time", estimate(Seconds{scale * costs.time_s}), what);
    if (costs.usd)
      out_.row("rent", rounded(scale * *costs.usd) + " USD", what + "; " + price_in_words(answer_, best));
    if (const std::string turn = turn_in_words(answer_); !turn.empty()) out_.text_row("price", turn);
    if (costs.energy_j) out_.row("energy", estimate(Joules{scale * *costs.energy_j}), what);
  }

  void write_search() {
    const LayoutCounts counts = layout_counts(answer_);
    out_.heading("how it was found");
    out_.text_row("layouts", counts_in_words(counts));
    out_.text_row("proof", proof_in_words(counts));
    for (std::size_t i = 0; i < std::min(most_reasons, counts.reasons.size()); ++i) {
      const auto& [number, reason] = counts.reasons[i];
      out_.text_row(i == 0 ? "impossible" : "",
                    fmt::format("{}: {}", count_text(static_cast<double>(number)), reason));
    }
    std::string axes;
    for (const LayoutAxis& axis : space_.axes)
      axes += fmt::format("{}{} {}", axes.empty() ? "" : "; ", axis.key.substr(axis.key.find('.') + 1),
                          fmt::join(axis.values, ", "));
    out_.text_row("space", axes);
  }

  /// Where the time of the best layouts goes.
  void write_others() {
    if (answer_.others.empty()) return;
    out_.heading("the best and the next", group_in_words(space_, group_of_row(answer_, *answer_.best)) +
                                              ": " + listed_in_words(answer_));
    std::vector<TableColumn> columns{number_column(), number_column(), number_column(),
                                     number_column(), number_column(), text_column().wraps(30)};
    std::vector<std::string> heads{"step", goal_.excess, "kernels", "comm.", "memory", "layout"};
    if (has_own_figure(space_)) {
      columns.insert(columns.begin() + 1, number_column());
      heads.insert(heads.begin() + 1, goal_figure_head(answer_));
    }
    Table table(std::move(columns), {.indent = 2});
    table.add(heads);
    std::vector<std::size_t> shown{*answer_.best};
    for (std::size_t i = 0; i < std::min(most_others, answer_.others.size()); ++i)
      shown.push_back(answer_.others[i]);
    const Seconds largest{number(shown.back(), "step_time_s")};
    for (const std::size_t index : shown) {
      const double step = number(index, "step_time_s");
      std::vector<std::string> cells{human_like(Seconds{step}, largest),
                                     index == *answer_.best ? std::string() : excess(index),
                                     percent(number(index, "compute_time_s") / step),
                                     percent(number(index, "exposed_communication_s") / step),
                                     gpu_memory(Bytes{number(index, "memory_peak_bytes")}),
                                     plan_layout_in_words(space_, row(index).point)};
      if (has_own_figure(space_)) cells.insert(cells.begin() + 1, goal_of(index));
      table.add(cells);
    }
    out_.table(table);
    const std::string errors = plan_errors_in_words(answer_, details_.best, "--json");
    if (!errors.empty()) out_.paragraph(errors, 2);
    write_losses(largest);
  }

  [[nodiscard]] std::string goal_of(std::size_t index) const {
    return goal_in_words(answer_, compared_value(answer_, index));
  }

  [[nodiscard]] std::string excess(std::size_t index) const {
    return signed_percent(excess_of(answer_, index));
  }

  /// By what the next are worse, and their steps longer.
  void write_losses(Seconds largest) {
    if (details_.losses.empty()) return;
    const bool has_own = has_own_figure(space_);
    const bool has_power = space_.request.settings.goal == PlanGoal::energy;
    const std::string steps = "their steps, part by part, less that of the best";
    out_.heading("why the runners-up lose",
                 has_power ? "energy is average power times step; " + steps : steps);
    std::vector<std::string> heads{"step", "longer by"};
    std::vector<TableColumn> columns{number_column(), text_column().wraps(30)};
    if (has_power) heads.insert(heads.begin(), "power");
    if (has_own) heads.insert(heads.begin(), {goal_figure_head(answer_), goal_.excess});
    columns.insert(columns.begin(), heads.size() - columns.size(), number_column());
    Table table(std::move(columns), {.indent = 2});
    table.add(heads);
    for (std::size_t i = 0; i < details_.losses.size(); ++i) {
      const std::size_t index = answer_.others[i];
      const Comparison& loss = details_.losses[i];
      std::vector<std::string> cells{human_like(loss.step.b, largest), loss_in_words(loss)};
      if (has_power) cells.insert(cells.begin(), signed_percent(power_excess_of(answer_, index)));
      if (has_own) cells.insert(cells.begin(), {goal_of(index), excess(index)});
      table.add(cells);
    }
    out_.table(table);
  }

  /// The goal's figure by tensor ranks and stages.
  void write_cells() {
    const PlanMap map = plan_map(answer_);
    if (map.tensors.size() * map.stages.size() < 2) return;
    std::string empty;
    for (const EmptyPlace* const one : map.empty)
      empty += fmt::format("; \"{}\": {}", one->word, one->legend);
    out_.heading(goal_figure_in_words(answer_) + " by tensor ranks and stages",
                 fmt::format("of the best layout there; \">\": a lower bound: no layout there is {} than "
                             "this, and none can be "
                             "the {}{}",
                             goal_.better, best_plan_word(space_.request.settings.goal), empty));
    std::vector<TableColumn> columns{text_column()};
    std::vector<std::string> heads{"tensor"};
    for (const int stage : map.stages) {
      columns.push_back(number_column());
      heads.push_back(fmt::format("{}", count(stage, "stage")));
    }
    Table table(std::move(columns), {.indent = 2, .goes_on_below = true});
    table.add(heads);
    for (const int tensor : map.tensors) {
      std::vector<std::string> cells{std::to_string(tensor)};
      for (const int stage : map.stages) cells.push_back(cell_text({tensor, stage}));
      table.add(cells);
    }
    out_.table(table);
  }

  [[nodiscard]] std::string cell_text(PlanPlace place) const {
    const LayoutCell* const cell = cell_at(answer_, place);
    if (cell == nullptr) return empty_place(answer_, place).word;
    const CellValue its = cell_value(answer_, *cell);
    return (its.is_bound ? "> " : "") + goal_in_words(answer_, its.value);
  }

  void write_groups() {
    out_.heading("the best of each", fmt::format("{}; *: no other is better in time, rent, energy and GPUs",
                                                 fmt::join(space_.group_keys, ", ")));
    std::vector<TableColumn> columns;
    std::vector<std::string> heads;
    for (const std::string& key : space_.group_keys) {
      columns.push_back(number_column());
      heads.push_back(key);
    }
    const bool is_whole = answer_.is_of_training;
    std::vector<std::pair<std::string, int>> shown{{"", 0},
                                                   {"step", 0},
                                                   {"samples/s", 3},
                                                   {"MFU", 4},
                                                   {is_whole ? "time" : "time/M", 2},
                                                   {is_whole ? "USD" : "USD/M", 5},
                                                   {is_whole ? "energy" : "energy/M", 1}};
    if (answer_.robustness) shown.insert(shown.begin() + 2, {quantile_in_words(space_), 0});
    for (const auto& [head, dropped] : shown) {
      columns.push_back(number_column().drops(dropped));
      heads.push_back(head);
    }
    columns.push_back(text_column().wraps(24));
    heads.emplace_back("layout");
    Table table(std::move(columns), {.indent = 2, .elsewhere = "--json"});
    table.add(heads);
    for (std::size_t i = 0; i < space_.groups.size(); ++i) add_group(i, table);
    out_.table(table);
    if (const std::string prices = assumed_prices_in_words(answer_); !prices.empty())
      out_.paragraph(prices, 2);
  }

  void add_group(std::size_t i, Table& table) const {
    const PlanGroup& group = space_.groups[i];
    std::vector<std::string> cells = group.values;
    const std::optional<std::size_t>& best = answer_.best_of_group[i];
    if (!best) {
      table.add_and_rest(std::move(cells), group.failure.empty() ? "nothing fits or runs" : group.failure);
      return;
    }
    const PlanCosts& costs = answer_.costs[*best];
    const double scale = costs_scale(answer_);
    const bool is_on_front = std::ranges::find(answer_.front, *best) != answer_.front.end();
    const auto mfu = figure(answer_.result, row(*best), "model_flops_utilization");
    std::vector<std::string> figures{is_on_front ? "*" : "",
                                     estimate(Seconds{number(*best, "step_time_s")}),
                                     rounded(number(*best, "throughput_samples_per_s")),
                                     mfu ? percent(*mfu) : "-",
                                     estimate(Seconds{scale * costs.time_s}),
                                     costs.usd ? rounded(scale * *costs.usd) : "-",
                                     costs.energy_j ? estimate(Joules{scale * *costs.energy_j}) : "-",
                                     plan_layout_in_words(space_, row(*best).point)};
    if (answer_.robustness)
      figures.insert(figures.begin() + 2, searched_in_words(space_, answer_.robustness->quantiles[*best]));
    for (std::string& figure : figures) cells.push_back(std::move(figure));
    table.add(std::move(cells));
  }

  void write_changes() {
    if (details_.changes.empty()) return;
    out_.heading("if the machine were a little different");
    for (const PlanChange& change : details_.changes)
      out_.paragraph(fmt::format("{}: {}", change.change, change_in_words(answer_, change)), 2);
  }

  const PlanAnswer& answer_;
  const PlanSpace& space_;
  const GoalWords& goal_;
  const PlanDetails& details_;
  Page out_;
};

}  // namespace

std::string plan_text(const PlanAnswer& answer, const PlanDetails& details, const PrintStyle& style) {
  return PlanPage(answer, details, style).text();
}

}  // namespace trainyard
