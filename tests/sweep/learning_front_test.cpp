#include "sweep/learning_front.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

SweepRow learnt(std::size_t point, std::optional<double> time, std::optional<double> loss) {
  return {.point = point, .status = PointStatus::done, .reason = {}, .figures = {1.0, time, loss}};
}

SweepResult learning_sweep(std::vector<SweepRow> rows) {
  SweepResult result;
  result.figures = {"step_time_s", "time_to_target_s", "final_loss"};
  result.rows = std::move(rows);
  return result;
}

}  // namespace

TEST_CASE("a point is on the front of learning unless another is as fast and as good and better in one") {
  const SweepResult result =
      learning_sweep({learnt(0, 20, 0.7), learnt(1, 10, 0.9), learnt(2, 15, 0.95), learnt(3, 20, 0.8),
                      learnt(4, 30, 0.7), learnt(5, {}, 0.1), learnt(6, 5, {}), learnt(7, 10, 0.9)});
  CHECK(has_target(result));
  CHECK(learning_front(result) == std::vector<std::size_t>{1, 7, 0});
}

TEST_CASE("without a target the time of an update takes its place") {
  SweepResult result = learning_sweep({learnt(0, {}, 0.7), learnt(1, {}, 0.9)});
  result.rows[1].figures[0] = 0.5;
  CHECK_FALSE(has_target(result));
  CHECK(learning_front(result) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("a sweep that does not learn has no front of learning") {
  SweepResult result;
  result.figures = {"step_time_s"};
  result.rows = {{.point = 0, .status = PointStatus::done, .reason = {}, .figures = {1.0}}};
  CHECK(learning_front(result).empty());
  CHECK_FALSE(has_target(result));
}

TEST_CASE("a loss that took longer does not beat one that was measured earlier") {
  SweepResult result = learning_sweep({learnt(0, 10, 0.9), learnt(1, 10, 0.7), learnt(2, 12, 0.95)});
  result.figures.emplace_back("learning_time_s");
  result.rows[0].figures.emplace_back(60);
  result.rows[1].figures.emplace_back(600);
  result.rows[2].figures.emplace_back(60);
  CHECK(learning_front(result) == std::vector<std::size_t>{1, 0});
  result.rows[1].figures.back() = 60;
  CHECK(learning_front(result) == std::vector<std::size_t>{1});
}
