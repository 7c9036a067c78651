#include "explain/comparison.hpp"

#include "errors_of.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// A run whose step has these parts and exposed collectives, 32 samples a step.
RunSummary run_with(std::vector<PartTime> parts, std::vector<NamedExposure> collectives = {}) {
  RunSummary run;
  Seconds sum;
  for (const PartTime& part : parts) sum += part.time;
  run.figures.resize(run.table.size());
  run.figures[index_of("experiment")] = "made";
  run.figures[index_of("step_time_s")] = sum.si();
  run.figures[index_of("throughput_samples_per_s")] = 32 / sum.si();
  run.parts = std::move(parts);
  run.collectives = std::move(collectives);
  return run;
}

/// Whole units of 1e-12 s, in which steps of 0.1 to 1 s are compared.
std::int64_t whole(Seconds time) { return std::llround(time.si() * 1e12); }

bool adds_up(const Comparison& comparison) {
  std::int64_t a = 0, b = 0, difference = 0;
  for (const ComparedPart& part : comparison.parts) {
    if (part.part == StepPart::communication) {
      std::int64_t its = 0;
      for (const ComparedGroup& group : comparison.groups) its += whole(group.time.difference);
      if (its != whole(part.time.difference)) return false;
    }
    a += whole(part.time.a);
    b += whole(part.time.b);
    difference += whole(part.time.difference);
  }
  return a == whole(comparison.step.a) && b == whole(comparison.step.b) &&
         difference == whole(comparison.step.difference) && difference == b - a;
}

RunSummary summary_of(const Run& run) {
  const StepParts split = step_parts(run);
  RunSummary summary = run_with(split.parts);
  for (const ExposedCollective& one : split.collectives) {
    const CollectiveRow& row = step_of(run).collectives.at(static_cast<std::size_t>(one.collective));
    summary.collectives.push_back({row.name, "all_reduce", row.purpose, one.exposed});
  }
  return summary;
}

}  // namespace

TEST_CASE("the parts of a step add up to it, whatever takes the time") {
  for (const Overrides& set :
       {Overrides{{"gpus", "1"}}, Overrides{{"nodes", "4"}},
        Overrides{{"nodes", "4"}, {"platform.fabric.nic", "1 Gbps"}},
        Overrides{{"nodes", "2"}, {"stack", "horovod"}, {"accumulation", "2"}},
        Overrides{{"gpus", "4"}, {"random.step.kind", "normal"}, {"random.step.sd", "0.1"}}}) {
    CAPTURE(set.front().second);
    Overrides all = set;
    all.emplace_back("batch_per_gpu", "16");
    const ResolvedExperiment resolved = testing::shipped_experiment("resnet50_dgx2", all);
    const Run run = simulate(resolved, {.fidelity = Fidelity::closed});
    const StepParts split = step_parts(run);
    Seconds sum, exposed;
    Seconds communication;
    for (const PartTime& part : split.parts) {
      sum += part.time;
      CHECK(part.time > Seconds{-1e-12});
      if (part.part == StepPart::communication) communication = part.time;
    }
    for (const ExposedCollective& one : split.collectives) exposed += one.exposed;
    CHECK(sum.si() == doctest::Approx(run.pace.time.si()).epsilon(1e-11));
    if (!updates_of(run)) CHECK(exposed.si() == doctest::Approx(communication.si()).epsilon(1e-11));
    if (run.ranks == 1) CHECK(split.collectives.empty());
  }
}

TEST_CASE("a slower network shows in the collectives and in the kernels that they slow") {
  const auto run = [&](const char* nic) {
    return summary_of(
        simulate(testing::shipped_experiment("resnet50_dgx2", {{"nodes", "2"}, {"platform.fabric.nic", nic}}),
                 {.fidelity = Fidelity::closed}));
  };
  const Comparison comparison = compare(run("100 Gbps"), run("100 Mbps"));
  CHECK(adds_up(comparison));
  CHECK(comparison.step_ratio > 2);
  REQUIRE(comparison.groups.size() == 2);
  CHECK(comparison.groups[0].purpose == "buffers");
  CHECK(comparison.groups[1].purpose == "gradients");
  CHECK(comparison.groups[1].time.difference > 0.8 * comparison.step.difference);
  for (const ComparedPart& part : comparison.parts) {
    const bool is_moved = part.part == StepPart::communication || part.part == StepPart::kernel_slowdown;
    CHECK((std::abs(part.time.difference.si()) > 1e-9) == is_moved);
  }
}

TEST_CASE("the differences of the parts add up to that of the step, digit for digit") {
  const auto adds = [](const std::vector<unsigned>& numbers) {
    const auto part_of = [&](std::size_t i) {
      return Seconds{(1 + (numbers.empty() ? 0 : numbers[i % numbers.size()] % 9999991)) / 3e7 / 3};
    };
    const auto made = [&](std::size_t from) {
      const Seconds all_reduce = part_of(from + 3), broadcast = part_of(from + 4);
      return run_with({{StepPart::forward, part_of(from)},
                       {StepPart::backward, Seconds{0.1} + part_of(from + 1)},
                       {StepPart::communication, all_reduce + broadcast},
                       {StepPart::waiting, part_of(from + 2)}},
                      {{"bucket 0", "all_reduce", "gradients", all_reduce},
                       {"parameters 0", "broadcast", "parameters", broadcast}});
    };
    return adds_up(compare(made(0), made(5)));
  };
  CHECK(rc::check("parts add up", [&](const std::vector<unsigned>& numbers) { RC_ASSERT(adds(numbers)); }));
}

TEST_CASE("a collective that one of two runs exposes counts as nothing in the other") {
  const Comparison comparison =
      compare(run_with({{StepPart::forward, Seconds{0.5}}}),
              run_with({{StepPart::forward, Seconds{0.25}}, {StepPart::communication, Seconds{0.125}}},
                       {{"bucket 3", "all_reduce", "gradients", Seconds{0.125}}}));
  REQUIRE(comparison.groups.size() == 1);
  REQUIRE(comparison.groups.front().collectives.size() == 1);
  CHECK(comparison.groups.front().collectives.front().name == "bucket 3");
  CHECK(comparison.groups.front().time.a == Seconds{});
  CHECK(comparison.groups.front().time.difference == Seconds{0.125});
  CHECK(comparison.step.difference == Seconds{-0.125});
  CHECK(comparison.throughput_ratio == doctest::Approx(4.0 / 3));
}

TEST_CASE("a ratio to nothing, or of what is not known, is none") {
  CHECK_FALSE(ratio_of(0, 1).has_value());
  CHECK_FALSE(ratio_of(0, 0).has_value());
  CHECK_FALSE(ratio_of({}, 1).has_value());
  CHECK_FALSE(ratio_of(1, {}).has_value());
  CHECK(ratio_of(2, 0) == 0);
  CHECK(ratio_of(2, 3) == 1.5);
}

TEST_CASE("keys that are the same are not shown, and one that is not set is none") {
  RunSummary a = run_with({{StepPart::forward, Seconds{1}}});
  RunSummary b = a;
  a.experiment_keys = {{"batch_per_gpu", "64"}, {"stack", "horovod"}};
  b.experiment_keys = {{"batch_per_gpu", "128"}, {"nodes", "2"}, {"stack", "horovod"}};
  const Comparison comparison = compare(a, b);
  REQUIRE(comparison.keys.size() == 2);
  CHECK(comparison.keys[0].path == "batch_per_gpu");
  CHECK(comparison.keys[0].a == "64");
  CHECK(comparison.keys[0].b == "128");
  CHECK(comparison.keys[1].path == "nodes");
  CHECK_FALSE(comparison.keys[1].a.has_value());
}

TEST_CASE("beside a run of many updates the kernels of a step are one part, in every comparison") {
  const RunSummary step = run_with({{StepPart::forward, Seconds{0.1}},
                                    {StepPart::backward, Seconds{0.2}},
                                    {StepPart::kernel_slowdown, Seconds{0.05}},
                                    {StepPart::communication, Seconds{0.15}}},
                                   {{"bucket 0", "all_reduce", "gradients", Seconds{0.15}}});
  const RunSummary updates =
      run_with({{StepPart::compute, Seconds{0.3}}, {StepPart::communication, Seconds{0.2}}});
  const Comparison comparison = compare(step, updates);
  CHECK(adds_up(comparison));
  REQUIRE(comparison.parts.size() == 2);
  CHECK(comparison.parts[0].part == StepPart::compute);
  CHECK(comparison.parts[0].time.a.si() == doctest::Approx(0.35));
  CHECK(comparison.parts[0].time.b.si() == doctest::Approx(0.3));
  REQUIRE(comparison.groups.size() == 1);
  CHECK(comparison.groups.front().operation.empty());

  const std::vector<Comparison> three = compare_with_first({step, step, updates});
  REQUIRE(three.size() == 2);
  CHECK(three[0].letter == "B");
  CHECK(three[1].letter == "C");
  CHECK(three[0].parts.front().part == StepPart::compute);
  CHECK(compare_with_first({step, step}).front().parts.front().part == StepPart::forward);
}

TEST_CASE("parts that do not add up to the step are refused") {
  RunSummary wrong = run_with({{StepPart::forward, Seconds{1}}});
  const RunSummary right = wrong;
  wrong.parts.front().time = Seconds{0.9};
  CHECK(errors_of([&] { compare(right, wrong); }).size() == 1);
  wrong.parts = {{StepPart::forward, Seconds{1e300}},
                 {StepPart::backward, Seconds{-1e300}},
                 {StepPart::host, Seconds{1}}};
  CHECK(errors_of([&] { compare(right, wrong); }).size() == 1);
}
