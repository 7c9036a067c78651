#include "pages/sweep_best.hpp"

#include "pages/sweep_curves.hpp"
#include "pages/sweep_report_tables.hpp"
#include "report/sweep_groups.hpp"
#include "report/sweep_words.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace trainyard {
namespace {

std::string front_in_words(const SweepResult& result, const std::vector<Needs>& needs, const Choice& choice) {
  std::string front;
  for (std::size_t i = 0; i < std::min(choice.pareto.size(), most_in_text); ++i)
    front += fmt::format("{}{}", i == 0 ? "" : ", ", result.rows[choice.pareto[i]].point);
  if (choice.pareto.size() > most_in_text)
    front += fmt::format(" and {} more", choice.pareto.size() - most_in_text);
  return fmt::format("{}, in {}: {}", count(static_cast<std::int64_t>(choice.pareto.size()), "point"),
                     needs_compared(needs), front);
}

/// The point with the highest throughput within the goal's limits; none if no point has one. For models
/// without an epoch: they have no time, cost or accuracy of a training that could be within a limit.
const SweepRow* highest_throughput(const SweepResult& result) {
  const Goal& goal = result.sweep.goal;
  if (goal.deadline || goal.budget || goal.accuracy_min) return nullptr;
  std::vector<Needs> of_a_sample(result.rows.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const double rate = figure(result, result.rows[i], throughput_figure).value_or(0);
    if (rate > 0) of_a_sample[i].time_s = 1 / rate;
  }
  const std::optional<std::size_t> best = choose(result, of_a_sample).fastest;
  return best ? &result.rows[*best] : nullptr;
}

/// This point, for models without an epoch.
void add_highest_throughput(const Place& place, const SweepResult& result) {
  const SweepRow* const best = highest_throughput(result);
  if (best == nullptr) return;
  const double rate = *figure(result, *best, throughput_figure);
  doc::Section& section = place.topic("answer", "highest throughput", limits_in_words(result.sweep.goal));
  section.is_answer = section.is_answer || place.group == nullptr;
  section.add(doc::Fact{"throughput_samples_per_s", point_in_words(result.sweep, best->point),
                        doc::Value(rounded(rate) + " samples/s", rate),
                        rounded(throughput_per_gpu(result, *best).value_or(0)) + " per GPU"});
}

/// Time and cost of the points, and those on the front in full.
void add_front(doc::Section& section, const SweepResult& result, const std::vector<Needs>& needs,
               const Choice& choice) {
  if (std::optional<doc::Chart> chart = needs_chart(result, needs, choice)) section.add(std::move(*chart));
  if (choice.pareto.size() < 2) return;
  const std::string compared = needs_compared(needs);
  section.add(doc::Heading{"Pareto front of " + compared});
  section.add(doc::Sentence{
      "No other point is as good in all of them and better in one. Unknown values count as worst."});
  doc::Table table{.key = "front",
                   .title = "Pareto front",
                   .columns = {{.head = "point"}, {.head = "keys"}, {.head = compared}}};
  for (const std::size_t row : choice.pareto) {
    if (table.rows.size() == most_on_page) break;
    table.rows.push_back({.cells = {grouped(static_cast<std::int64_t>(result.rows[row].point)),
                                    point_in_words(result.sweep, result.rows[row].point),
                                    needs_in_words(result, needs[row])}});
  }
  section.add(std::move(table));
}

/// The best points of a result.
void add_choice(doc::Section& section, const SweepResult& result, const std::vector<Needs>& needs,
                const Choice& choice) {
  if (choice.pareto.empty()) section.add(doc::Sentence{"no point is within these limits"});
  for (const std::string& figure : unknown_bounds(result))
    section.add(
        doc::Sentence{fmt::format("no point has a {}; 'trainyard run --json' gives the reason", figure)});
  for (const auto& [label, row] : best_rows(choice))
    section.fact(label, fmt::format("{}: {}", point_in_words(result.sweep, result.rows[row].point),
                                    needs_in_words(result, needs[row])));
  for (const auto& [label, names] : unknown_needs_in_words(result, needs)) section.fact(label, names);
  if (choice.pareto.size() > 1) section.fact("Pareto front", front_in_words(result, needs, choice));
}

/// "ranks=1000: 15,500 samples/s"; "no point is within the limits".
std::string throughput_in_words(const SweepResult& result) {
  const SweepRow* const fastest = highest_throughput(result);
  if (fastest == nullptr)
    return failures(result) < result.rows.size() ? "no point is within the limits" : "no point ran";
  return fmt::format("{}: {} samples/s", point_in_words(result.sweep, fastest->point),
                     rounded(*figure(result, *fastest, throughput_figure)));
}

/// The points to choose.
void add_best_of_all(const Place& place, const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  const Choice choice = choose(result, needs);
  const auto is_known = [](const Needs& row) { return row.time_s.has_value(); };
  const bool has_any = std::ranges::any_of(needs, is_known);
  if (!has_any && !is_of_learners(result)) {
    if (place.origin != nullptr) add_highest_throughput(place, result);
    return;
  }
  doc::Section& section = place.topic("answer", "best points", limits_in_words(result.sweep.goal));
  section.is_answer = section.is_answer || place.group == nullptr;
  if (!has_any) {
    section.add(doc::Sentence{"no point reached the learner's target"});
    return;
  }
  add_choice(section, result, needs, choice);
  if (const std::string words = intervals_in_words(result, needs); !words.empty() && !choice.pareto.empty())
    section.add(doc::Sentence{words});
  if (place.origin != nullptr) add_front(section, result, needs, choice);
}

/// The best points of each section of the report's tables.
void add_best_of_sections(const Place& place, const SweepResult& result) {
  doc::Section& section = place.topic("answer", "best points", limits_in_words(result.sweep.goal));
  section.is_answer = section.is_answer || place.group == nullptr;
  bool is_first = true;
  for (const auto& [value, group] : sections_of(result)) {
    section.add(doc::Heading{name_in(*result.sweep.report, value), {}, doc::Shown::everywhere, is_first});
    is_first = false;
    const std::vector<Needs> needs = needs_of(group);
    if (std::ranges::none_of(needs, [](const Needs& row) { return row.time_s.has_value(); })) {
      section.fact("highest throughput", throughput_in_words(group));
      continue;
    }
    const Choice choice = choose(group, needs);
    add_choice(section, group, needs, choice);
    if (place.origin != nullptr) add_front(section, group, needs, choice);
  }
  if (const std::string words = intervals_in_words(result, needs_of(result)); !words.empty()) {
    section.add(doc::gap());
    section.add(doc::Sentence{words});
  }
}

}  // namespace

void add_best(const Place& place, const SweepResult& result) {
  if (result.sweep.report)
    add_best_of_sections(place, result);
  else
    add_best_of_all(place, result);
}

std::string best_in_words(const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  if (const auto best = best_rows(choose(result, needs)); !best.empty()) {
    const auto& [label, row] = best.front();
    return fmt::format("{}: {}: {}", label, point_in_words(result.sweep, result.rows[row].point),
                       needs_in_words(result, needs[row]));
  }
  if (std::ranges::any_of(needs, [](const Needs& row) { return row.time_s.has_value(); }))
    return "no point is within the limits";
  const std::string words = throughput_in_words(result);
  return highest_throughput(result) == nullptr ? words : "highest throughput: " + words;
}

}  // namespace trainyard
