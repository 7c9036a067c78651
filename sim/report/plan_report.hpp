#pragma once
// A plan for people, and as JSON in SI base units.

#include "plan/plan_answer.hpp"
#include "plan/run_plan.hpp"
#include "run/run.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// What a report of a plan has besides the answer.
struct PlanDetails {
  const Run* best = nullptr;  ///< the best plan, simulated again; null without one
  std::string command;        ///< that runs it
  std::vector<PlanChange> changes;
};

/// "tensor 4 with sequence x data 16; sharded parameters; 8 micro-batches of 4". Throws as make_grid().
std::string plan_layout_in_words(const PlanLayout& layout, int gpus);
std::string plan_layout_in_words(const PlanSpace& space, std::size_t point);

std::string plan_text(const PlanAnswer& answer, const PlanDetails& details, const PrintStyle& style = {});

/// {schema_version, plan, goal, best: {keys, figures ...}, groups: [...], pareto: [...], others: [...],
/// layouts: [...], search: {...}, changes: [...]}
nlohmann::ordered_json plan_json(const PlanAnswer& answer, const PlanDetails& details);

}  // namespace trainyard
