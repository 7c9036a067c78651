#include "report/expected_error.hpp"
#include "report/layout_summary.hpp"
#include "report/limits.hpp"
#include "report/page.hpp"
#include "report/plan_report.hpp"
#include "report/sweep_words.hpp"
#include "report/text_layout.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace trainyard {

namespace {

constexpr std::size_t most_others = 8;
constexpr std::size_t most_reasons = 3;
constexpr double million = 1e6;

class PlanPage {
public:
  PlanPage(const PlanAnswer& answer, const PlanDetails& details, const PrintStyle& style)
      : answer_(answer), space_(answer.space), details_(details), out_(style) {}

  std::string text() {
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
    return figure(answer_.result, row(index), name).value_or(0);
  }

  [[nodiscard]] std::string_view best_word() const {
    switch (space_.request.settings.goal) {
      case PlanGoal::cost:
        return "cheapest";
      case PlanGoal::energy:
        return "most frugal";
      case PlanGoal::time:
        break;
    }
    return "fastest";
  }

  [[nodiscard]] std::string group_words(const PlanGroup& group) const {
    std::string words = count(group.gpus, "GPU");
    for (std::size_t i = 0; i + 1 < space_.group_keys.size(); ++i)
      words += fmt::format(", {}={}", space_.group_keys[i], group.values[i]);
    return words;
  }

  [[nodiscard]] const PlanGroup& group_of(std::size_t index) const {
    return space_.groups[space_.bounds[row(index).point].group];
  }

  void write_best() {
    if (!answer_.best) {
      const bool has_any =
          std::ranges::any_of(answer_.best_of_group, [](const auto& best) { return best.has_value(); });
      out_.heading(has_any ? "no plan keeps to the limits" : "no plan: nothing fits or runs");
      return;
    }
    const std::size_t best = *answer_.best;
    out_.heading(fmt::format("the {} plan", best_word()), space_.sweep.title);
    out_.text_row("plan", fmt::format("{}: {}", group_words(group_of(best)),
                                      plan_layout_in_words(space_, row(best).point)));
    out_.row("step time", estimate(Seconds{number(best, "step_time_s")}),
             details_.best->expected_error
                 ? "expected error of the throughput " + error_range(*details_.best->expected_error)
                 : std::string("expected error unknown: ") + details_.best->expected_error.error(),
             true);
    write_rates(best);
    write_costs(best);
    if (details_.best->memory) {
      const MemoryReport& memory = fullest(*details_.best->memory);
      out_.row(
          "memory", gpu_memory(memory.peak),
          fmt::format("{} of the {} of a GPU", percent(memory.utilization), gpu_memory(memory.capacity)));
    }
    out_.text_row("limit", limit_in_words(*details_.best));
    write_ties(best);
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
    const std::string what = "for " + (answer_.is_of_training ? training_in_words(answer_.result)
                                                              : std::string("a million samples"));
    const double scale = answer_.is_of_training ? 1 : million;
    out_.row("time", estimate(Seconds{scale * costs.time_s}), what);
    if (costs.usd) out_.row("rent", rounded(scale * *costs.usd) + " USD", what);
    if (costs.energy_j) out_.row("energy", estimate(Joules{scale * *costs.energy_j}), what);
  }

  void write_ties(std::size_t best) {
    std::vector<std::size_t> ties;
    for (const std::size_t other : answer_.others) {
      if (is_tie(answer_.result, best, other)) ties.push_back(other);
    }
    if (ties.empty()) return;
    const std::size_t next = ties.front();
    out_.text_row(
        "tie", fmt::format("{} of the simulated layouts may be as fast within their expected errors; the "
                           "next, {:+.1f} %: {}",
                           ties.size(), 100 * (number(next, "step_time_s") / number(best, "step_time_s") - 1),
                           plan_layout_in_words(space_, row(next).point)));
  }

  void write_search() {
    std::size_t all = 0;
    std::size_t large = 0;
    std::size_t bounded = 0;
    std::size_t simulated = 0;
    std::size_t failed = 0;
    std::size_t left = 0;
    double gap = 0;
    std::map<std::string, std::size_t> impossible;
    for (std::size_t i = 0; i < space_.groups.size(); ++i) {
      all += space_.groups[i].layouts;
      large += space_.groups[i].too_large;
      bounded += answer_.searches[i].bounded;
      simulated += answer_.searches[i].simulated;
      failed += answer_.searches[i].failed;
      left += answer_.searches[i].left;
      gap = std::max(gap, gap_of(answer_.searches[i]));
      for (const auto& [reason, number] : space_.groups[i].impossible) impossible[reason] += number;
    }
    std::size_t refused = 0;
    for (const auto& [reason, number] : impossible) refused += number;
    out_.heading("how it was found");
    out_.text_row(
        "layouts",
        fmt::format(
            "{} in all: {} do not fit into memory, {} are impossible, {} cannot be better (a lower "
            "bound says so), {} were simulated{}",
            count_text(double(all)), count_text(double(large)), count_text(double(refused)),
            count_text(double(bounded)), count_text(double(simulated)),
            (failed == 0 ? std::string() : fmt::format(", {} of them with an error", failed)) +
                (left == 0 ? std::string() : fmt::format("; {} are left", count_text(double(left))))));
    out_.text_row(
        "proof",
        gap == 0
            ? "the best of the space: every other layout was simulated, or its lower bound is above the best"
        : gap == 1 ? "none: the search ended before a layout of every group was simulated"
                   : fmt::format("within {} of the best of the space: the least lower bound that is left",
                                 percent(gap)));
    std::vector<std::pair<std::size_t, std::string>> reasons;
    for (const auto& [reason, number] : impossible) reasons.emplace_back(number, reason);
    std::ranges::stable_sort(reasons, std::greater{}, &std::pair<std::size_t, std::string>::first);
    for (std::size_t i = 0; i < std::min(most_reasons, reasons.size()); ++i)
      out_.text_row(i == 0 ? "impossible" : "",
                    fmt::format("{}: {}", count_text(double(reasons[i].first)), reasons[i].second));
    std::string axes;
    for (const LayoutAxis& axis : space_.axes)
      axes += fmt::format("{}{} {}", axes.empty() ? "" : "; ", axis.key.substr(axis.key.find('.') + 1),
                          fmt::join(axis.values, ", "));
    out_.text_row("space", axes);
  }

  /// Where the time of the best layouts goes.
  void write_others() {
    if (answer_.others.empty()) return;
    out_.heading("the best and the next", group_words(group_of(*answer_.best)));
    Table table({number_column(), number_column(), number_column(), number_column(), number_column(),
                 text_column().wraps(30)},
                {.indent = 2});
    table.row("step", "longer", "kernels", "comm.", "memory", "layout");
    std::vector<std::size_t> shown{*answer_.best};
    for (std::size_t i = 0; i < std::min(most_others, answer_.others.size()); ++i)
      shown.push_back(answer_.others[i]);
    const Seconds largest{number(shown.back(), "step_time_s")};
    for (const std::size_t index : shown) {
      const double step = number(index, "step_time_s");
      table.row(human_like(Seconds{step}, largest),
                index == *answer_.best ? std::string()
                                       : signed_percent(step / number(*answer_.best, "step_time_s") - 1),
                percent(number(index, "compute_time_s") / step),
                percent(number(index, "exposed_communication_s") / step),
                gpu_memory(Bytes{number(index, "memory_peak_bytes")}),
                plan_layout_in_words(space_, row(index).point));
    }
    out_.table(table);
    const std::string errors = expected_errors_in_words(answer_.result, "--json");
    if (!errors.empty()) out_.paragraph(errors, 2);
  }

  /// Step times by tensor ranks and stages.
  void write_cells() {
    std::set<int> tensors;
    std::set<int> stages;
    for (const LayoutCell& cell : answer_.cells) {
      tensors.insert(cell.tensor);
      stages.insert(cell.pipeline);
    }
    if (tensors.size() * stages.size() < 2) return;
    out_.heading("step time by tensor ranks and stages",
                 "of the best layout with so many; \">\": none was simulated, since its lower bound is above "
                 "the best; \"-\": none fits");
    std::vector<TableColumn> columns{text_column()};
    std::vector<std::string> heads{"tensor"};
    for (const int stage : stages) {
      columns.push_back(number_column());
      heads.push_back(fmt::format("{}", count(stage, "stage")));
    }
    Table table(std::move(columns), {.indent = 2, .goes_on_below = true});
    table.add(heads);
    for (const int tensor : tensors) {
      std::vector<std::string> cells{std::to_string(tensor)};
      for (const int stage : stages) cells.push_back(cell_text(tensor, stage));
      table.add(cells);
    }
    out_.table(table);
  }

  [[nodiscard]] std::string cell_text(int tensor, int stage) const {
    const auto cell = std::ranges::find_if(
        answer_.cells, [&](const LayoutCell& its) { return its.tensor == tensor && its.pipeline == stage; });
    if (cell == answer_.cells.end()) return "-";
    if (cell->step_s && (!cell->bound_s || *cell->step_s <= *cell->bound_s ||
                         *cell->step_s <= number(*answer_.best, "step_time_s")))
      return estimate(Seconds{*cell->step_s});
    const double least = std::min(cell->step_s.value_or(cell->bound_s.value_or(0)),
                                  cell->bound_s.value_or(cell->step_s.value_or(0)));
    return "> " + estimate(Seconds{least});
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
    const std::pair<const char*, int> shown[] = {{"", 0},
                                                 {"step", 0},
                                                 {"samples/s", 3},
                                                 {"MFU", 4},
                                                 {is_whole ? "time" : "time/M", 2},
                                                 {is_whole ? "USD" : "USD/M", 5},
                                                 {is_whole ? "energy" : "energy/M", 1}};
    for (const auto& [head, dropped] : shown) {
      columns.push_back(number_column().drops(dropped));
      heads.emplace_back(head);
    }
    columns.push_back(text_column().wraps(24));
    heads.emplace_back("layout");
    Table table(std::move(columns), {.indent = 2, .elsewhere = "--json"});
    table.add(heads);
    for (std::size_t i = 0; i < space_.groups.size(); ++i) add_group(i, table);
    out_.table(table);
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
    const double scale = answer_.is_of_training ? 1 : million;
    const bool is_on_front = std::ranges::find(answer_.front, *best) != answer_.front.end();
    const auto mfu = figure(answer_.result, row(*best), "model_flops_utilization");
    for (std::string& cell : std::vector<std::string>{
             is_on_front ? "*" : "", estimate(Seconds{number(*best, "step_time_s")}),
             rounded(number(*best, "throughput_samples_per_s")), mfu ? percent(*mfu) : "-",
             estimate(Seconds{scale * costs.time_s}), costs.usd ? rounded(scale * *costs.usd) : "-",
             costs.energy_j ? estimate(Joules{scale * *costs.energy_j}) : "-",
             plan_layout_in_words(space_, row(*best).point)})
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }

  void write_changes() {
    if (details_.changes.empty()) return;
    out_.heading("if the machine were a little different");
    for (const PlanChange& change : details_.changes) {
      const std::string what =
          !change.layout
              ? "nothing fits"
              : fmt::format(
                    "{}, step {}{}",
                    change.is_same
                        ? "the same layout is the best"
                        : "the best is " + plan_layout_in_words(*change.layout, group_of(*answer_.best).gpus),
                    estimate(Seconds{change.step_s}),
                    answer_.best
                        ? fmt::format(" ({})", signed_percent(
                                                   change.step_s / number(*answer_.best, "step_time_s") - 1))
                        : std::string());
      out_.paragraph(fmt::format("{}: {}", change.change, what), 2);
    }
  }

  const PlanAnswer& answer_;
  const PlanSpace& space_;
  const PlanDetails& details_;
  Page out_;
};

}  // namespace

std::string plan_layout_in_words(const PlanLayout& layout, int gpus) {
  RankLayout ranks;
  ranks.parallelism = layout.parallelism;
  ranks.grid = make_grid(layout.parallelism, gpus);
  ranks.schedule = schedule_of(layout.parallelism);
  const std::string words = layout_in_words(ranks);
  return fmt::format("{}; {} micro-batch{} of {}", words.empty() ? "one GPU" : words,
                     grouped(layout.micro_batches), layout.micro_batches == 1 ? "" : "es",
                     layout.micro_batch);
}

std::string plan_layout_in_words(const PlanSpace& space, std::size_t point) {
  return plan_layout_in_words(space.layouts[point], space.groups[space.bounds[point].group].gpus);
}

std::string plan_text(const PlanAnswer& answer, const PlanDetails& details, const PrintStyle& style) {
  return PlanPage(answer, details, style).text();
}

}  // namespace trainyard
