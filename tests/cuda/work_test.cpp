#include "cuda/work.hpp"

#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace trainyard::cuda;

namespace {

/// A plan of copies of 1, 2, 3 ... bytes on lines 2, 3, 4 ...
std::vector<PlanRow> plan_of(int rows) {
  std::vector<PlanRow> plan;
  for (int i = 1; i <= rows; ++i) plan.push_back({{"copy", "d2d", "-", "-", static_cast<double>(i)}, i + 1});
  return plan;
}

/// Runs the work with a measurement that takes one second of a clock of its own.
struct Bench {
  trainyard::TemporaryFolder folder;
  std::ostringstream said;
  double clock = 0;
  std::vector<int> measured;  ///< bytes of the rows in the order in which they were measured
  WorkOptions options{.measure = [this](const Request& request) { return measure(request); },
                      .now = [this] { return clock; },
                      .interrupted = [] { return false; }};
  std::function<Outcome(int)> outcome = [](int) { return Measurement{.time_us = 1, .repetitions = 10}; };

  Outcome measure(const Request& request) {
    measured.push_back(static_cast<int>(request.bytes));
    clock += 1;
    return outcome(measured.back());
  }

  /// One run of the program: the clock starts again, the recording stays.
  WorkResult run(const std::vector<PlanRow>& plan, bool terminal = false) {
    clock = 0;
    measured.clear();
    said.str("");
    Recording recording((folder.path / "r.csv").string(), {{"gpu", "Test GPU"}});
    Progress progress(said, terminal);
    return work_through(plan, recording, options, progress);
  }

  [[nodiscard]] bool says(const std::string& text) const {
    return said.str().find(text) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("all rows are measured once, in the plan's order") {
  Bench bench;
  const WorkResult result = bench.run(plan_of(3));
  CHECK(result.end == WorkEnd::done);
  CHECK(bench.measured == std::vector<int>{1, 2, 3});
  CHECK(exit_code(result) == 0);
  CHECK(summary(result) == "3 rows measured");

  const WorkResult again = bench.run(plan_of(3));
  CHECK(bench.measured.empty());
  CHECK(exit_code(again) == 0);
  CHECK(summary(again) == "0 rows measured, 3 recorded before");
}

TEST_CASE("a row that the plan names twice is measured once") {
  Bench bench;
  auto plan = plan_of(2);
  plan.push_back({plan[0].request, 4});
  CHECK(bench.run(plan).measured == 2);
}

TEST_CASE("no row is begun that would end after the time, and the next run goes on") {
  Bench bench;
  bench.options.seconds = 3.5;
  const WorkResult first = bench.run(plan_of(5));
  CHECK(first.end == WorkEnd::time_up);
  CHECK(bench.measured == std::vector<int>{1, 2, 3});
  CHECK(exit_code(first) == 75);
  CHECK(summary(first) == "3 rows measured; time is up and 2 rows are left: the same command goes on");

  const WorkResult second = bench.run(plan_of(5));
  CHECK(second.end == WorkEnd::done);
  CHECK(bench.measured == std::vector<int>{4, 5});
  CHECK(exit_code(second) == 0);
}

TEST_CASE("an interrupt ends the work after the row that runs") {
  Bench bench;
  bench.options.interrupted = [&] { return bench.measured.size() == 2; };
  const WorkResult result = bench.run(plan_of(5));
  CHECK(result.end == WorkEnd::interrupted);
  CHECK(result.measured == 2);
  CHECK(result.left == 3);
  CHECK(exit_code(result) == 130);
  bench.options.interrupted = [] { return false; };
  CHECK(bench.run(plan_of(5)).measured == 3);
}

TEST_CASE("a row that this GPU cannot run is told and not recorded") {
  Bench bench;
  bench.outcome = [](int bytes) -> Outcome {
    if (bytes == 2) return Skipped{"there is no peer"};
    return Measurement{.time_us = 1, .repetitions = 10};
  };
  const WorkResult result = bench.run(plan_of(3));
  CHECK(exit_code(result) == 0);
  CHECK(summary(result) == "2 rows measured, 1 skipped");
  CHECK(bench.says("skipped: copy d2d 2 bytes: there is no peer\n"));
  CHECK(bench.run(plan_of(3)).recorded_before == 2);
}

TEST_CASE("a wrong result is not recorded, the work goes on, and the end is 70") {
  Bench bench;
  bench.outcome = [](int bytes) -> Outcome {
    if (bytes == 1) throw WrongResult("value 0 is 1 where the reference has 2");
    if (bytes == 2) throw MeasurementFailed("library: not initialised");
    return Measurement{.time_us = 1, .repetitions = 10};
  };
  const WorkResult result = bench.run(plan_of(3));
  CHECK(bench.measured == std::vector<int>{1, 2, 3});
  CHECK(result.wrong == 2);
  CHECK(exit_code(result) == 70);
  CHECK(
      bench.says("wrong result: copy d2d 1 bytes: value 0 is 1 where the reference has 2; not recorded (line "
                 "2 of the plan)"));
  CHECK(bench.says("failed: copy d2d 2 bytes: library: not initialised; not recorded (line 3 of the plan)"));
  CHECK(bench.run(plan_of(3)).recorded_before == 1);
}

TEST_CASE("rows that are left are worth more than a wrong one: the next run tells it again") {
  Bench bench;
  bench.options.seconds = 2;
  bench.outcome = [](int) -> Outcome { throw WrongResult("far off"); };
  CHECK(exit_code(bench.run(plan_of(5))) == 75);
}

TEST_CASE("a lost GPU ends the work and names the way around the row") {
  Bench bench;
  bench.outcome = [](int bytes) -> Outcome {
    if (bytes == 2) throw GpuLost("an illegal memory access was encountered");
    return Measurement{.time_us = 1, .repetitions = 10};
  };
  const WorkResult result = bench.run(plan_of(4));
  CHECK(result.end == WorkEnd::gpu_lost);
  CHECK(result.left == 2);
  CHECK(exit_code(result) == 70);
  CHECK(bench.says("with --skip 3\n"));

  bench.options.left_out = {3};
  const WorkResult second = bench.run(plan_of(4));
  CHECK(bench.measured == std::vector<int>{3, 4});
  CHECK(exit_code(second) == 0);
  CHECK(second.skipped == 1);
}

TEST_CASE("away from a terminal progress is a line every ten per cent, with the time left") {
  Bench bench;
  (void)bench.run(plan_of(100));
  CHECK(bench.said.str() ==
        "10 of 100 rows, 90 s left\n20 of 100 rows, 80 s left\n30 of 100 rows, 70 s left\n"
        "40 of 100 rows, 60 s left\n50 of 100 rows, 50 s left\n60 of 100 rows, 40 s left\n"
        "70 of 100 rows, 30 s left\n80 of 100 rows, 20 s left\n90 of 100 rows, 10 s left\n"
        "100 of 100 rows, 0 s left\n");
}

TEST_CASE("the time left counts each op by its own rows") {
  Bench bench;
  std::vector<PlanRow> plan = plan_of(2);
  plan.push_back({{"launch", "rate", "-", "-", 0}, 4});
  plan.push_back({{"launch", "graph", "-", "-", 0}, 5});
  bench.outcome = [&](int bytes) {
    if (bytes > 0) bench.clock += 99;
    return Measurement{.time_us = 1, .repetitions = 10};
  };
  (void)bench.run(plan);
  CHECK(bench.says("1 of 4 rows, 5 min left"));  // three rows like the first
  CHECK(bench.says("3 of 4 rows, 1 s left"));    // one like the third
}

TEST_CASE("on a terminal progress is one line that is wiped in the end") {
  Bench bench;
  bench.outcome = [](int) { return Skipped{"no"}; };
  (void)bench.run(plan_of(2), true);
  CHECK(bench.says("\r\033[K[          "));
  CHECK(bench.says("1 of 2 rows, 1 s left  copy d2d 2 bytes\r\033[Kskipped"));
  CHECK(bench.said.str().ends_with("\r\033[K"));
}

TEST_CASE("durations are told in the unit that fits") {
  CHECK(duration_text(0) == "0 s");
  CHECK(duration_text(44.2) == "45 s");
  CHECK(duration_text(100) == "2 min");
  CHECK(duration_text(5990) == "1 h 40 min");
  CHECK(duration_text(7500) == "2 h 5 min");
}
