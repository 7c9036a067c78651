#include "run/power_over_step.hpp"

#include "run/energy.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Run powered_run(const char* experiment, Overrides overrides = {}) {
  overrides.insert(overrides.begin(), {"platform.node.power.overhead", "1 kW"});
  return simulate(testing::shipped_experiment(experiment, overrides), {.fidelity = Fidelity::closed});
}

double energy_in(const std::vector<PowerSpan>& spans) {
  double sum = 0;
  for (const PowerSpan& span : spans) sum += span.power.si() * (span.end - span.start).si();
  return sum;
}

/// Every rank's spans follow each other from 0 to the end of the step.
void check_whole(const std::vector<PowerSpan>& spans, Seconds step) {
  REQUIRE_FALSE(spans.empty());
  Seconds now;
  for (const PowerSpan& span : spans) {
    CHECK(span.start == now);
    CHECK(span.end > span.start);
    now = span.end;
  }
  CHECK(now.si() == doctest::Approx(step.si()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the power over a step, times the ranks, adds up to the energy of the step") {
  for (const Overrides& overrides :
       {Overrides{}, Overrides{{"platform.fabric.nic", "1 Gbps"}}, Overrides{{"input.data", "real"}}}) {
    const Run run = powered_run("resnet50_p3_16xlarge_x2", overrides);
    for (const int rank : {0, 15}) {
      const std::vector<PowerSpan> spans = power_over_step(run, Rank{rank});
      check_whole(spans, run.pace.time);
      CHECK(16 * energy_in(spans) == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
    }
    CHECK(energy_in(power_of_job(run, 200)) == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
    CHECK(energy_in(power_of_job(run, 1)) == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
  }
}

TEST_CASE("ranks whose programs differ have powers of their own") {
  const Run run = powered_run("resnet50_p3_8xlarge_dataparallel");  // only GPU 0 updates
  double sum = 0;
  for (int rank = 0; rank < run.ranks; ++rank) sum += energy_in(power_over_step(run, Rank{rank}));
  CHECK(sum == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
  CHECK(energy_in(power_over_step(run, Rank{0})) > energy_in(power_over_step(run, Rank{1})));
  CHECK(energy_in(power_of_job(run, 100)) == doctest::Approx(sum).epsilon(1e-9));
}

TEST_CASE("the stages of a pipeline draw the power of their kernels, and less in the bubble") {
  const Run run = powered_run("bert_large_dgx_a100",
                              {{"parallelism", "{pipeline: 4, schedule: gpipe}"}, {"accumulation", "4"}});
  double sum = 0;
  for (const RankClass& one : run.experiment.classes) {
    const std::vector<PowerSpan> spans = power_over_step(run, one.ranks.front());
    check_whole(spans, run.pace.time);
    sum += static_cast<double>(one.ranks.size()) * energy_in(spans);
  }
  CHECK(sum == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
  CHECK(energy_in(power_of_job(run, 200)) == doctest::Approx(sum).epsilon(1e-9));
  // The last stage waits for the first micro-batch at idle power.
  const GpuProfile& gpu = run.experiment.gpu;
  const double nodes = run.nodes * node_overhead(run.experiment.platform, gpu)->value.si() / run.ranks;
  const double idle = gpu.power->idle.value * gpu.tdp.value.si() + nodes;
  const RankClass& last = run.experiment.classes.back();
  const std::vector<PowerSpan> spans = power_over_step(run, last.ranks.front());
  CHECK(spans.front().power.si() == doctest::Approx(idle).epsilon(1e-12));
  CHECK(spans[1].power.si() > 2 * idle - nodes);
}

TEST_CASE("a waiting GPU draws idle power, a matrix product its own") {
  const Run run = powered_run("resnet50_p3_16xlarge_x2", {{"platform.fabric.nic", "1 Gbps"}});
  const GpuProfile& gpu = run.experiment.gpu;
  const double nodes = node_overhead(run.experiment.platform, gpu)->value.si() / 8;
  double least = 1e9;
  double most = 0;
  for (const PowerSpan& span : power_over_step(run, Rank{3})) {
    least = std::min(least, span.power.si() - nodes);
    most = std::max(most, span.power.si() - nodes);
  }
  CHECK(least == doctest::Approx(gpu.power->idle.value * gpu.tdp.value.si()).epsilon(1e-9));
  CHECK(most == doctest::Approx(gpu.power->matrix.value * gpu.tdp.value.si()).epsilon(1e-9));
}

TEST_CASE("there is no power where the energy is unknown, a rank is not recorded, or steps differ") {
  const Run run = powered_run("resnet50_p3_16xlarge_x2", {{"nodes", "4"}});
  CHECK_FALSE(power_over_step(run, Rank{15}).empty());
  CHECK(power_over_step(run, Rank{20}).empty());
  CHECK_FALSE(power_of_job(run, 10).empty());  // rank 0 stands for all
  Run unknown_energy = run;
  unknown_energy.energy = unknown("why");
  CHECK(power_over_step(unknown_energy, Rank{0}).empty());
  CHECK(power_of_job(unknown_energy, 10).empty());
  const Run updates = powered_run("resnet50_p3_16xlarge_x2",
                                  {{"random.step", "{kind: normal, sd: 0.1}"}, {"steps.repeats", "1"}});
  CHECK(power_over_step(updates, Rank{0}).empty());
}
