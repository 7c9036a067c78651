#include "run/faulty_job.hpp"

#include "run/checkpoint_interval.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

constexpr FaultyPart every_worker{.first_worker = 0, .workers = 0, .holds_parameters = true};

FaultyJob job_of(double work, double restart, double write) {
  FaultyJob job;
  job.work = Seconds{work};
  job.restart = Seconds{restart};
  job.write = Seconds{write};
  job.pace_without = [](int) { return 0.0; };
  return job;
}

double seconds(Seconds time) { return time.si(); }

double sum_of_parts(const FaultyJob& job, const FaultyRun& run) {
  return seconds(job.work + run.lost + run.slowed + run.writing + run.restarting + run.waiting);
}

Seconds mean_wall(const FaultyJob& job, Seconds every, int runs) {
  Seconds sum;
  for (int repeat = 0; repeat < runs; ++repeat) {
    const FaultyRun run = run_with_faults(job, every, 1, repeat);
    REQUIRE(run.is_done);
    sum += run.wall;
  }
  return sum / static_cast<double>(runs);
}

}  // namespace

TEST_CASE("a fault throws the job back to its last checkpoint") {
  FaultyJob job = job_of(100, 5, 2);
  job.dates = {{Seconds{50}, every_worker}};
  // 30 of work, 2 of writing, 18 lost, 5 to restart; 30, 2, 30, 2 and the last 10
  const FaultyRun run = run_with_faults(job, Seconds{30}, 1, 0);
  CHECK(seconds(run.wall) == doctest::Approx(129));
  CHECK(seconds(run.lost) == doctest::Approx(18));
  CHECK(seconds(run.writing) == doctest::Approx(6));
  CHECK(seconds(run.restarting) == doctest::Approx(5));
  CHECK(run.restarts == 1);
}

TEST_CASE(
    "a fault while a checkpoint is written leaves the one before, and one during a restart begins it again") {
  FaultyJob job = job_of(60, 5, 2);
  job.dates = {{Seconds{31}, every_worker}, {Seconds{34}, every_worker}};
  // 30 lost with one second of writing; restarts from 31 to 34 and to 39; 30, 2, 30
  const FaultyRun run = run_with_faults(job, Seconds{30}, 1, 0);
  CHECK(seconds(run.lost) == doctest::Approx(30));
  CHECK(seconds(run.writing) == doctest::Approx(3));
  CHECK(seconds(run.restarting) == doctest::Approx(8));
  CHECK(seconds(run.wall) == doctest::Approx(101));
}

TEST_CASE("a job that goes on without a worker is slower until it is back") {
  FaultyJob job = job_of(100, 20, 0);
  job.workers = 4;
  job.pace_without = [](int gone) { return gone < 3 ? 1 - gone / 4.0 : 0.0; };
  const Seconds no_checkpoints{std::numeric_limits<double>::infinity()};
  SUBCASE("one") {
    job.dates = {{Seconds{10}, {1, 1, false}}};
    const FaultyRun run = run_with_faults(job, no_checkpoints, 1, 0);
    CHECK(seconds(run.wall) == doctest::Approx(105));
    CHECK(seconds(run.slowed) == doctest::Approx(5));
    CHECK(run.restarts == 0);
  }
  SUBCASE("one that fails again while it is away comes back later") {
    job.dates = {{Seconds{10}, {1, 1, false}}, {Seconds{20}, {1, 1, false}}};
    const FaultyRun run = run_with_faults(job, no_checkpoints, 1, 0);
    CHECK(seconds(run.slowed) == doctest::Approx(0.25 * 30));
    CHECK(run.faults == 2);
  }
  SUBCASE("too few left") {
    job.dates = {{Seconds{10}, {0, 2, false}}, {Seconds{20}, {2, 1, false}}};
    const FaultyRun run = run_with_faults(job, no_checkpoints, 1, 0);
    CHECK(run.restarts == 1);
    CHECK(seconds(run.lost) == doctest::Approx(10 + 5));  // everything, without a checkpoint
    CHECK(seconds(run.wall) == doctest::Approx(20 + 20 + 100));
  }
}

TEST_CASE("a job whose parameters are safe waits for workers it cannot do without") {
  FaultyJob job = job_of(100, 20, 0);
  job.can_wait = true;
  job.dates = {{Seconds{10}, {0, 1, false}}, {Seconds{50}, every_worker}};
  const FaultyRun run = run_with_faults(job, Seconds{std::numeric_limits<double>::infinity()}, 1, 0);
  CHECK(seconds(run.slowed) == doctest::Approx(20));
  CHECK(run.restarts == 1);
  CHECK(seconds(run.lost) == doctest::Approx(30));
  CHECK(seconds(run.wall) == doctest::Approx(50 + 20 + 100));
  CHECK_FALSE(stops(job, {0, 1, false}));
  CHECK(stops(job, every_worker));
}

TEST_CASE("exponential faults cost what the closed form says") {
  FaultyJob job = job_of(1000, 5, 3);
  job.rates = {{Seconds{400}, {every_worker, every_worker}}, {Seconds{200}, {every_worker}}};
  REQUIRE(seconds(time_between_stops(job)) == doctest::Approx(100));
  for (const double every : {8.0, 25.0, 70.0}) {
    CAPTURE(every);
    const Seconds expected = expected_wall({.work = job.work,
                                            .every = Seconds{every},
                                            .write = job.write,
                                            .restart = job.restart,
                                            .between_faults = Seconds{100}});
    CHECK(seconds(mean_wall(job, Seconds{every}, 4000)) == doctest::Approx(seconds(expected)).epsilon(0.005));
  }
}

TEST_CASE("Daly's interval is close to the best, and Young's is longer") {
  for (const double write : {0.01, 0.5, 5.0}) {
    CAPTURE(write);
    const Seconds between{100};
    const Seconds daly = daly_interval(Seconds{write}, between);
    CHECK(daly < young_interval(Seconds{write}, between));
    const auto wall = [&](Seconds every) {
      // whole stretches, to avoid a remainder
      return expected_wall({.work = 1000.0 * every,
                            .every = every,
                            .write = Seconds{write},
                            .restart = Seconds{1},
                            .between_faults = between}) /
             (1000.0 * every);
    };
    double best = std::numeric_limits<double>::infinity();
    for (double factor = 0.25; factor < 4; factor *= 1.01) best = std::min(best, wall(factor * daly));
    CHECK(wall(daly) < 1.0005 * best);
  }
  CHECK(seconds(young_interval(Seconds{2}, Seconds{100})) == 20);
  CHECK(seconds(daly_interval(Seconds{300}, Seconds{100})) == 100);
}

TEST_CASE("time spent is work, work lost, slower work, writing and restarting") {
  CHECK(rc::check("of any job", [] {
    const auto some = [](int least, int most) { return static_cast<double>(*rc::gen::inRange(least, most)); };
    FaultyJob job = job_of(some(10, 1000), some(0, 20), some(0, 5));
    job.workers = 8;
    job.pace_without = [](int gone) { return gone < 4 ? 1 - gone / 8.0 : 0.0; };
    for (int worker = 0; worker < 8; ++worker)
      job.dates.push_back({Seconds{some(0, 100) + 100.0 * worker}, {worker, 1, worker == 0}});
    job.rates = {{Seconds{some(300, 5000)}, {{0, 2, false}, {2, 6, false}, every_worker}}};
    const FaultyRun run = run_with_faults(job, Seconds{some(5, 200)}, 7, *rc::gen::inRange(0, 100));
    RC_ASSERT(run.is_done);
    RC_ASSERT(std::abs(sum_of_parts(job, run) - seconds(run.wall)) < 1e-9 * seconds(run.wall));
  }));
}

TEST_CASE("a job that faults never let get done is given up") {
  FaultyJob job = job_of(100, 1, 0);
  job.rates = {{Seconds{5}, {every_worker}}};
  CHECK_FALSE(run_with_faults(job, Seconds{std::numeric_limits<double>::infinity()}, 1, 0).is_done);
  CHECK(run_with_faults(job, Seconds{1}, 1, 0).is_done);
}
