#include "pages/plan_page.hpp"

#include "pages/plan_sections.hpp"
#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "report/known_errors.hpp"
#include "report/limits.hpp"
#include "report/memory_page.hpp"
#include "report/plan_words.hpp"
#include "report/run_page.hpp"
#include "run/figures.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

void add_rates(doc::Section& section, const PlanAnswer& answer) {
  const std::size_t best = *answer.best;
  const SweepRow& row = answer.result.rows[best];
  const auto tokens = figure(answer.result, row, "throughput_tokens_per_s");
  const auto mfu = figure(answer.result, row, "model_flops_utilization");
  std::string remark = tokens ? rounded(*tokens) + " tokens/s" : std::string();
  if (mfu) remark += fmt::format("{}MFU {}", remark.empty() ? "" : ", ", percent(*mfu));
  const double rate = plan_figure(answer, best, "throughput_samples_per_s");
  section.add(doc::Fact{"throughput_samples_per_s", "throughput",
                        doc::Value(rounded(rate) + " samples/s", rate), remark});
}

void add_costs(doc::Section& section, const PlanAnswer& answer) {
  const std::size_t best = *answer.best;
  const PlanCosts& costs = answer.costs[best];
  const std::string what = "for " + costs_in_words(answer);
  const double scale = costs_scale(answer);
  const Seconds time{scale * costs.time_s};
  section.add(doc::Fact{"time_s", "time", doc::Value(estimate(time), time), what});
  if (costs.usd)
    section.add(doc::Fact{"rent_usd", "rent",
                          doc::Value(rounded(scale * *costs.usd) + " USD", scale * *costs.usd),
                          what + "; " + price_in_words(answer, best)});
  if (const std::string turn = turn_in_words(answer); !turn.empty()) section.fact("price", turn);
  if (!costs.energy_j) return;
  const Joules energy{scale * *costs.energy_j};
  section.add(doc::Fact{"energy_j", "energy", doc::Value(estimate(energy), energy), what});
}

void add_best(doc::Document& page, const PlanAnswer& answer, const PlanDetails& details) {
  const PlanSpace& space = answer.space;
  doc::Section& section = page.section("answer", "no plan: nothing fits or runs");
  section.is_answer = true;
  if (!answer.best || details.best == nullptr) {
    if (std::ranges::any_of(answer.best_of_group, [](const auto& best) { return best.has_value(); }))
      section.title = "no plan keeps to the limits";
    section.add(doc::Sentence{
        .text = "The search found no plan to recommend.", .is_main = true, .shown = doc::Shown::pages});
    return;
  }
  section.title = fmt::format("the {} plan", best_plan_word(space.request.settings.goal));
  section.remark = space.sweep.title;
  const std::size_t row = *answer.best;
  const Run& best = *details.best;
  section.fact("plan", fmt::format("{}: {}", group_in_words(space, group_of_row(answer, row)),
                                   plan_layout_in_words(space, answer.result.rows[row].point)));
  const Seconds step{plan_figure(answer, row, "step_time_s")};
  section.add(doc::Fact{"step_time_s", "step time", doc::Value(estimate(step), step),
                        best.expected_error
                            ? "expected error of the throughput " + error_range(*best.expected_error)
                            : std::string("expected error unknown: ") + best.expected_error.error(),
                        true});
  if (best.assumed) section.fact("assumed inputs", assumed_in_words(best));
  for (const doc::Labelled& one : robustness_in_words(answer)) section.fact(one.label, one.text);
  add_rates(section, answer);
  add_costs(section, answer);
  if (best.memory) {
    const MemoryReport& memory = fullest(*best.memory);
    section.add(doc::Fact{
        "memory_peak_bytes", "memory", doc::Value(gpu_memory(memory.peak), memory.peak),
        fmt::format("{} of the {} of a GPU", percent(memory.utilization), gpu_memory(memory.capacity))});
  }
  section.fact("limit", limit_in_words(best));
  bool is_first = true;
  for (const doc::Labelled& one : binds_in_words(answer, best))
    section.fact(std::exchange(is_first, false) ? "what binds" : "", doc::in_one_line(one));
  if (const std::vector<std::size_t> ties = ties_of(answer); !ties.empty())
    section.fact("tie", ties_in_words(answer, ties));
  section.add(doc::Command{"run it", details.command});
}

void add_changes(doc::Document& page, const PlanAnswer& answer, const PlanDetails& details) {
  if (details.changes.empty()) return;
  doc::Section& section = page.section("changes", "if the machine were a little different");
  section.add(doc::Sentence{
      .text = "The search goes on for a machine that differs a little. If another layout is the best then, "
              "the choice hangs on that figure.",
      .shown = doc::Shown::pages});
  doc::List list;
  for (const PlanChange& change : details.changes)
    list.items.push_back({change.change, change_in_words(answer, change)});
  section.add(std::move(list));
}

void add_best_experiment(doc::Document& page, const Run& best, const PageOrigin& origin) {
  doc::Section& section = page.section("experiment", "the best plan as an experiment");
  section.add(doc::Sentence{"All keys of the best plan with their values, defaults included."});
  section.add(doc::Command{"", resolved_text(best)});
  section.add(
      doc::Sentence{"This is best.yaml, next to this page. To run it, with a page that has its timeline:"});
  section.add(doc::Command{"", "trainyard run best.yaml --out best"});
  section.add(doc::Sentence{fmt::format(
      "trainyard {}. The same input gives the same page, byte for byte, also if the search was continued.",
      origin.version)});
}

}  // namespace

doc::Document plan_document(const PlanAnswer& answer, const PlanDetails& details, const PageOrigin& origin) {
  const PlanSpace& space = answer.space;
  doc::Document page{.title = "Plan: " + space.request.name,
                     .version = origin.version,
                     .lead = {fmt::format("The {} way to share the model and its batch among GPUs.",
                                          best_plan_word(space.request.settings.goal))},
                     .warnings = origin.warnings};
  if (const std::string keys = changed_keys(space); !keys.empty()) {
    page.lead.push_back("Set for all plans: " + keys);
    doc::Section& section = page.section("keys", "");
    section.shown = doc::Shown::text;
    section.is_untitled_in_text = true;
    section.add(doc::Sentence{.text = fmt::format("{}; set for all plans: {}", space.request.name, keys),
                              .indent = 0});
  }
  add_best(page, answer, details);
  add_plan_search(page, answer);
  if (answer.best) {
    add_next_plans(page, answer, details);
    add_plan_map(page, answer);
  }
  add_plan_groups(page, answer);
  add_changes(page, answer, details);
  const std::size_t known = page.sections.size();
  if (details.best != nullptr) {
    add_where(page, *details.best);
    add_memory(page, *details.best);
    add_basis(page, *details.best, &origin);
  }
  add_known_errors(page);
  if (details.best != nullptr) add_best_experiment(page, *details.best, origin);
  for (std::size_t i = known; i < page.sections.size(); ++i) page.sections[i].shown = doc::Shown::browser;
  return page;
}

}  // namespace trainyard
