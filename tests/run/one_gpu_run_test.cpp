// A measured throughput of one GPU (key one_gpu): what goes in comes out of a run on one GPU.

#include "experiment/one_gpu.hpp"
#include "figure_of.hpp"
#include "run/child_processes.hpp"
#include "run/export_trace.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "units/text.hpp"
#include "workload/trace_csv.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <rapidcheck.h>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// In-process: `closed` needs no SimGrid, so any number may run.
Run run_closed(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed, .timeline = false});
}

double modelled_rate(const std::string& experiment, const Overrides& overrides) {
  const ResolvedExperiment resolved = shipped_experiment(experiment, overrides);
  return resolved.settings.batch_per_gpu * resolved.settings.accumulation / one_rank_step(resolved).si();
}

std::string rate(double samples) { return shortest(samples) + " samples/s"; }

struct Job {
  std::string experiment;
  Overrides overrides;
};

/// Models, stacks, precisions, real data with and without prefetching, and accumulation.
const std::vector<Job>& jobs() {
  static const std::vector<Job> all{
      {"resnet50_dgx2", {}},
      {"resnet50_dgx2", {{"precision", "amp"}, {"stack", "horovod"}}},
      {"resnet50_dgx2", {{"accumulation", "3"}, {"stack.op_overhead", "5 us"}}},
      {"resnet50_dgx2", {{"stack.compute_scale", "1.1"}, {"stack.step_overhead", "20 ms"}}},
      {"resnet50_dgx2", {{"model", "vgg16"}, {"batch_per_gpu", "64"}}},
      {"resnet50_dgx2_input", {}},
      {"resnet50_dgx2_input", {{"input.prefetch", "false"}}},
      {"bert_base_p3dn", {}},
      {"bert_large_dgx_a100", {{"accumulation", "2"}}},
      {"gpt2_small_dgx2", {{"precision", "fp16"}}},
      {"resnet50_p3_8xlarge_dataparallel", {}},
      {"resnet50_p3_16xlarge_x2_top_k", {}}};
  return all;
}

}  // namespace

TEST_CASE("property: a run on one GPU is as fast as measured, whatever is trained") {
  std::vector<double> modelled;
  for (const Job& job : jobs()) modelled.push_back(modelled_rate(job.experiment, job.overrides));
  rc::check([&] {
    const auto drawn = *rc::gen::inRange<std::size_t>(0, jobs().size());
    const Job& job = jobs()[drawn];
    const double factor = *rc::gen::inRange(60, 200) / 100.0;
    const double measured = modelled[drawn] / factor;
    Overrides set = job.overrides;
    set.emplace_back("gpus", "1");
    set.emplace_back("nodes", "1");
    set.emplace_back("one_gpu", rate(measured));
    ResolvedExperiment one;
    try {
      one = shipped_experiment(job.experiment, set);
    } catch (const InputError& error) {
      // Faster than samples are prepared, or kernels become implausible beside host time: refused, not
      // ignored.
      RC_ASSERT(std::string(error.what()).find("samples/s") != std::string::npos);
      RC_DISCARD("out of reach");
    }
    const Run run = run_closed(one);
    RC_ASSERT(std::abs(run.pace.throughput / measured - 1) < 1e-9);
    RC_ASSERT(run.pace.time == run.pace.one_rank);
  });
}

TEST_CASE("one GPU alone of a larger job is as fast as measured, and its kernels are scaled") {
  for (const Job& job : jobs()) {
    CAPTURE(job.experiment);
    const double measured = modelled_rate(job.experiment, job.overrides) / 1.2;
    Overrides set = job.overrides;
    set.emplace_back("one_gpu", rate(measured));
    const Run run = run_closed(shipped_experiment(job.experiment, set));
    const double samples = run.experiment.settings.batch_per_gpu * run.experiment.settings.accumulation;
    CHECK(samples / run.pace.one_rank.si() == doctest::Approx(measured).epsilon(1e-9));
    CHECK(figure_of(run, "one_gpu_samples_per_s") == doctest::Approx(measured).epsilon(1e-12));
    CHECK(figure_of(run, "one_gpu_scale") > 1.1);
    CHECK(run.calibrated_on.front() == "one GPU of this machine: " + rate(measured) + " (one_gpu)");
  }
}

TEST_CASE("with servers one GPU alone is as fast as measured too") {
  const std::string server = "inception_v3_dgx1_p100_server";
  const double measured = modelled_rate(server, {}) / 1.2;
  const auto numbers = [&](int) {
    const Run run = simulate(shipped_experiment(server, {{"one_gpu", rate(measured)}}), {.timeline = false});
    return packed({run.experiment.settings.batch_per_gpu / run.pace.one_rank.si()});
  };
  CHECK(unpacked(in_children(1, 1, numbers).front()).front() == doctest::Approx(measured).epsilon(1e-9));
}

TEST_CASE("a resolved experiment with one_gpu replays to the same figures") {
  const TemporaryFolder folder;
  const Run first = run_closed(shipped_experiment("resnet50_dgx2", {{"one_gpu", "350 img/s"}}));
  const auto file = folder.path / "resnet50_dgx2.yaml";
  std::ofstream(file) << resolved_text(first);
  const Run again = run_closed(testing::shipped_experiment(file.string()));
  CHECK(again.pace.time == first.pace.time);
  CHECK(resolved_text(again) == resolved_text(first));
  CHECK(again.notes == first.notes);
  CHECK(again.calibrated_on == first.calibrated_on);
}

TEST_CASE("a trace with durations has nothing to scale; one without is scaled") {
  const TemporaryFolder folder;
  const ResolvedExperiment model = shipped_experiment("resnet50_dgx2", {{"gpus", "1"}});
  std::ofstream(folder.path / "timed.csv") << write_trace(export_trace(model, true));
  std::ofstream(folder.path / "untimed.csv") << write_trace(export_trace(model, false));
  const auto replayed = [&](const std::string& trace) {
    const auto file = folder.path / (trace + ".yaml");
    std::ofstream(file) << "platform: dgx2\ngpus: 1\ntrace: " << trace
                        << ".csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\none_gpu: 350 samples/s\n";
    return run_closed(testing::shipped_experiment(file.string()));
  };
  CHECK(replayed("untimed").pace.throughput == doctest::Approx(350).epsilon(1e-9));
  CHECK_THROWS_WITH_AS(replayed("timed"), doctest::Contains("duration_s"), InputError);
}
