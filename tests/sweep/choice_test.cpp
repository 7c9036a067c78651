#include "sweep/choice.hpp"

#include "hand_made.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/scaling.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <set>

using namespace trainyard;

namespace {

using Indices = std::vector<std::size_t>;

/// Nothing for `unknown_digit`: a need that is not known.
constexpr int unknown_digit = 9;

/// A row whose needs for one epoch are small whole numbers: those that draws often make equal.
MadeRow row_needing(int time, int cost, int energy) {
  MadeRow row{.values = {"x"}, .throughput = 1};
  if (time == unknown_digit) return row;
  row.epoch = time;
  if (cost != unknown_digit) row.rent = 3600.0 * cost / time;
  if (energy != unknown_digit) row.power = static_cast<double>(energy) / time;
  return row;
}

double or_more(const std::optional<double>& need) { return need.value_or(1e9); }

/// No other row is as good in all and better in one: by the definition, for each pair.
Indices front_of(const std::vector<Needs>& needs, const Indices& allowed) {
  Indices front;
  for (const std::size_t row : allowed) {
    bool is_beaten = false;
    for (const std::size_t other : allowed) {
      const double time = or_more(needs[other].time_s) - or_more(needs[row].time_s);
      const double cost = or_more(needs[other].cost_usd) - or_more(needs[row].cost_usd);
      const double energy = or_more(needs[other].energy_j) - or_more(needs[row].energy_j);
      is_beaten |= time <= 0 && cost <= 0 && energy <= 0 && time + cost + energy < 0;
    }
    if (!is_beaten) front.push_back(row);
  }
  return front;
}

Choice chosen(const SweepResult& result) { return choose(result, needs_of(result)); }

}  // namespace

TEST_CASE(
    "points that learn are chosen by their time to the target, not by an epoch of the simulated model") {
  SweepResult result =
      made_result({"gpus"}, {{.values = {"1"}, .throughput = 10, .epoch = 1800, .rent = 3600, .power = 250},
                             {.values = {"2"}, .throughput = 20, .epoch = 900, .rent = 3600, .power = 250},
                             {.values = {"3"}, .throughput = 40, .epoch = 450, .rent = 3600}});
  result.sweep.has_learning = true;
  result.figures.insert(result.figures.end(), {"time_to_target_s", "to_target_interval_share"});
  const std::optional<double> times[] = {20, 30, std::nullopt};
  for (std::size_t i = 0; i < 3; ++i)
    result.rows[i].figures.insert(result.rows[i].figures.end(), {times[i], 0.5});
  CHECK(is_of_learners(result));
  const std::vector<Needs> needs = needs_of(result);
  CHECK(needs[0].time_s == 20);
  CHECK(needs[0].cost_usd == doctest::Approx(20));
  CHECK(needs[1].energy_j == doctest::Approx(250 * 30));
  CHECK_FALSE(needs[2].time_s);
  CHECK(chosen(result).fastest == 0);
  // a length of the training that is asked for goes before
  result.sweep.goal.epochs = 1;
  CHECK_FALSE(is_of_learners(result));
  CHECK(chosen(result).fastest == 2);
  result.sweep.goal.epochs.reset();
  // a target that no point reaches is no reason to choose by anything else
  for (SweepRow& row : result.rows) row.figures[row.figures.size() - 2].reset();
  CHECK(is_of_learners(result));
  CHECK_FALSE(chosen(result).fastest);
  for (SweepRow& row : result.rows) row.figures.back().reset();
  CHECK_FALSE(is_of_learners(result));
}

TEST_CASE("what a training needs is its epochs' time, their rent, and the energy of that time") {
  SweepResult result =
      made_result({"gpus"}, {{.values = {"1"}, .throughput = 10, .epoch = 1800, .rent = 4, .power = 250},
                             {.values = {"2"}, .throughput = 20, .epoch = 900},
                             {.values = {"3"}, .throughput = 20},
                             {.values = {"4"}, .status = PointStatus::impossible, .reason = "no room"}});
  result.sweep.goal.epochs = 2;
  const std::vector<Needs> needs = needs_of(result);
  REQUIRE(needs.size() == 4);
  CHECK(needs[0].time_s == 3600);
  CHECK(needs[0].cost_usd == 4);
  CHECK(needs[0].energy_j == 900'000);
  CHECK(needs[1].time_s == 1800);
  CHECK_FALSE(needs[1].cost_usd);
  CHECK_FALSE(needs[1].energy_j);
  CHECK_FALSE(needs[2].time_s);
  CHECK_FALSE(needs[3].time_s);
}

TEST_CASE("where faults undo work a training takes as much longer, and costs as much more") {
  SweepResult result =
      made_result({}, {{.values = {}, .throughput = 100, .epoch = 3600, .rent = 2, .power = 10}});
  result.rows[0].figures.back() = 80;  // goodput
  const Needs needs = needs_of(result).front();
  CHECK(*needs.time_s == doctest::Approx(4500));
  CHECK(*needs.cost_usd == doctest::Approx(2.5));
  CHECK(*needs.energy_j == doctest::Approx(45'000));
}

namespace {

void add_figure(SweepResult& result, const char* name, const std::vector<std::optional<double>>& values) {
  result.figures.emplace_back(name);
  for (std::size_t i = 0; i < values.size(); ++i) result.rows[i].figures.push_back(values[i]);
}

}  // namespace

TEST_CASE("the interval of a time has the error of the throughput, start-up has none") {
  SweepResult result = made_result({}, {{.values = {}, .throughput = 100, .epoch = 1000}});
  CHECK_FALSE(needs_of(result)[0].time_range);  // an older store
  add_figure(result, "throughput_low_samples_per_s", {80});
  add_figure(result, "throughput_high_samples_per_s", {125});
  CHECK(needs_of(result)[0].time_range->low_s == doctest::Approx(800));
  CHECK(needs_of(result)[0].time_range->high_s == doctest::Approx(1250));
  result.sweep.is_of_jobs = true;
  for (const auto& [name, value] : {std::pair("job_time_s", 1500), std::pair("job_epochs_time_s", 1000)})
    add_figure(result, name, {value});
  add_figure(result, "job_energy_j", {std::nullopt});
  add_figure(result, "job_cost_usd", {std::nullopt});
  CHECK(needs_of(result)[0].time_range->low_s == doctest::Approx(1300));
  CHECK(needs_of(result)[0].time_range->high_s == doctest::Approx(1750));
  result.sweep.is_of_targets = true;
  add_figure(result, "time_to_target_s", {1000});
  add_figure(result, "time_to_target_low_s", {700});
  add_figure(result, "time_to_target_high_s", {1600});
  CHECK(needs_of(result)[0].time_range->low_s == 1200);
  CHECK(needs_of(result)[0].time_range->high_s == 2100);
}

TEST_CASE("a worse accuracy is no reason to leave the front, and may be a limit") {
  SweepResult result = made_result({"batch"}, {{.values = {"1"}, .throughput = 1},
                                               {.values = {"2"}, .throughput = 1},
                                               {.values = {"3"}, .throughput = 1}});
  result.sweep.is_of_jobs = true;
  add_figure(result, "job_time_s", {300, 200, 250});
  add_figure(result, "job_energy_j", {3, 2, 2});
  add_figure(result, "job_cost_usd", {std::nullopt, std::nullopt, std::nullopt});
  add_figure(result, "expected_accuracy", {0.76, 0.72, 0.71});
  add_figure(result, "expected_accuracy_low", {0.75, 0.7, 0.69});
  add_figure(result, "expected_accuracy_high", {0.77, 0.74, 0.73});
  add_figure(result, "accuracy_range", {0, 2, 2});
  CHECK(chosen(result).pareto == Indices{1});
  CHECK_FALSE(chosen(result).most_accurate);
  result.sweep.has_accuracy = true;
  CHECK(chosen(result).pareto == Indices{1, 0});
  CHECK(chosen(result).most_accurate == 0);
  CHECK(needs_of(result)[1].accuracy_low == 0.7);
  CHECK(needs_of(result)[1].accuracy_high == 0.74);
  CHECK_FALSE(needs_of(result)[0].is_beyond);
  CHECK(needs_of(result)[1].is_beyond);
  result.sweep.goal.accuracy_min = 0.75;
  CHECK(chosen(result).fastest == 0);
  result.sweep.has_accuracy = false;  // not known
  CHECK_FALSE(chosen(result).fastest);
}

TEST_CASE("the front of any rows is that of comparing every pair, and holds the best of each need") {
  CHECK(rc::check([] {
    const auto digits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, unknown_digit + 1));
    std::vector<MadeRow> rows;
    for (std::size_t i = 0; i + 2 < digits.size(); i += 3)
      rows.push_back(row_needing(digits[i], digits[i + 1], digits[i + 2]));
    const SweepResult result = made_result({"k"}, rows);
    const std::vector<Needs> needs = needs_of(result);
    Indices known;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (needs[i].time_s) known.push_back(i);
    }
    const Choice choice = choose(result, needs);
    Indices front = choice.pareto;
    for (std::size_t i = 1; i < front.size(); ++i)
      RC_ASSERT(*needs[front[i - 1]].time_s <= *needs[front[i]].time_s);
    std::ranges::sort(front);
    RC_ASSERT(front == front_of(needs, known));
    RC_ASSERT(choice.fastest.has_value() == !known.empty());
    for (const std::size_t row : known) {
      RC_ASSERT(*needs[*choice.fastest].time_s <= *needs[row].time_s);
      if (needs[row].cost_usd) RC_ASSERT(*needs[*choice.cheapest].cost_usd <= *needs[row].cost_usd);
      if (needs[row].energy_j) RC_ASSERT(*needs[*choice.least_energy].energy_j <= *needs[row].energy_j);
    }
  }));
}

TEST_CASE("each utilization can be a goal, met only where it is known") {
  SweepResult result = made_result({"gpus"}, {{.values = {"1"}, .throughput = 1, .epoch = 800},
                                              {.values = {"2"}, .throughput = 3, .epoch = 250},
                                              {.values = {"3"}, .throughput = 4, .epoch = 200},
                                              {.values = {"4"}, .throughput = 9, .epoch = 100}});
  for (const char* figure : {"gpu_utilization", "cpu_utilization", "host_memory_utilization",
                             "storage_utilization", "network_utilization"}) {
    CAPTURE(figure);
    result.figures.emplace_back(figure);
    const std::optional<double> shares[] = {0.9, 0.5, 0.8, std::nullopt};
    for (std::size_t i = 0; i < 4; ++i) result.rows[i].figures.push_back(shares[i]);
    const auto fastest = [&](const char* bound) {
      result.sweep.goal.figures = {{figure, bound}};
      return chosen(result).fastest;
    };
    CHECK(fastest(">= 0.8") == 2);
    CHECK(fastest("> 0.8") == 0);
    CHECK(fastest("<0.8") == 1);
    CHECK_FALSE(fastest("<= 0.4"));
    CHECK(unknown_bounds(result).empty());
    for (SweepRow& row : result.rows) row.figures.back().reset();
    CHECK(unknown_bounds(result) == std::vector<std::string>{figure});
  }
}

TEST_CASE("a goal is a bound of a column of sweep.csv, in the unit of its name") {
  const auto error = [](const char* text) {
    const auto [figure, condition] = figure_and_bound(text);
    const auto wrong = wrong_bound(figure, condition);
    return wrong ? wrong->message : std::string();
  };
  CHECK(error("cpu_utilization <= 0.9").empty());
  CHECK(error("step_time_s<0.1").empty());
  CHECK(error("cpu_utilisation <= 0.9") == "'cpu_utilisation' is not a figure of sweeps");
  CHECK(error("busiest_link > 1") == "'busiest_link' is not a figure of sweeps");
  for (const char* text : {"cpu_utilization <= 90 %", "step_time_s < 5 ms", "cpu_utilization",
                           "cpu_utilization =< 1", "cpu_utilization <=", "cpu_utilization == 1"}) {
    CAPTURE(text);
    CHECK(error(text).find("is no bound of") != std::string::npos);
  }
}

TEST_CASE("a point that breaks a limit is not chosen, nor one of which it is not known") {
  SweepResult result = made_result(
      {"gpus"}, {{.values = {"1"}, .ranks = 1, .throughput = 1, .epoch = 800, .rent = 1},
                 {.values = {"4"}, .ranks = 4, .throughput = 3, .efficiency = 0.75, .epoch = 250, .rent = 4},
                 {.values = {"8"}, .ranks = 8, .throughput = 4, .efficiency = 0.5, .epoch = 200, .rent = 8},
                 {.values = {"9"}, .ranks = 9, .throughput = 9, .epoch = 100}});
  CHECK(chosen(result).fastest == 3);
  CHECK(chosen(result).cheapest == 0);
  const auto fastest = [&](const Goal& goal) {
    result.sweep.goal = goal;
    return chosen(result).fastest;
  };
  Goal goal;
  goal.gpus_max = 8;
  CHECK(fastest(goal) == 2);
  goal.efficiency_min = 0.75;
  CHECK(fastest(goal) == 1);
  goal.efficiency_min = 0.8;
  CHECK(fastest(goal) == 0);
  goal.deadline = Seconds(700);
  CHECK_FALSE(fastest(goal));
  CHECK(chosen(result).pareto.empty());
  goal = {};
  goal.budget = Dollars(1);  // the last one's price is not known
  CHECK(fastest(goal) == 2);
  goal.budget = Dollars(0.3);
  CHECK(fastest(goal) == 1);
  goal = {};
  goal.deadline = Seconds(250);
  CHECK(fastest(goal) == 3);
  CHECK(chosen(result).cheapest == 1);
  goal.epochs = 2;
  CHECK(fastest(goal) == 3);
  CHECK_FALSE(chosen(result).cheapest);
}

TEST_CASE("a series is what differs in the number of GPUs only, fewest first, without failures") {
  const SweepResult result = made_result(
      {"model", "nodes"}, {{.values = {"a", "4"}, .ranks = 16, .throughput = 120, .efficiency = 0.7},
                           {.values = {"b", "4"}, .ranks = 16, .throughput = 50, .efficiency = 0.9},
                           {.values = {"a", "1"}, .ranks = 4, .throughput = 40, .efficiency = 0.95},
                           {.values = {"a", "2"}, .ranks = 8, .throughput = 72, .efficiency = 0.85},
                           {.values = {"b", "1"}, .status = PointStatus::wrong, .reason = "x"}});
  const std::vector<Series> all = series_of(result);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "model=a");
  CHECK(all[0].rows == Indices{2, 3, 0});
  CHECK(all[1].name == "model=b");
  CHECK(all[1].rows == Indices{1});

  const auto scaling = relative_scaling(result);
  REQUIRE(scaling.size() == 5);
  CHECK(scaling[0]->baseline_ranks == 4);
  CHECK(scaling[0]->speedup == 3);
  CHECK(scaling[0]->efficiency == 0.75);
  CHECK(scaling[3]->efficiency == doctest::Approx(0.9));
  CHECK(scaling[2]->efficiency == 1);
  CHECK(scaling[1]->speedup == 1);
  CHECK_FALSE(scaling[4]);

  CHECK(efficient_up_to(efficiencies(result), all[0], 0.8) == 3);
  CHECK(efficient_up_to(efficiencies(result), all[0], 0.7) == 0);
  CHECK(efficient_up_to(efficiencies(result), all[0], 0.95) == 2);
  CHECK_FALSE(efficient_up_to(efficiencies(result), all[0], 0.96));
}

TEST_CASE("scaling well again further out does not count: every run up to a point must") {
  const SweepResult result =
      made_result({"gpus"}, {{.values = {"1"}, .ranks = 1, .throughput = 1, .efficiency = 1},
                             {.values = {"2"}, .ranks = 2, .throughput = 1, .efficiency = 0.5},
                             {.values = {"4"}, .ranks = 4, .throughput = 4, .efficiency = 1}});
  const std::vector<Series> all = series_of(result);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name.empty());
  CHECK(efficient_up_to(efficiencies(result), all[0], 0.8) == 0);
}

TEST_CASE("with a fixed global batch scaling is told against the smallest run, not against one GPU's batch") {
  SweepResult result =
      made_result({"gpus"}, {{.values = {"2"}, .ranks = 2, .throughput = 10, .efficiency = 0.9, .epoch = 10},
                             {.values = {"4"}, .ranks = 4, .throughput = 15, .efficiency = 0.8, .epoch = 7},
                             {.values = {"8"}, .status = PointStatus::wrong, .reason = "x"}});
  CHECK_FALSE(is_strong_scaling(result.sweep));
  CHECK(efficiencies(result) == Efficiencies{0.9, 0.8, std::nullopt});
  result.sweep.set = {{"global_batch", "64"}};
  CHECK(is_strong_scaling(result.sweep));
  CHECK(efficiencies(result) == Efficiencies{1, 0.75, std::nullopt});
  CHECK(efficient_up_to(efficiencies(result), series_of(result).front(), 0.8) == 0);
  result.sweep.goal.efficiency_min = 0.8;
  CHECK(chosen(result).fastest == 0);
}

TEST_CASE(
    "where ranks share a model, scaling is told against the smallest run: there is no step on one GPU") {
  SweepResult result = made_result(
      {"model", "nodes"}, {{.values = {"a", "2"}, .ranks = 16, .throughput = 10, .efficiency = std::nullopt},
                           {.values = {"a", "4"}, .ranks = 32, .throughput = 18, .efficiency = std::nullopt},
                           {.values = {"a", "8"}, .ranks = 64, .throughput = 20, .efficiency = std::nullopt},
                           {.values = {"b", "1"}, .ranks = 8, .throughput = 10, .efficiency = 0.9},
                           {.values = {"b", "2"}, .ranks = 16, .throughput = 10, .efficiency = 0.45}});
  CHECK_FALSE(is_strong_scaling(result.sweep));
  CHECK(is_relative_to_smallest(result));
  const Efficiencies reached = efficiencies(result);
  CHECK(reached == Efficiencies{1, 0.9, 0.5, 1, 0.5});
  const std::vector<Series> all = series_of(result);
  CHECK(efficient_up_to(reached, all[0], 0.8) == 1);
  CHECK(efficient_up_to(reached, all[1], 0.8) == 3);
  CHECK_FALSE(efficient_range(result, reached, all[0], 0.8));
  result.efficiency_errors.assign(5, ErrorBounds{.low = -0.2, .high = 0.7});
  CHECK(efficient_range(result, reached, all[0], 0.8)->low == 0);
  CHECK(efficient_range(result, reached, all[0], 0.8)->is_open);
  result.sweep.goal.efficiency_min = 0.8;
  CHECK(chosen(result).pareto == Indices{});
}

TEST_CASE("a sweep of shared models over another key than GPUs has no efficiency") {
  const SweepResult result =
      made_result({"model"}, {{.values = {"a"}, .throughput = 1, .efficiency = std::nullopt}});
  CHECK_FALSE(is_relative_to_smallest(result));
  CHECK(efficiencies(result) == Efficiencies{std::nullopt});
}

TEST_CASE("a sweep that varies no number of GPUs has no series") {
  const SweepResult result = made_result({"model"}, {{.values = {"a"}, .throughput = 1}});
  CHECK(series_of(result).empty());
  CHECK_FALSE(relative_scaling(result).front());
}
