// Why the next best layouts lose: each is compared with the best as `compare` does.

#include "document/json_text.hpp"
#include "explain/comparison.hpp"
#include "report/plan_report.hpp"
#include "report/summary_json.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "sweep/read_point.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard {

std::vector<Comparison> plan_losses(const config::Catalogue& catalogue, const PlanAnswer& answer,
                                    const PlanRun& run) {
  if (!answer.best || answer.others.empty()) return {};
  std::vector<std::size_t> rows{*answer.best};
  for (std::size_t i = 0; i < std::min(most_others, answer.others.size()); ++i)
    rows.push_back(answer.others[i]);
  const Sweep& sweep = answer.space.sweep;
  const auto simulated_summary = [&](int i) {
    InputFiles files;
    const std::size_t point = answer.result.rows[rows[static_cast<std::size_t>(i)]].point;
    return json_text(summary_json(
        simulate(read_point(catalogue, sweep, sweep.points[point], files), {.rows = false}), {}));
  };
  std::vector<RunSummary> runs;
  for (const std::string& text :
       in_children(static_cast<int>(rows.size()), run.parallel, simulated_summary, run.is_interrupted))
    runs.push_back(read_summary("plan", text));
  std::vector<Comparison> losses;
  for (std::size_t i = 1; i < runs.size(); ++i) losses.push_back(compare(runs.front(), runs[i]));
  return losses;
}

}  // namespace trainyard
