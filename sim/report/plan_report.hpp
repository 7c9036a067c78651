#pragma once
// A plan as JSON in SI base units and as a table; as a page: pages/plan_page.hpp.

#include "config/catalogue.hpp"
#include "explain/comparison.hpp"
#include "plan/plan_answer.hpp"
#include "plan/run_plan.hpp"
#include "run/run.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// The next best layouts that reports show.
inline constexpr std::size_t most_others = 8;

/// What a report of a plan has besides the answer.
struct PlanDetails {
  const Run* best = nullptr;  ///< the best plan, simulated again; null without one
  std::string command;        ///< that runs it
  std::vector<PlanChange> changes;
  std::vector<Comparison> losses;  ///< of the best plan with the first of PlanAnswer::others, in their order
};

/// The comparisons of the best plan with up to most_others others, each simulated again in a child process:
/// with the first ones, if it is interrupted.
std::vector<Comparison> plan_losses(const config::Catalogue& catalogue, const PlanAnswer& answer,
                                    const PlanRun& run);

/// The searched points as a table. With a quantile, also that of each.
std::string plan_csv(const PlanAnswer& answer);

/// {schema_version, plan, goal, best: {keys, figures ...}, binds: {...}, price_turn: {...}, others: [...],
/// pareto: [...], groups: [{..., progress: [...]}, ...], layouts: [...], too_large: [...], changes: [...]},
/// and with a quantile robustness: {quantile, draws, seed, ...}
nlohmann::ordered_json plan_json(const PlanAnswer& answer, const PlanDetails& details);

}  // namespace trainyard
