// The search of a plan against the simulation of every point.

#include "plan/plan_answer.hpp"
#include "plan/run_plan.hpp"
#include "plan/small_plans.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "sanitized.hpp"
#include "sweep/point_figures.hpp"
#include "sweep/read_point.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>
#include <map>

namespace trainyard {
namespace {

using testing::request_for;
using testing::searched;
using testing::shipped;
using testing::shipped_files;
using testing::small_models;
using testing::space_of;

PlanRequest small_request() {
  PlanRequest request = request_for("dgx1v", small_models().front(), "4,8", {"none", "optimizer"});
  request.settings.over.front() = {"batch_per_gpu", {"1", "2"}};
  return request;
}

/// That of small_request(), and its search.
const PlanSpace& small_space() {
  static const PlanSpace space = space_of(small_request());
  return space;
}
const PlanOutcome& small_outcome() {
  static const PlanOutcome outcome = searched(small_space());
  return outcome;
}

/// The goal's figure of every point.
std::vector<double> values_of_all(const PlanSpace& space, PlanGoal goal) {
  const auto make = [&](int point) {
    const auto& keys = space.sweep.points[static_cast<std::size_t>(point)];
    const Run run = simulate(read_point(shipped(), space.sweep, keys, shipped_files()),
                             {.timeline = false, .rows = false});
    return packed({goal == PlanGoal::time ? run.pace.time.si() : run.energy->per_step.si()});
  };
  std::vector<double> values;
  for (const std::string& value : in_children(static_cast<int>(space.sweep.points.size()), 2, make))
    values.push_back(unpacked(value).front());
  return values;
}

/// The search against all points; the number of simulations that each of them takes is added.
void check_search(const PlanSpace& space, PlanGoal goal, std::size_t& simulated, std::size_t& points) {
  const PlanOutcome outcome = searched(space);
  const std::vector<double> values = values_of_all(space, goal);
  std::vector<std::vector<double>> values_of_group(space.groups.size());
  for (std::size_t point = 0; point < values.size(); ++point) {
    const PointBound& bound = outcome.bounds[point];
    CHECK((goal == PlanGoal::time ? bound.step_s : bound.energy_j.value()) <= values[point] * (1 + 1e-9));
    values_of_group[bound.group].push_back(values[point]);
  }
  REQUIRE(outcome.searches.size() == values_of_group.size());
  for (std::size_t group = 0; group < values_of_group.size(); ++group) {
    std::ranges::sort(values_of_group[group]);
    const GroupSearch& search = outcome.searches[group];
    CHECK(search.value == values_of_group[group].at(0));
    if (values_of_group[group].size() > 1)
      CHECK(search.second == values_of_group[group].at(1));
    else
      CHECK(!search.second);
    CHECK(gap_of(search) == 0);
    simulated += search.simulated;
    const PlanGroup& its = space.groups[group];
    std::size_t impossible = 0;
    for (const auto& [reason, number] : its.impossible) impossible += number;
    CHECK(its.layouts == its.too_large + impossible + search.simulated + search.bounded + search.left);
  }
  points += space.sweep.points.size();
}

TEST_CASE(
    "The search finds the best two of every group that simulating all layouts finds, with fewer "
    "simulations" *
    doctest::skip(testing::is_sanitized)) {
  std::size_t simulated = 0;
  std::size_t points = 0;
  check_search(small_space(), PlanGoal::time, simulated, points);
  for (const std::string platform : {"dgx1v", "dgx_a100", "ac922"}) {
    const bool has_two_nodes = platform == "ac922";
    const std::vector<std::string> shards =
        has_two_nodes ? std::vector<std::string>{"none"} : std::vector<std::string>{"none", "optimizer"};
    PlanGoal goal = PlanGoal::time;
    for (const Overrides& model : small_models()) {
      PlanRequest request = request_for(platform, model, has_two_nodes ? "8" : "4", shards);
      request.settings.goal = goal;
      CAPTURE(platform);
      CAPTURE(model.front().second);
      check_search(space_of(std::move(request)), goal, simulated, points);
      goal = goal == PlanGoal::time ? PlanGoal::energy : PlanGoal::time;
    }
  }
  CHECK(simulated < 0.6 * static_cast<double>(points));
}

TEST_CASE("Number of processes and points already in the store do not change what is simulated") {
  const PlanSpace& space = small_space();
  const PlanOutcome& one = small_outcome();
  SweepStore store(stored_plan(space));
  for (std::size_t i = 0; i < one.result.rows.size(); i += 2) store.add(one.result.rows[i], {});
  const PlanOutcome resumed = search_plan(shipped(), space, all_points(space), store, {.parallel = 3});
  REQUIRE(resumed.result.rows.size() == one.result.rows.size());
  for (std::size_t i = 0; i < one.result.rows.size(); ++i) {
    CHECK(resumed.result.rows[i].point == one.result.rows[i].point);
    CHECK(resumed.result.rows[i].figures == one.result.rows[i].figures);
  }
}

TEST_CASE(
    "The steps of a search end where the best meets the bound, and are the same of a continued search") {
  const PlanSpace& space = small_space();
  const PlanOutcome& one = small_outcome();
  SweepStore store(stored_plan(space));
  for (std::size_t i = 1; i < one.result.rows.size(); i += 2) store.add(one.result.rows[i], {});
  const PlanOutcome resumed = search_plan(shipped(), space, all_points(space), store, {.parallel = 2});
  for (std::size_t group = 0; group < one.searches.size(); ++group) {
    const GroupSearch& search = one.searches[group];
    const auto is_valued = [](const SearchStep& step) { return step.value.has_value(); };
    REQUIRE(static_cast<std::size_t>(std::ranges::count_if(search.steps, is_valued)) == search.simulated);
    CHECK(search.steps.size() > search.simulated);  // some were planned and left out
    REQUIRE(resumed.searches[group].steps.size() == search.steps.size());
    double best = std::numeric_limits<double>::infinity();
    double bound = 0;
    for (std::size_t i = 0; i < search.steps.size(); ++i) {
      const SearchStep& step = search.steps[i];
      best = std::min(best, step.value.value_or(best));
      CHECK(step.best == best);
      CHECK(space.bounds[step.point].step_s >= bound);
      CHECK(step.least_open.value_or(best) >= std::min(best, space.bounds[step.point].step_s));
      bound = space.bounds[step.point].step_s;
      CHECK(resumed.searches[group].steps[i].point == step.point);
      CHECK(resumed.searches[group].steps[i].least_open == step.least_open);
    }
    CHECK(search.steps.back().best == search.value);
    CHECK(search.steps.back().least_open.value_or(search.value) >= search.value);
  }
}

TEST_CASE("The best of a machine that is a little different is that of a search from scratch") {
  PlanRequest request = request_for("ac922", small_models().front(), "8", {"none", "optimizer"});
  const auto memory_of_best = [](const PlanSpace& space) {
    const PlanOutcome outcome = searched(space);
    return space.bounds[outcome.searches.front().best.value()].memory;
  };
  // The best just fits, so that with a tenth less of the memory another one is.
  request.settings.memory_headroom = 1 - 1.01 * memory_of_best(space_of(request));
  const PlanSpace space = space_of(request);
  const std::vector<PlanChange> changes =
      plan_changes(shipped(), plan_answer(space, searched(space)), {.parallel = 2});
  REQUIRE(changes.size() == 2);
  const PlanRun interrupted{.parallel = 2, .is_interrupted = [] { return true; }};
  CHECK(plan_changes(shipped(), plan_answer(space, searched(space)), interrupted).empty());

  PlanRequest slower = request;
  const auto job = read_point(shipped(), space.sweep, space.sweep.points.front(), shipped_files());
  slower.set.emplace_back("platform.fabric.nic", exact(0.9 * job.platform.fabric.nic.value));
  PlanRequest smaller = request;
  smaller.settings.memory_headroom = 1 - 0.9 * (1 - request.settings.memory_headroom);
  const PlanRequest requests[] = {slower, smaller};
  for (std::size_t i = 0; i < 2; ++i) {
    CAPTURE(changes[i].change);
    const PlanSpace other = space_of(requests[i]);
    const PlanOutcome outcome = searched(other);
    const GroupSearch& search = outcome.searches.front();
    CHECK(changes[i].step_s == search.value);
    CHECK(changes[i].layout.value().parallelism == other.layouts[search.best.value()].parallelism);
    CHECK(changes[i].is_same == (i == 0));
  }
}

TEST_CASE("With a gap the search ends earlier, and its answer is within the gap") {
  const PlanOutcome& exact = small_outcome();
  PlanRequest request = small_request();
  request.settings.gap = 0.3;
  const PlanOutcome quick = searched(space_of(request));
  for (std::size_t group = 0; group < exact.searches.size(); ++group) {
    CHECK(quick.searches[group].simulated <= exact.searches[group].simulated);
    CHECK(gap_of(quick.searches[group]) <= 0.3);
    CHECK(exact.searches[group].value >= quick.searches[group].value * (1 - gap_of(quick.searches[group])));
  }
}

TEST_CASE("An interrupted search says how far the best so far may be off") {
  const PlanSpace& space = small_space();
  PlanSearch search(space, all_points(space));
  const std::vector<std::size_t> wave = search.next_wave();
  const SweepResult& all = small_outcome().result;
  SweepRow row = *std::ranges::find(all.rows, wave.front(), &SweepRow::point);
  const auto step = std::ranges::find(all.figures, "step_time_s") - all.figures.begin();
  row.figures[static_cast<std::size_t>(step)] = 10.0;  // seconds: slower than any bound
  search.add(all, row);
  search.stop();
  const GroupSearch& group = search.groups()[space.bounds[wave.front()].group];
  CHECK(group.best == wave.front());
  CHECK(group.simulated == 1);
  CHECK(group.left + 1 == static_cast<std::size_t>(std::ranges::count(
                              space.bounds, space.bounds[wave.front()].group, &PointBound::group)));
  CHECK(gap_of(group) == 1 - group.least_open.value() / 10);
}

/// The searched value of every point, from simulations of its own.
std::vector<double> quantiles_of_all(const PlanSpace& space) {
  const auto make = [&](int number) {
    const auto point = static_cast<std::size_t>(number / 2);
    ResolvedExperiment job = read_point(shipped(), space.sweep, space.sweep.points[point], shipped_files());
    if (number % 2 == 1) {
      const std::size_t group = space.bounds[point].group;
      CHECK(job.stack.slowest_gpu == space.randomness->draws.speeds(group).nominal);
      job.stack.slowest_gpu = space.randomness->draws.speeds(group).slow();
    }
    const Run run = simulate(std::move(job), {.timeline = false, .rows = false});
    const ErrorSpread error = run.expected_error ? error_spread(*run.expected_error) : ErrorSpread{};
    return packed({run.pace.time.si(), error.centre, error.sd});
  };
  std::vector<std::vector<double>> runs;
  for (const std::string& run : in_children(static_cast<int>(2 * space.bounds.size()), 2, make))
    runs.push_back(unpacked(run));
  std::vector<double> values;
  for (std::size_t point = 0; point < space.bounds.size(); ++point) {
    const std::vector<double>& nominal = runs[2 * point];
    CHECK(space.randomness->errors[point].centre == nominal[1]);
    CHECK(space.randomness->errors[point].sd == nominal[2]);
    values.push_back(space.randomness->draws.quantile_of(
        space.bounds[point].group,
        {.nominal = nominal[0], .slow = runs[2 * point + 1][0], .error = {nominal[1], nominal[2]}}));
  }
  return values;
}

PlanRequest robust_request() {
  PlanRequest request = small_request();
  request.set.emplace_back("random.gpus", "slowest");
  request.settings.quantile = 0.9;
  return request;
}

TEST_CASE(
    "The search for a quantile finds the best two that simulating all layouts finds, with fewer "
    "simulations") {
  const PlanSpace space = space_of(robust_request());
  REQUIRE(space.randomness->draws.speeds(0).waited.variation > 0);
  const PlanOutcome outcome = searched(space);
  const std::vector<double> values = quantiles_of_all(space);
  for (std::size_t group = 0; group < space.groups.size(); ++group) {
    std::vector<double> its;
    for (std::size_t point = 0; point < values.size(); ++point) {
      if (space.bounds[point].group != group) continue;
      CHECK(least_factor(space, point) * outcome.bounds[point].step_s <= values[point] * (1 + 1e-9));
      its.push_back(values[point]);
    }
    std::ranges::sort(its);
    const GroupSearch& search = outcome.searches[group];
    CHECK(search.value == its.at(0));
    CHECK(search.second == its.at(1));
    CHECK(gap_of(search) == 0);
    CHECK(search.simulated < its.size());
  }
}

TEST_CASE("Between a usual and a slow slowest GPU a step lies at most a thousandth below its line") {
  PlanRequest request = robust_request();
  request.settings.gpus = "8";
  const PlanSpace space = space_of(request);
  const GroupSpeeds& speeds = space.randomness->draws.speeds(0);
  const double slowest[] = {speeds.nominal, (speeds.nominal + speeds.slow()) / 2, speeds.slow()};
  const auto make = [&](int number) {
    const auto point = static_cast<std::size_t>(number / 3);
    ResolvedExperiment job = read_point(shipped(), space.sweep, space.sweep.points[point], shipped_files());
    job.stack.slowest_gpu = slowest[number % 3];
    return packed({simulate(std::move(job), {.timeline = false, .rows = false}).pace.time.si()});
  };
  std::vector<double> steps;
  for (const std::string& one : in_children(static_cast<int>(3 * space.bounds.size()), 2, make))
    steps.push_back(unpacked(one).front());
  for (std::size_t i = 0; i < steps.size(); i += 3) {
    CHECK(steps[i + 2] > steps[i]);
    CHECK((steps[i] + steps[i + 2]) / 2 / steps[i + 1] - 1 == doctest::Approx(0).epsilon(0.001));
  }
}

TEST_CASE("The answer of a quantile keeps to a deadline at that quantile, and counts draws once" *
          doctest::skip(testing::is_sanitized)) {
  PlanRequest request = robust_request();
  request.settings.gpus = "8";
  request.set.emplace_back("job.steps", "1000");
  const auto answer_for = [](PlanRequest asked) {
    PlanSpace space = space_of(std::move(asked));
    PlanOutcome outcome = searched(space, 2);
    return plan_answer(std::move(space), std::move(outcome));
  };
  const PlanAnswer answer = answer_for(request);
  const double predicted = answer.costs[answer.best.value()].time_s;
  double shares = 0;
  for (const double share : answer.robustness->fastest_shares) shares += share;
  CHECK(shares == doctest::Approx(1));
  CHECK(answer.robustness->quantiles[*answer.best] == answer.searches.front().value);
  request.settings.deadline = Seconds{predicted * 1.001};
  CHECK(!answer_for(request).best);
}

TEST_CASE("Without known errors the speeds of GPUs vary alone; a quantile of nothing is refused") {
  PlanRequest request = request_for("dgx1v", {{"model", "alexnet"}}, "8", {"none", "optimizer"});
  request.settings.quantile = 0.9;
  CHECK_THROWS_AS(space_of(request), InputError);  // equal GPUs, as with ideal software
  request.set.emplace_back("random.gpus", "slowest");
  const PlanSpace space = space_of(request);
  CHECK(!space.randomness->errors_unknown.empty());
  CHECK(space.randomness->errors.front().sd == 0);
}

TEST_CASE("A search that is interrupted before its first point keeps nothing") {
  SweepStore store(stored_plan(small_space()));
  const PlanOutcome none = search_plan(shipped(), small_space(), all_points(small_space()), store,
                                       {.parallel = 1, .is_interrupted = [] { return true; }});
  CHECK(none.is_interrupted);
  CHECK(none.result.rows.empty());
  CHECK(none.searches.front().left > 0);
  CHECK(gap_of(none.searches.front()) == 1);  // nothing is proved
}

TEST_CASE("A search for a quantile that is interrupted answers with the best of all that was simulated") {
  PlanRequest request = small_request();
  request.set.emplace_back("random.gpus", "slowest");
  request.settings.quantile = 0.9;
  const PlanSpace space = space_of(request);
  SweepStore store(stored_plan(space));
  int asked = 0;
  const PlanOutcome outcome = search_plan(shipped(), space, all_points(space), store,
                                          {.parallel = 1, .is_interrupted = [&] { return ++asked > 3; }});
  CHECK(outcome.is_interrupted);
  const std::vector<SweepRow> rows = store.rows();
  CHECK(rows.size() > 1);
  CHECK(outcome.result.rows.size() == rows.size());
  for (const SweepRow& row : rows) {
    const std::size_t group = space.bounds[row.point].group;
    CHECK(outcome.searches[group].value <= searched_value(space, outcome.result, row).value());
  }
}

TEST_CASE("The fewest dollars need fewer GPUs than the least time, and a deadline forbids them") {
  PlanRequest request = small_request();
  request.settings.gpus = "8,16";
  request.settings.global_batch = 32;
  request.settings.over.front() = {"batch_per_gpu", {"1"}};
  request.set.emplace_back("platform.node.price.hour", "24 USD");
  request.set.emplace_back("job.steps", "1000");
  request.settings.goal = PlanGoal::cost;
  const auto answer_for = [](PlanRequest asked) {
    PlanSpace space = space_of(std::move(asked));
    PlanOutcome outcome = searched(space);
    return plan_answer(std::move(space), std::move(outcome));
  };
  const auto gpus = [](const PlanAnswer& answer) {
    return answer.space.groups[answer.space.bounds[answer.result.rows[answer.best.value()].point].group].gpus;
  };
  const PlanAnswer cheapest = answer_for(request);
  CHECK(cheapest.is_of_training);
  CHECK(gpus(cheapest) == 8);
  request.settings.deadline = Seconds{0.9 * cheapest.costs[*cheapest.best].time_s};
  CHECK(gpus(answer_for(request)) == 16);
  request.settings.deadline = Seconds{1e-3};
  CHECK(!answer_for(request).best);
}

TEST_CASE("A goal that needs what the machine does not state is refused") {
  PlanRequest request = small_request();
  request.settings.gpus = "8";
  request.settings.deadline = Seconds{60};  // of what?
  PlanSpace space = space_of(request);
  PlanOutcome outcome = searched(space);
  CHECK_THROWS_AS(plan_answer(std::move(space), std::move(outcome)), InputError);
}

TEST_CASE("Places of the map are full if layouts are possible there and all are larger than the memory") {
  PlanRequest request = small_request();
  request.settings.gpus = "8";
  std::map<PlanPlace, double> least;  // share of the memory
  const PlanSpace roomy = space_of(request);
  CHECK(roomy.groups[0].too_large_at.empty());
  for (std::size_t point = 0; point < roomy.bounds.size(); ++point) {
    const Parallelism& its = roomy.layouts[point].parallelism;
    const auto [known, is_new] = least.try_emplace({its.tensor, its.pipeline}, roomy.bounds[point].memory);
    known->second = std::min(known->second, roomy.bounds[point].memory);
  }
  const double most =
      std::ranges::max_element(least, {}, &std::pair<const PlanPlace, double>::second)->second;
  request.settings.memory_headroom = 1 - 0.999 * most;
  PlanSpace space = space_of(request);
  PlanOutcome outcome = searched(space, 2);
  const PlanAnswer answer = plan_answer(std::move(space), std::move(outcome));
  std::vector<PlanPlace> full;
  for (const auto& [place, memory] : least) {
    if (memory > 0.999 * most) full.push_back(place);
  }
  CHECK(full.size() < least.size());
  CHECK(answer.full == full);
  CHECK(answer.cells.size() + full.size() == least.size());
}

TEST_CASE("Numbers of GPUs are a number, a list, or a range that doubles") {
  CHECK(gpu_counts("64") == std::vector{64});
  CHECK(gpu_counts("8,24") == std::vector{8, 24});
  CHECK(gpu_counts("8..64") == std::vector{8, 16, 32, 64});
  CHECK(gpu_counts("8..32 step 8") == std::vector{8, 16, 24, 32});
  CHECK_THROWS_AS(gpu_counts("some"), InputError);
  CHECK_THROWS_AS(gpu_counts("0"), InputError);
}

TEST_CASE("Keys that a plan gives values itself, traces and other synchronisation are refused") {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"sync.kind", "parameter_server"}, {"trace", "t.csv"}}) {
    PlanRequest request = small_request();
    request.set.emplace_back(key, value);
    CHECK_THROWS_AS(space_of(request), InputError);
  }
  for (const char* const key : {"nodes", "gpus", "accumulation"}) {
    PlanRequest request = small_request();
    request.settings.over.emplace_back(key, std::vector<std::string>{"1", "2"});
    CHECK_THROWS_AS(space_of(request), InputError);
  }
  PlanRequest request = small_request();
  request.set.emplace_back("batch_per_gpu", "1");  // also varied
  CHECK_THROWS_AS(space_of(request), InputError);
}

}  // namespace
}  // namespace trainyard
