#include "sweep/learning_front.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* time_to_target = "time_to_target_s";
constexpr const char* time_of_update = "step_time_s";
constexpr const char* final_loss = "final_loss";
constexpr const char* end_of_learning = "learning_time_s";

std::vector<std::size_t> front_of(const SweepResult& result, const char* time) {
  if (!has_figure(result, final_loss)) return {};
  const bool knows_ends = has_figure(result, end_of_learning);
  struct Point {
    double time, loss, end;
    std::size_t row;
  };
  std::vector<Point> points;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const auto seconds = figure(result, result.rows[i], time);
    const auto loss = figure(result, result.rows[i], final_loss);
    const auto end = knows_ends ? figure(result, result.rows[i], end_of_learning) : std::nullopt;
    if (seconds && loss) points.push_back({*seconds, *loss, end.value_or(0), i});
  }
  // Sorted by time, every point stands after all that beat it, and equals stay in the order of the rows.
  std::ranges::stable_sort(points, {}, [](const Point& point) { return std::pair(point.time, point.loss); });
  const auto beats = [](const Point& one, const Point& other) {
    const bool is_as_good = one.time <= other.time && one.loss <= other.loss && one.end <= other.end;
    return is_as_good && (one.time < other.time || one.loss < other.loss || one.end < other.end);
  };
  std::vector<std::size_t> front;
  for (const Point& point : points) {
    if (std::ranges::none_of(points, [&](const Point& other) { return beats(other, point); }))
      front.push_back(point.row);
  }
  return front;
}

}  // namespace

bool has_target(const SweepResult& result) {
  return has_figure(result, time_to_target) && std::ranges::any_of(result.rows, [&](const SweepRow& row) {
           return figure(result, row, time_to_target).has_value();
         });
}

std::vector<std::size_t> learning_front(const SweepResult& result) {
  return front_of(result, has_target(result) ? time_to_target : time_of_update);
}

std::vector<std::size_t> error_runtime_front(const SweepResult& result) {
  return front_of(result, time_of_update);
}

}  // namespace trainyard
