#pragma once
// Sentences and figures about a plan that its text, its JSON and its page share.

#include "document/document.hpp"
#include "explain/comparison.hpp"
#include "plan/plan_answer.hpp"
#include "plan/run_plan.hpp"
#include "run/run.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// The keys that are set for all plans, on the command line or as usual software: "precision=bf16"; empty if
/// there are none. Model and machine are in the plan's name.
std::string changed_keys(const PlanSpace& space);

/// "fastest": the best plan by the goal.
std::string_view best_plan_word(PlanGoal goal);

/// What a goal counts in maps and tables of layouts.
struct GoalWords {
  const char* figure;  ///< "step time"
  const char* head;    ///< of a column: "step"
  const char* excess;  ///< of a column with what is above the best: "longer"
  const char* better;  ///< "faster"
  const char* has;     ///< of at least so much: "take"
};
const GoalWords& goal_words(PlanGoal goal);

/// "step time", "0.9 quantile of the rent of a million samples (assumed price)". Requires a best plan.
std::string goal_figure_in_words(const PlanAnswer& answer);
/// Whether that is another figure than the step as predicted.
bool has_own_figure(const PlanSpace& space);
/// The head of its column: "rent/M (assumed price)", "0.9 quantile". Requires a best plan.
std::string goal_figure_head(const PlanAnswer& answer);
/// The goal's figure of a searched_value() in the group of the best plan: "5.04 s", "12.3 kJ", and "267 USD"
/// of a million samples. Requires a best plan.
std::string goal_in_words(const PlanAnswer& answer, double value);
/// By what share compared_value() of a row is above the best plan's.
double excess_of(const PlanAnswer& answer, std::size_t row);
/// The same of the average power: energy is the step times it.
double power_excess_of(const PlanAnswer& answer, std::size_t row);

/// "tensor 4 with sequence x data 16; sharded parameters; 8 micro-batches of 4". Throws as make_grid().
std::string plan_layout_in_words(const PlanLayout& layout, int gpus);
std::string plan_layout_in_words(const PlanSpace& space, std::size_t point);

/// "16 GPUs", "16 GPUs, precision=fp16".
std::string group_in_words(const PlanSpace& space, const PlanGroup& group);
const PlanGroup& group_of_row(const PlanAnswer& answer, std::size_t row);

/// A figure of a row that was simulated; 0 if it has none of this name.
double plan_figure(const PlanAnswer& answer, std::size_t row, std::string_view name);

/// The costs of a training of known length, otherwise those of a million samples, and what they are of.
double costs_scale(const PlanAnswer& answer);
std::string costs_in_words(const PlanAnswer& answer);

/// Whether the price of a row's machine is assumed, and "24.4 USD per node and hour (assumed)", which the row
/// must have.
bool has_assumed_price(const PlanAnswer& answer, std::size_t row);
std::string price_in_words(const PlanAnswer& answer, std::size_t row);
/// The machines whose prices are assumed, in a sentence; empty if none is.
std::string assumed_prices_in_words(const PlanAnswer& answer);
/// At which prices the answer would be another; empty without PlanAnswer::turn.
std::string turn_in_words(const PlanAnswer& answer);

/// The layouts that may be as fast as the best within their expected errors, best first.
std::vector<std::size_t> ties_of(const PlanAnswer& answer);
/// Their number, and the next of them. Requires one.
std::string ties_in_words(const PlanAnswer& answer, const std::vector<std::size_t>& ties);

/// "0.9 quantile"; empty without one.
std::string quantile_in_words(const PlanSpace& space);
/// A searched figure, with its unit: "5.04 s".
std::string searched_in_words(const PlanSpace& space, double value);
/// The quantile of the best plan, what the draws vary, how often it is the best of them, and what the best
/// plan as predicted loses, if that is another. Nothing without a quantile or a best plan.
std::vector<doc::Labelled> robustness_in_words(const PlanAnswer& answer);

/// Which layouts of the best one's group a table of the next best has: "the best two of all, then ...".
std::string listed_in_words(const PlanAnswer& answer);

/// What became of all layouts, over the groups.
struct LayoutCounts {
  std::size_t all = 0, too_large = 0, impossible = 0, bounded = 0, simulated = 0, failed = 0, left = 0;
  double gap = 0;                                            ///< the largest of a group
  std::vector<std::pair<std::size_t, std::string>> reasons;  ///< why layouts are impossible, most first
  std::string first_error;                                   ///< of the simulations that failed
};
LayoutCounts layout_counts(const PlanAnswer& answer);
/// "2,600 in all: 544 do not fit into memory, ..."
std::string counts_in_words(const LayoutCounts& counts);
/// How far the best may be from the best of the space.
std::string proof_in_words(const LayoutCounts& counts);

/// What keeps the best plan from being faster, as shares.
struct PlanBinds {
  std::optional<double> memory;  ///< share of the fullest GPU's memory
  std::optional<double> bubble;  ///< share of the step; empty without stages
  /// Shares of the step in which no kernel runs: collectives of divided layers, messages between stages,
  /// gradients and parameters.
  double layers = 0, messages = 0, data = 0;
};
PlanBinds plan_binds(const Run& best);
/// Memory, bubble and network, each in a sentence.
std::vector<doc::Labelled> binds_in_words(const PlanAnswer& answer, const Run& best);

/// By what B's step is longer than A's: "+0.31 s of exposed communication, -0.05 s of bubble".
std::string loss_in_words(const Comparison& comparison);

/// What is known of the best layout of a cell, as searched_value().
struct CellValue {
  double value = 0;
  bool is_bound = false;  ///< no layout has less than that, but none with so little was simulated
};
CellValue cell_value(const PlanAnswer& answer, const LayoutCell& cell);
/// Null if no layout fits there or runs.
const LayoutCell* cell_at(const PlanAnswer& answer, PlanPlace place);

/// Why a place of the map has no cell_at().
struct EmptyPlace {
  const char* word;    ///< "full"
  const char* legend;  ///< "none fits into memory"
  const char* remark;  ///< the same in full
};
const EmptyPlace& empty_place(const PlanAnswer& answer, PlanPlace place);

/// The rows and columns of the map, and what is to be said of its empty places. Requires a best plan.
struct PlanMap {
  std::set<int> tensors, stages;
  std::vector<const EmptyPlace*> empty;  ///< each kind once
};
PlanMap plan_map(const PlanAnswer& answer);

/// "the same layout is the best, step 5.06 s (+0.4 %)". Requires a best plan.
std::string change_in_words(const PlanAnswer& answer, const PlanChange& change);

/// The widest expected error of the plan's simulated layouts; empty if none is known. `of_each`: what has
/// each.
std::string plan_errors_in_words(const PlanAnswer& answer, const Run* best, std::string_view of_each);

}  // namespace trainyard
