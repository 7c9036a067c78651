// What jobs do against faults: checkpoints that are written in the background, copies in memory, spare nodes,
// going on without replicas, stops that are planned. Each case is counted by hand.

#include "run/faulty_job.hpp"

#include <doctest/doctest.h>
#include <limits>
#include <rapidcheck.h>

using namespace trainyard;

namespace of_measures {  // names of its own, since files are compiled together
namespace {

constexpr Seconds no_checkpoints{std::numeric_limits<double>::infinity()};

/// 100 s of work on four nodes with a replica each; a restart takes 5 s.
FaultyJob job_on_four_nodes() {
  FaultyJob job;
  job.work = Seconds{100};
  job.workers = 4;
  job.nodes = 4;
  job.restart = Seconds{5};
  job.pace_without = [](int) { return 0.0; };
  return job;
}

FaultyPart node(int number) {
  FaultyPart part;
  part.first_worker = number;
  part.workers = 1;
  part.node = number;
  return part;
}

FaultyPart planned(FaultyPart part) {
  part.is_planned = true;
  return part;
}

FaultyRun run_of(const FaultyJob& job, Seconds every = no_checkpoints) {
  const FaultyRun run = run_with_faults(job, every, 1, 0);
  REQUIRE(run.is_done);
  return run;
}

}  // namespace

TEST_CASE("a checkpoint that is written meanwhile counts once it is complete") {
  FaultyJob job = job_on_four_nodes();
  job.write = Seconds{1};
  job.background = Seconds{10};
  SUBCASE("too late for a fault in between") {
    job.dates = {{Seconds{55}, node(0)}};  // the second began at 51 and is complete at 62
    const FaultyRun run = run_of(job, Seconds{25});
    CHECK(run.lost.si() == doctest::Approx(53 - 25));  // work until then: 25, 25 and 3 s
    CHECK(run.wall.si() == doctest::Approx(55 + 5 + 75 + 2));
  }
  SUBCASE("in time") {
    job.dates = {{Seconds{63}, node(0)}};
    const FaultyRun run = run_of(job, Seconds{25});
    CHECK(run.lost.si() == doctest::Approx(63 - 2 - 50));
    CHECK(run.writing.si() == doctest::Approx(3));
    CHECK(run.checkpoints == 3);
  }
  SUBCASE("the next one waits for it") {
    const FaultyRun run = run_of(job, Seconds{5});  // each 10 s of work
    CHECK(run.checkpoints == 9);
    CHECK(run.wall.si() == doctest::Approx(109));
  }
}

TEST_CASE("a planned stop writes a checkpoint and loses nothing") {
  FaultyJob job = job_on_four_nodes();
  job.write = Seconds{1};
  job.background = Seconds{2};
  job.dates = {{Seconds{40}, planned(node(1))}, {Seconds{41}, planned(node(2))}};  // at once
  const FaultyRun run = run_of(job);
  CHECK(run.lost == Seconds{});
  CHECK(run.writing.si() == doctest::Approx(3));
  CHECK(run.restarting.si() == doctest::Approx(5));
  CHECK(run.restarts == 1);
  CHECK(run.wall.si() == doctest::Approx(108));
}

TEST_CASE("a spare takes the place of a node, and without one the job waits until a node is repaired") {
  FaultyJob job = job_on_four_nodes();
  job.repair = Repair{.time = Seconds{30}};
  job.dates = {{Seconds{10}, node(0)}, {Seconds{20}, node(1)}};
  SUBCASE("none") {
    // 10 lost, waits from 10 to 50 since the second fails, too, 5 to restart
    const FaultyRun run = run_of(job);
    CHECK(run.waiting.si() == doctest::Approx(40));
    CHECK(run.restarting.si() == doctest::Approx(5));
    CHECK(run.lost.si() == doctest::Approx(10));
    CHECK(run.wall.si() == doctest::Approx(155));
  }
  SUBCASE("one for the first") {
    job.repair->spares = 1;  // the second waits for the first to be repaired at 40
    const FaultyRun run = run_of(job);
    CHECK(run.waiting.si() == doctest::Approx(20));
    CHECK(run.restarting.si() == doctest::Approx(10));
    CHECK(run.wall.si() == doctest::Approx(10 + 5 + 5 + 20 + 5 + 100));
  }
  SUBCASE("two") {
    job.repair->spares = 2;
    CHECK(run_of(job).waiting == Seconds{});
  }
  SUBCASE("a repaired node is a spare again") {
    job.repair->spares = 1;
    job.dates = {{Seconds{10}, node(0)}, {Seconds{41}, node(1)}};
    CHECK(run_of(job).waiting == Seconds{});
  }
}

TEST_CASE("an elastic job goes on without a replica until its node is back") {
  FaultyJob job = job_on_four_nodes();
  job.pace_without = [](int gone) { return 1 - gone / 4.0; };
  job.repair = Repair{.time = Seconds{45}, .is_elastic = true};
  job.dates = {{Seconds{20}, node(0)}, {Seconds{30}, node(0)}};  // the second hits a node that is away
  // 20 lost, restart until 25, 40 s at three quarters until 65: 30 of work; restart until 70; 70 of work
  const FaultyRun run = run_of(job);
  CHECK(run.faults == 1);
  CHECK(run.restarts == 2);
  CHECK(run.lost.si() == doctest::Approx(20));
  CHECK(run.slowed.si() == doctest::Approx(10));
  CHECK(run.wall.si() == doctest::Approx(140));
}

TEST_CASE("copies in memory lose little, unless a node and all that hold its copies fail") {
  FaultyJob job = job_on_four_nodes();
  job.in_memory = MemoryCopies{.every = Seconds{8}, .stall = Seconds{0}, .transfer = Seconds{1}, .copies = 1};
  SUBCASE("one node") {
    job.dates = {{Seconds{50}, node(2)}};  // the copy of 48 is on the next node since 49
    CHECK(run_of(job).lost.si() == doctest::Approx(2));
  }
  SUBCASE("before the copy is sent") {
    job.dates = {{Seconds{48.5}, node(2)}};
    CHECK(run_of(job).lost.si() == doctest::Approx(8.5));
  }
  SUBCASE("its neighbour during the restart") {
    job.dates = {{Seconds{50}, node(3)}, {Seconds{52}, node(0)}};
    CHECK(run_of(job).lost.si() == doctest::Approx(50));
  }
  SUBCASE("another node during the restart") {
    job.dates = {{Seconds{50}, node(0)}, {Seconds{52}, node(2)}};
    const FaultyRun run = run_of(job);
    CHECK(run.lost.si() == doctest::Approx(2));
    CHECK(run.restarting.si() == doctest::Approx(7));
  }
  SUBCASE("copies hold training up") {
    job.in_memory->stall = Seconds{2};
    const FaultyRun run = run_of(job);
    CHECK(run.writing.si() == doctest::Approx(25));
    CHECK(run.wall.si() == doctest::Approx(125));
  }
}

TEST_CASE("whatever a job does against faults, its parts add up to its time") {
  CHECK(rc::check("of any job", [] {
    const auto some = [](int least, int most) { return static_cast<double>(*rc::gen::inRange(least, most)); };
    const auto is = [] { return *rc::gen::arbitrary<bool>(); };
    FaultyJob job = job_on_four_nodes();
    job.work = Seconds{some(10, 1000)};
    job.write = Seconds{some(0, 5)};
    job.background = Seconds{some(0, 50)};
    job.pace_without = [](int gone) { return 1 - gone / 4.0; };
    if (is()) job.repair = Repair{Seconds{some(1, 100)}, *rc::gen::inRange(0, 3), is()};
    if (is()) job.in_memory = MemoryCopies{Seconds{some(1, 30)}, Seconds{some(0, 3)}, Seconds{some(0, 3)}, 1};
    job.rates = {{Seconds{some(300, 3000)}, {node(0), node(1), node(2), node(3)}},
                 {Seconds{some(100, 3000)}, {planned(node(2))}}};
    const FaultyRun run = run_with_faults(job, Seconds{some(5, 200)}, 7, *rc::gen::inRange(0, 100));
    RC_ASSERT(run.is_done);
    const Seconds sum = job.work + run.lost + run.slowed + run.writing + run.restarting + run.waiting;
    RC_ASSERT(std::abs(sum.si() - run.wall.si()) < 1e-9 * run.wall.si());
    RC_ASSERT(run.lost >= Seconds{});
    RC_ASSERT(run.slowed >= Seconds{});
  }));
}

}  // namespace of_measures
