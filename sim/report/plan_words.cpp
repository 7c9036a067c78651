#include "report/plan_words.hpp"

#include "document/page.hpp"
#include "report/comparison_page.hpp"
#include "report/layout_summary.hpp"
#include "report/sweep_words.hpp"
#include "run/layout_parts.hpp"
#include "run/memory_verdict.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace trainyard {

namespace {

std::string counted(std::size_t number) { return count_text(static_cast<double>(number)); }

std::string share_of_step(double share) { return percent(share) + " of the step"; }

std::string memory_in_words(const PlanGroup& group, const MemoryReport& memory) {
  return fmt::format("the plan fills {} of a GPU; {} layouts {}", percent(memory.utilization),
                     group.too_large == 0
                         ? "all " + counted(group.layouts)
                         : fmt::format("{} of {}", counted(group.too_large), counted(group.layouts)),
                     group.too_large == 0 ? "fit" : "do not fit");
}

std::string network_in_words(const PlanBinds& binds) {
  const double all = binds.layers + binds.messages + binds.data;
  std::string text = "exposed communication takes " + share_of_step(all);
  if (binds.layers + binds.messages == 0) return text;
  std::string parts;
  const auto add = [&](std::string_view what, double share) {
    if (share > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", what, percent(share));
  };
  add("tensor-parallel layers", binds.layers);
  add("messages between stages", binds.messages);
  add("gradients and parameters", binds.data);
  return text + ": " + parts;
}

}  // namespace

std::string changed_keys(const PlanSpace& space) {
  std::string text;
  for (const auto& [key, value] : space.request.set) {
    if (space.request.experiment == no_file && (key == "model" || key == "platform")) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  for (const auto& [key, values] : space.request.settings.over) {
    if (values.size() == 1) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, values.front());
  }
  return text;
}

std::string_view best_plan_word(PlanGoal goal) {
  switch (goal) {
    case PlanGoal::cost:
      return "cheapest";
    case PlanGoal::energy:
      return "most frugal";
    case PlanGoal::time:
      break;
  }
  return "fastest";
}

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

std::string group_in_words(const PlanSpace& space, const PlanGroup& group) {
  std::string words = count(group.gpus, "GPU");
  for (std::size_t i = 0; i + 1 < space.group_keys.size(); ++i)
    words += fmt::format(", {}={}", space.group_keys[i], group.values[i]);
  return words;
}

const PlanGroup& group_of_row(const PlanAnswer& answer, std::size_t row) {
  return answer.space.groups[answer.space.bounds[answer.result.rows[row].point].group];
}

double plan_figure(const PlanAnswer& answer, std::size_t row, std::string_view name) {
  return figure(answer.result, answer.result.rows[row], name).value_or(0);
}

double costs_scale(const PlanAnswer& answer) {
  constexpr double million = 1e6;
  return answer.is_of_training ? 1 : million;
}

std::string costs_in_words(const PlanAnswer& answer) {
  return answer.is_of_training ? training_in_words(answer.result) : std::string("a million samples");
}

std::vector<std::size_t> ties_of(const PlanAnswer& answer) {
  std::vector<std::size_t> ties;
  for (const std::size_t other : answer.others) {
    if (is_tie(answer.result, *answer.best, other)) ties.push_back(other);
  }
  return ties;
}

std::string ties_in_words(const PlanAnswer& answer, const std::vector<std::size_t>& ties) {
  const std::size_t next = ties.front();
  return fmt::format(
      "{} of the simulated layouts may be as fast within their expected errors; the next, {:+.1f} %{}: {}",
      ties.size(), 100 * excess_of(answer, next),
      answer.space.request.settings.goal == PlanGoal::energy ? " energy" : "",
      plan_layout_in_words(answer.space, answer.result.rows[next].point));
}

std::string quantile_in_words(const PlanSpace& space) {
  if (!space.randomness) return {};
  return fmt::format("{} quantile", *space.request.settings.quantile);
}

const GoalWords& goal_words(PlanGoal goal) {
  static constexpr GoalWords time{"step time", "step", "longer", "faster", "take"};
  static constexpr GoalWords cost{"rent of a million samples", "rent/M", "dearer", "cheaper", "cost"};
  static constexpr GoalWords energy{"energy per step", "energy", "more", "more frugal", "need"};
  return goal == PlanGoal::cost ? cost : goal == PlanGoal::energy ? energy : time;
}

namespace {

/// " (assumed price)" after what the goal counts, if that is a cost at one.
std::string price_remark(const PlanAnswer& answer) {
  const bool is_cost = answer.space.request.settings.goal == PlanGoal::cost;
  return is_cost && has_assumed_price(answer, *answer.best) ? " (assumed price)" : "";
}

}  // namespace

std::string goal_figure_in_words(const PlanAnswer& answer) {
  const PlanSpace& space = answer.space;
  const std::string figure = goal_words(space.request.settings.goal).figure + price_remark(answer);
  return space.randomness ? quantile_in_words(space) + " of the " + figure : figure;
}

bool has_own_figure(const PlanSpace& space) {
  return space.randomness || space.request.settings.goal != PlanGoal::time;
}

std::string goal_figure_head(const PlanAnswer& answer) {
  const PlanSpace& space = answer.space;
  return (space.randomness ? quantile_in_words(space) : goal_words(space.request.settings.goal).head) +
         price_remark(answer);
}

bool has_assumed_price(const PlanAnswer& answer, std::size_t row) {
  return figure_if_stored(answer.result, answer.result.rows[row], assumed_rent_figure).has_value();
}

std::string price_in_words(const PlanAnswer& answer, std::size_t row) {
  return fmt::format("{} USD per node and hour{}", rounded(node_price(answer, row)),
                     has_assumed_price(answer, row) ? " (assumed)" : "");
}

std::string assumed_prices_in_words(const PlanAnswer& answer) {
  std::vector<std::string> machines;
  for (const std::optional<std::size_t>& row : answer.best_of_group) {
    if (!row || !has_assumed_price(answer, *row)) continue;
    const std::string& machine = group_of_row(answer, *row).platform;
    if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(machine);
  }
  return machines.empty() ? std::string()
                          : fmt::format("assumed prices: {}; --price {}=USD sets one",
                                        fmt::join(machines, ", "), machines.front());
}

std::string turn_in_words(const PlanAnswer& answer) {
  if (!answer.turn) return {};
  const PriceTurn& turn = *answer.turn;
  const std::string& other = group_of_row(answer, turn.other).platform;
  return fmt::format(
      "{0} is cheaper if a node of it costs less than {1} USD per hour (now {2}), or one of "
      "{3} more than {4} USD",
      other, rounded(turn.other_turns_usd), price_in_words(answer, turn.other),
      group_of_row(answer, *answer.best).platform, rounded(turn.best_turns_usd));
}

std::string goal_in_words(const PlanAnswer& answer, double value) {
  constexpr double million = 1e6;
  return answer.space.request.settings.goal == PlanGoal::cost
             ? rounded(million * goal_figure(answer, value)) + " USD"
             : searched_in_words(answer.space, value);
}

double excess_of(const PlanAnswer& answer, std::size_t row) {
  return compared_value(answer, row) / compared_value(answer, *answer.best) - 1;
}

double power_excess_of(const PlanAnswer& answer, std::size_t row) {
  return plan_figure(answer, row, "average_power_w") / plan_figure(answer, *answer.best, "average_power_w") -
         1;
}

std::string searched_in_words(const PlanSpace& space, double value) {
  return space.request.settings.goal == PlanGoal::energy ? estimate(Joules{value}) : estimate(Seconds{value});
}

namespace {

/// What the draws vary.
std::string draws_in_words(const PlanAnswer& answer, std::size_t group) {
  const PlanRandomness& randomness = *answer.space.randomness;
  const CommonError& common = randomness.common[group];
  const std::string error =
      randomness.errors_unknown.empty()
          ? fmt::format(
                "the error of the prediction ({:.0f} % of its variance is common to all layouts, as in "
                "{} published runs)",
                100 * common.share, common.runs)
          : fmt::format("not the error of the prediction, which is unknown ({})", randomness.errors_unknown);
  const WaitedGpus& waited = randomness.draws.speeds(group).waited;
  const std::string speed = waited.variation > 0
                                ? fmt::format("the slowest of {} GPUs, whose speeds vary by {:.3g} %",
                                              grouped(waited.gpus), 100 * waited.variation)
                                : std::string("not the speeds of GPUs, which count as equal");
  return error + "; " + speed;
}

/// How often the best plan is the best, and what the best as predicted loses.
std::string shares_in_words(const PlanAnswer& answer) {
  const PlanSpace& space = answer.space;
  const PlanRobustness& robust = *answer.robustness;
  const std::size_t best = *answer.best;
  const char* const word =
      space.request.settings.goal == PlanGoal::energy ? "needs least energy" : "is the fastest";
  std::string text = fmt::format("the plan {} of {} simulated layouts in {} of the draws", word,
                                 answer.others.size() + 1, percent(robust.fastest_shares[best]));
  const std::size_t other = robust.nominal.value_or(best);
  const char* const among = space.request.settings.gap > 0 ? " among the simulated ones" : "";
  if (other == best) return text + ", and as predicted" + among;
  return text + fmt::format(
                    "; as predicted{}, {} {} ({}), but its {} is {} ({}), and in {} of the draws it {} than "
                    "the plan",
                    among, plan_layout_in_words(space, answer.result.rows[other].point), word,
                    searched_in_words(space, plan_figure(answer, other, searched_figure(space))),
                    quantile_in_words(space), searched_in_words(space, robust.quantiles[other]),
                    signed_percent(robust.quantiles[other] / robust.quantiles[best] - 1),
                    percent(robust.ahead_shares[other]),
                    space.request.settings.goal == PlanGoal::energy ? "needs less" : "is faster");
}

}  // namespace

std::vector<doc::Labelled> robustness_in_words(const PlanAnswer& answer) {
  if (!answer.robustness || !answer.best) return {};
  const PlanSpace& space = answer.space;
  const PlanSettings& settings = space.request.settings;
  const double quantile = answer.robustness->quantiles[*answer.best];
  const double above = quantile / plan_figure(answer, *answer.best, searched_figure(space)) - 1;
  return {{quantile_in_words(space),
           fmt::format("{}: in {:.4g} % of {} draws a step {} at most that, {} on the prediction",
                       searched_in_words(space, quantile), 100 * *settings.quantile, grouped(settings.draws),
                       settings.goal == PlanGoal::energy ? "needs" : "takes", signed_percent(above))},
          {"drawn", draws_in_words(answer, space.bounds[answer.result.rows[*answer.best].point].group)},
          {"robust", shares_in_words(answer)}};
}

std::string listed_in_words(const PlanAnswer& answer) {
  const GroupSearch& search =
      answer.searches[answer.space.bounds[answer.result.rows[*answer.best].point].group];
  const bool are_two_proved = search.second && (!search.least_open || *search.least_open >= *search.second);
  return are_two_proved ? "the best two of all, then others that were simulated"
                        : "the best of those that were simulated";
}

LayoutCounts layout_counts(const PlanAnswer& answer) {
  LayoutCounts counts;
  std::map<std::string, std::size_t> impossible;
  for (std::size_t i = 0; i < answer.space.groups.size(); ++i) {
    const PlanGroup& group = answer.space.groups[i];
    const GroupSearch& search = answer.searches[i];
    counts.all += group.layouts;
    counts.too_large += group.too_large;
    counts.bounded += search.bounded;
    counts.simulated += search.simulated;
    counts.failed += search.failed;
    counts.left += search.left;
    counts.gap = std::max(counts.gap, gap_of(search));
    for (const auto& [reason, number] : group.impossible) {
      impossible[reason] += number;
      counts.impossible += number;
    }
  }
  const auto failed = std::ranges::find_if(
      answer.result.rows, [](const SweepRow& row) { return row.status != PointStatus::done; });
  if (failed != answer.result.rows.end()) counts.first_error = failed->reason;
  for (const auto& [reason, number] : impossible) counts.reasons.emplace_back(number, reason);
  std::ranges::stable_sort(counts.reasons, std::greater{}, &std::pair<std::size_t, std::string>::first);
  return counts;
}

std::string counts_in_words(const LayoutCounts& counts) {
  std::string text = fmt::format(
      "{} in all: {} do not fit into memory, {} are impossible, {} cannot be better (a lower bound says so), "
      "{} were simulated",
      counted(counts.all), counted(counts.too_large), counted(counts.impossible), counted(counts.bounded),
      counted(counts.simulated));
  if (counts.failed > 0)
    text += fmt::format(", {} of them with an error (the first: {})", counts.failed, counts.first_error);
  if (counts.left > 0) text += fmt::format("; {} are left", counted(counts.left));
  return text;
}

std::string proof_in_words(const LayoutCounts& counts) {
  if (counts.failed > 0 && counts.failed == counts.simulated)
    return "none: every simulation ended with an error";
  if (counts.gap == 0)
    return fmt::format(
        "the best of the space: every other layout{} was simulated, or a lower bound says that it is not "
        "better",
        counts.failed > 0 ? ", but those that ended with an error," : "");
  if (counts.gap == 1) return "none: the search ended before a layout of every group was simulated";
  return fmt::format(
      "within {} of the best of the space, by the smallest lower bound of layouts not simulated",
      percent(counts.gap));
}

PlanBinds plan_binds(const Run& best) {
  const StepParts parts = step_parts(best);
  const auto share = [&](StepPart part) {
    const auto found = std::ranges::find(parts.parts, part, &PartTime::part);
    return found == parts.parts.end() ? 0.0 : found->time / best.pace.time;
  };
  PlanBinds binds;
  if (best.memory) binds.memory = fullest(*best.memory).utilization;
  if (pipeline_stages(best.experiment) > 1) binds.bubble = share(StepPart::bubble);
  binds.layers = share(StepPart::layers);
  binds.messages = share(StepPart::messages);
  binds.data = share(StepPart::communication);
  return binds;
}

std::vector<doc::Labelled> binds_in_words(const PlanAnswer& answer, const Run& best) {
  const PlanBinds binds = plan_binds(best);
  std::vector<doc::Labelled> texts;
  if (best.memory)
    texts.push_back({"memory", memory_in_words(group_of_row(answer, *answer.best), fullest(*best.memory))});
  if (binds.bubble)
    texts.push_back({"bubble", "waiting for other stages takes " + share_of_step(*binds.bubble)});
  if (best.ranks > 1) texts.push_back({"network", network_in_words(binds)});
  return texts;
}

std::string loss_in_words(const Comparison& comparison) {
  std::string text;
  for (const PartChange& change : part_changes(comparison))
    text +=
        fmt::format("{}{} of {}", text.empty() ? "" : ", ", with_sign(estimate(change.time)), change.what);
  return text;
}

CellValue cell_value(const PlanAnswer& answer, const LayoutCell& cell) {
  if (!cell.value) return {.value = cell.bound.value_or(0), .is_bound = true};
  const double best = compared_value(answer, *answer.best);
  if (!cell.bound || *cell.value <= std::max(*cell.bound, best)) return {.value = *cell.value};
  return {.value = *cell.bound, .is_bound = true};
}

const LayoutCell* cell_at(const PlanAnswer& answer, PlanPlace place) {
  const auto cell = std::ranges::find_if(answer.cells, [&](const LayoutCell& its) {
    return its.tensor == place.tensor && its.pipeline == place.pipeline && (its.value || its.bound);
  });
  return cell == answer.cells.end() ? nullptr : &*cell;
}

const EmptyPlace& empty_place(const PlanAnswer& answer, PlanPlace place) {
  static constexpr EmptyPlace impossible{"-", "none is possible", "no layout is possible here"};
  static constexpr EmptyPlace full{"full", "none fits into memory",
                                   "layouts are possible here, but none fits into memory"};
  static constexpr EmptyPlace failed{"failed", "every simulation ended with an error",
                                     "every simulation of a layout here ended with an error"};
  if (std::ranges::find(answer.full, place) != answer.full.end()) return full;
  const bool was_tried = std::ranges::any_of(answer.cells, [&](const LayoutCell& its) {
    return PlanPlace{its.tensor, its.pipeline} == place;
  });
  return was_tried ? failed : impossible;
}

PlanMap plan_map(const PlanAnswer& answer) {
  PlanMap map;
  const auto add = [&](int tensor, int pipeline) {
    map.tensors.insert(tensor);
    map.stages.insert(pipeline);
  };
  for (const LayoutCell& cell : answer.cells) add(cell.tensor, cell.pipeline);
  for (const PlanPlace& place : answer.full) add(place.tensor, place.pipeline);
  for (const int tensor : map.tensors) {
    for (const int stage : map.stages) {
      if (cell_at(answer, {tensor, stage}) != nullptr) continue;
      const EmptyPlace* const empty = &empty_place(answer, {tensor, stage});
      if (std::ranges::find(map.empty, empty) == map.empty.end()) map.empty.push_back(empty);
    }
  }
  std::ranges::sort(map.empty, {}, [](const EmptyPlace* one) { return std::string_view(one->word); });
  return map;
}

std::string change_in_words(const PlanAnswer& answer, const PlanChange& change) {
  if (!change.layout) return "nothing fits";
  const std::string best =
      change.is_same
          ? std::string("the same layout is the best")
          : "the best is " + plan_layout_in_words(*change.layout, group_of_row(answer, *answer.best).gpus);
  return fmt::format("{}, step {} ({})", best, estimate(Seconds{change.step_s}),
                     signed_percent(change.step_s / plan_figure(answer, *answer.best, "step_time_s") - 1));
}

std::string plan_errors_in_words(const PlanAnswer& answer, const Run* best, std::string_view of_each) {
  const std::string errors = expected_errors_in_words(answer.result, of_each);
  const bool rests_on_assumed = best != nullptr && best->assumed;
  return errors.empty() || !rests_on_assumed ? errors
                                             : errors + "; assumed inputs widen that of the best plan alone";
}

}  // namespace trainyard
