#include "sweep/job_points.hpp"

#include "errors_of.hpp"
#include "sweep/choice.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Sweep with_jobs_of(Sweep sweep) {
  InputFiles files;
  return with_jobs({{TRAINYARD_SOURCE_DIR}}, std::move(sweep), files);
}

Sweep sweep_of_steps() {
  Sweep sweep;
  sweep.experiment = "resnet50_dgx2";
  sweep.keys = {"nodes"};
  sweep.points = {{"1"}, {"2"}};
  return sweep;
}

}  // namespace

TEST_CASE("a sweep is of jobs if it sets or varies a key of them") {
  CHECK_FALSE(with_jobs_of(sweep_of_steps()).is_of_jobs);
  Sweep set = sweep_of_steps();
  set.set = {{"job.launch", "1 s"}};
  CHECK(with_jobs_of(set).is_of_jobs);
  Sweep varied = sweep_of_steps();
  varied.keys = {"job"};
  CHECK(with_jobs_of(varied).is_of_jobs);
  Sweep other = sweep_of_steps();
  other.keys = {"jobs"};
  CHECK_FALSE(with_jobs_of(other).is_of_jobs);
  Sweep missing = sweep_of_steps();
  missing.experiment = "no_such_experiment";
  CHECK_FALSE(with_jobs_of(missing).is_of_jobs);
}

TEST_CASE("a sweep learns if it sets or varies a key of learn") {
  CHECK_FALSE(with_jobs_of(sweep_of_steps()).has_learning);
  Sweep set = sweep_of_steps();
  set.set = {{"learn.rate.base", "0.1"}};
  CHECK(with_jobs_of(set).has_learning);
  CHECK_FALSE(with_jobs_of(set).is_of_jobs);
  Sweep varied = sweep_of_steps();
  varied.keys = {"learn.model"};
  CHECK(with_jobs_of(varied).has_learning);
}

TEST_CASE("the goal's epochs are those of the jobs") {
  Sweep sweep = sweep_of_steps();
  sweep.goal.epochs = 90;
  CHECK(with_jobs_of(sweep).set.empty());
  sweep.set = {{"job.launch", "1 s"}};
  CHECK(with_jobs_of(sweep).set.back() == std::pair<std::string, std::string>("job.epochs", "90"));
  sweep.set = {{"job.epochs", "3"}};
  CHECK(errors_of([&] { with_jobs_of(sweep); }).size() == 1);
  sweep.set = {{"job.steps", "3"}};
  CHECK(errors_of([&] { with_jobs_of(sweep); }).size() == 1);
  sweep.set.clear();
  sweep.keys = {"job.epochs"};
  CHECK(errors_of([&] { with_jobs_of(sweep); }).size() == 1);
}

TEST_CASE("the goal's target makes jobs of the points") {
  Sweep sweep = sweep_of_steps();
  sweep.goal.target = "75.9 % top-1";
  const Sweep made = with_jobs_of(sweep);
  CHECK(made.is_of_jobs);
  CHECK(made.is_of_targets);
  CHECK(made.set.back() == std::pair<std::string, std::string>("job.target", "75.9 % top-1"));
  for (const char* const key : {"job.epochs", "job.steps", "job.target"}) {
    Sweep twice = sweep;
    twice.set = {{key, "3"}};
    CHECK(errors_of([&] { with_jobs_of(twice); }).size() == 1);
  }
  Sweep set = sweep_of_steps();
  set.set = {{"job.target", "75.9 % top-1"}};
  CHECK(with_jobs_of(set).is_of_targets);
  CHECK_FALSE(with_jobs_of(sweep_of_steps()).is_of_targets);
}

TEST_CASE("the needs of a point are the totals of its job") {
  SweepResult result;
  result.sweep.is_of_jobs = true;
  result.sweep.goal.epochs = 90;
  result.figures = {"job_time_s", "job_energy_j", "job_cost_usd"};
  result.rows = {{.point = 0, .reason = {}, .figures = {100.0, 5.0, std::nullopt}},
                 {.point = 1, .status = PointStatus::impossible, .reason = "no room", .figures = {}}};
  const std::vector<Needs> needs = needs_of(result);
  CHECK(needs.at(0).time_s == 100);
  CHECK(needs.at(0).energy_j == 5);
  CHECK_FALSE(needs.at(0).cost_usd);
  CHECK_FALSE(needs.at(1).time_s);
}
