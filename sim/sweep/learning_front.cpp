#include "sweep/learning_front.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* time_to_target = "time_to_target_s";
constexpr const char* final_loss = "final_loss";

bool has_figure(const SweepResult& result, const char* name) {
  return std::ranges::find(result.figures, name) != result.figures.end();
}

}  // namespace

bool has_target(const SweepResult& result) {
  return has_figure(result, time_to_target) && std::ranges::any_of(result.rows, [&](const SweepRow& row) {
           return figure(result, row, time_to_target).has_value();
         });
}

std::vector<std::size_t> learning_front(const SweepResult& result) {
  if (!has_figure(result, final_loss)) return {};
  const char* const time = has_target(result) ? time_to_target : "step_time_s";
  std::vector<std::pair<std::pair<double, double>, std::size_t>> rows;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const auto seconds = figure(result, result.rows[i], time);
    const auto loss = figure(result, result.rows[i], final_loss);
    if (seconds && loss) rows.push_back({{*seconds, *loss}, i});
  }
  std::ranges::sort(rows);
  std::vector<std::size_t> front;
  std::pair<double, double> last;
  for (const auto& [values, row] : rows) {
    const bool is_equal = !front.empty() && values == last;
    if (!front.empty() && !is_equal && values.second >= last.second) continue;
    front.push_back(row);
    last = values;
  }
  return front;
}

}  // namespace trainyard
