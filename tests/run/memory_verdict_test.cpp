#include "run/memory_verdict.hpp"

#include "has_all.hpp"
#include "run/export_trace.hpp"
#include "run/figures.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "units/text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <string>

using namespace trainyard;

namespace {

/// One V100 of 16 GB of the DLPerf cluster.
ResolvedExperiment on_16_gb(const Overrides& overrides) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "one_gpu.yaml").string();
  std::ofstream(file) << "platform: dlperf\ngpus: 1\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 1\n";
  return testing::shipped_experiment(file, overrides);
}

MemoryReport report_of(const Overrides& overrides) { return fullest(memory_reports(on_16_gb(overrides))); }

/// Between two largest batches the sum of the terms passes the capacity.
bool is_largest(const Overrides& overrides, int batch) {
  Overrides at = overrides;
  at.emplace_back("batch_per_gpu", std::to_string(batch));
  Overrides above = overrides;
  above.emplace_back("batch_per_gpu", std::to_string(batch + 1));
  return report_of(at).fits && !report_of(above).fits;
}

}  // namespace

TEST_CASE("GPT-2 XL does not fit on a V100 of 16 GB, whatever the batch") {
  const MemoryReport report = report_of({{"model", "gpt2_xl"}, {"optimizer", "adam"}});
  CHECK_FALSE(report.fits);
  CHECK(report.largest_batch == 0);
  CHECK(largest_term(report.terms).name == "activations");  // 16.9 GB; Adam's moments are 12.5 GB
  CHECK(report.terms.parameters == Bytes(4 * 1557611200.0));
  CHECK(report.terms.optimizer_state == Bytes(8 * 1557611200.0));
  CHECK(has_all(verdict(report), "does not fit into v100_sxm2_16gb", gpu_memory(report.peak),
                gpu_memory(report.peak - report.available), gpu_memory(report.available),
                "activations, " + gpu_memory(report.terms.activations), "no smaller batch"));
  const MemoryReport half =
      report_of({{"model", "gpt2_xl"}, {"optimizer", "adam"}, {"precision", "fp16"}, {"batch_per_gpu", "8"}});
  CHECK_FALSE(half.fits);
  CHECK(has_all(verdict(half), "activations, ", "batch_per_gpu of 1", "optimizer_state, 17.4 GB"));
  CHECK_THROWS_AS(
      simulate(on_16_gb({{"model", "gpt2_xl"}, {"optimizer", "adam"}}), {.fidelity = Fidelity::closed}),
      OutOfMemory);
}

TEST_CASE("a step that does not fit says by how much, why, and what would") {
  const MemoryReport report = report_of({{"batch_per_gpu", "256"}});
  CHECK(report.peak == total(report.terms));
  CHECK(report.utilization == report.peak / Bytes(16 * 1073741824.0));
  const std::string largest = fmt::format(" {}", report.largest_batch);
  CHECK(has_all(verdict(report), gpu_memory(report.peak), gpu_memory(report.peak - report.available),
                gpu_memory(report.available), "activations, " + gpu_memory(report.terms.activations),
                largest));
  CHECK(has_all(verdict(report_of({})), "fits", largest));
  try {
    simulate(on_16_gb({{"batch_per_gpu", "256"}}), {.fidelity = Fidelity::closed});
    FAIL("it ran");
  } catch (const OutOfMemory& error) {
    CHECK(std::string(error.what()).starts_with("batch_per_gpu 256 does not fit into v100_sxm2_16gb: "));
  }
}

TEST_CASE("a shortage below 0.01 GB is not shown as none") {
  MemoryReport report = report_of({{"model", "gpt2_xl"}, {"optimizer", "adam"}});
  REQUIRE_FALSE(report.fits);
  report.peak = report.available + Bytes(3e6);
  CHECK(verdict(report).find(", 3 MB more than") != std::string::npos);
}

TEST_CASE("the largest batch fits and one more does not") {
  for (const Overrides& overrides :
       {Overrides{}, Overrides{{"precision", "amp"}},
        Overrides{{"model", "bert_base"}, {"optimizer", "lamb"}, {"gpus", "16"}, {"nodes", "2"}}}) {
    CHECK(is_largest(overrides, report_of(overrides).largest_batch));
  }
}

TEST_CASE("several ranks keep copies of their gradients and NCCL's buffers, one rank neither") {
  const MemoryReport alone = report_of({});
  CHECK(alone.terms.gradient_buckets == Bytes());
  CHECK(alone.terms.communication_buffers == Bytes());
  const MemoryReport eight = report_of({{"gpus", "8"}});
  CHECK(eight.terms.gradient_buckets == Bytes(4 * 25557032.0));
  constexpr double mib = 1048576;
  CHECK(eight.terms.communication_buffers == Bytes(12 * 24 * mib));  // two channels for each of six rings
  CHECK(report_of({{"gpus", "8"}, {"stack.nccl", "'2.4'"}}).terms.communication_buffers ==
        Bytes(12 * 12 * mib));
  CHECK(memory_reports(on_16_gb({{"gpus", "8"}}), false).front().terms.communication_buffers == Bytes());
  CHECK(report_of({{"gpus", "8"}, {"stack.gradient_dtype", "fp16"}}).terms.gradient_buckets ==
        Bytes(2 * 25557032.0));
  CHECK(report_of({{"gpus", "8"}, {"stack", "horovod_0_20"}}).terms.gradient_buckets == Bytes(67108864));
}

TEST_CASE("a run with memory: ignore goes on with a warning") {
  const Overrides too_large{{"batch_per_gpu", "256"}};
  CHECK_THROWS_AS(simulate(on_16_gb(too_large), {.fidelity = Fidelity::closed}), OutOfMemory);
  Overrides ignoring = too_large;
  ignoring.emplace_back("memory", "ignore");
  const Run run = simulate(on_16_gb(ignoring), {.fidelity = Fidelity::closed});
  CHECK(run.pace.throughput > 0);
  REQUIRE(run.memory);
  CHECK_FALSE(fullest(*run.memory).fits);
  REQUIRE_FALSE(run.notes.empty());
  CHECK(has_all(run.notes.front(), "memory", "batch_per_gpu 256", "does not fit", "ignore"));
  const Run fitting = simulate(on_16_gb({{"memory", "ignore"}}), {.fidelity = Fidelity::closed});
  CHECK(fitting.notes.front().find("ignore") == std::string::npos);
}

TEST_CASE("the driver and the allocator leave a part of the memory, and a stack may state the context") {
  const Overrides plain{{"stack.memory", "{}"}};
  const MemoryReport whole = report_of(plain);
  const Bytes usable{16160.0 * 1048576};
  CHECK(whole.capacity == Bytes(16.0 * 1073741824));
  CHECK(whole.available == usable);
  Overrides pooled{{"stack.memory", "{pool: 0.5, context: 1 GB}"}};
  const MemoryReport half = report_of(pooled);
  CHECK(half.terms.context == Bytes(1e9));
  CHECK(half.available.si() == doctest::Approx(1e9 + 0.5 * (usable.si() - 1e9)).epsilon(1e-12));
  CHECK(is_largest(pooled, half.largest_batch));
  CHECK(half.largest_batch < whole.largest_batch);
}

TEST_CASE("NCCL's buffers lie outside the allocator's pool as long as there is room") {
  const auto available = [](const char* pool) {
    return report_of({{"gpus", "8"}, {"stack.memory", fmt::format("{{pool: {}, context: 1 GB}}", pool)}})
        .available.si();
  };
  const double usable = 16160.0 * 1048576;
  CHECK(available("0.5") == doctest::Approx(1e9 + 288 * 1048576.0 + 0.5 * (usable - 1e9)).epsilon(1e-12));
  CHECK(available("0.99") == usable);
}

TEST_CASE("gradient accumulation keeps one micro-batch") {
  CHECK(report_of({{"batch_per_gpu", "32"}, {"accumulation", "4"}}).terms ==
        report_of({{"batch_per_gpu", "32"}}).terms);
}

TEST_CASE("a trace that does not state its memory has no verdict") {
  ResolvedExperiment resolved = on_16_gb({});
  resolved.model.reset();
  CHECK_THROWS_AS(memory_reports(resolved), InputError);
  const Run run = simulate(resolved, {.fidelity = Fidelity::closed});
  CHECK_FALSE(run.memory);
  const std::string reason = run.memory.error();
  CHECK(has_all(reason, "memory_bytes"));
  for (const char* field : {"memory_peak_bytes", "memory_capacity_bytes", "memory_utilization"})
    CHECK(unmodelled(run).at(field) == reason);
}

TEST_CASE("a result has its memory, energy, tokens and the assumptions they rest on") {
  const Overrides bert{{"platform", "dgx2"}, {"gpus", "16"}, {"model", "bert_base"}, {"batch_per_gpu", "32"}};
  const Run run = simulate(on_16_gb(bert), {.fidelity = Fidelity::closed});
  REQUIRE(run.memory);
  CHECK(run.memory->front().capacity == Bytes(32 * 1073741824.0));
  CHECK(*tokens_per_second(run) == doctest::Approx(128 * run.pace.throughput).epsilon(1e-12));
  CHECK((run.energy->average * run.pace.time).si() == doctest::Approx(run.energy->per_step.si()));
  CHECK(run.energy->average > Watts(16 * 350 * 0.2 + 4400));
  CHECK(run.energy->average < Watts(16 * 350 * 0.95 + 4400));
  CHECK_FALSE(run.cost);
  CHECK(has_all(unmodelled(run).at("cost_per_epoch_usd"), "samples of an epoch"));
  REQUIRE(run.notes.size() == 3);
  CHECK(run.notes[0].starts_with("memory: "));
  CHECK(run.notes[1].starts_with("energy: "));
  CHECK(run.notes[2].starts_with("kernels take 2.6 % longer than on one GPU"));
}

TEST_CASE("rented nodes give the cost of an epoch, used in full or not") {
  const Overrides rented{
      {"platform", "p3_16xlarge"}, {"nodes", "2"}, {"gpus", "12"}, {"batch_per_gpu", "64"}};
  const Run run = simulate(on_16_gb(rented), {.fidelity = Fidelity::closed});
  REQUIRE(run.cost);
  CHECK(run.cost->per_node_hour == Dollars(24.48));
  CHECK(run.cost->per_epoch.si() == doctest::Approx(2 * 24.48 * epoch_time(run)->si() / 3600).epsilon(1e-12));
  REQUIRE(run.energy);
  CHECK(run.energy->average > Watts(2 * 1100.0));

  Overrides without_power = rented;
  without_power.front().second = "dss8440";
  const Run unknown = simulate(on_16_gb(without_power), {.fidelity = Fidelity::closed});
  CHECK_FALSE(unknown.energy);
  CHECK(has_all(unmodelled(unknown).at("average_power_w"), "dss8440 ", "(node.power)"));
}

namespace {

/// An experiment on one V100 of 16 GB that replays a trace with this heading.
ResolvedExperiment replay(const std::string& heading, const Overrides& overrides = {}) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "t.csv") << heading << "phase,layer,duration_s\nforward,everything,0.1\n";
  const std::string file = (folder.path / "replay.yaml").string();
  std::ofstream(file) << "platform: dlperf\ngpus: 1\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 4\n";
  return testing::shipped_experiment(file, overrides);
}

}  // namespace

TEST_CASE("a replay has the memory that its trace states, and does not run where it does not fit") {
  const MemoryReport fits = fullest(memory_reports(replay("# memory_bytes: 12000000000\n")));
  CHECK(fits.peak == Bytes(12e9));
  CHECK(fits.fits);
  CHECK(verdict(fits) == "fits");
  const std::string large = "# memory_bytes: 20000000000\n";
  CHECK_THROWS_AS(simulate(replay(large), {.fidelity = Fidelity::closed}), OutOfMemory);
  CHECK(has_all(verdict(fullest(memory_reports(replay(large)))), "does not fit into v100_sxm2_16gb",
                "a trace fixes its batch"));
  CHECK(simulate(replay(large, {{"memory", "ignore"}}), {.fidelity = Fidelity::closed}).memory.has_value());
}

TEST_CASE("a replay of a trace without its memory has none") {
  CHECK_FALSE(simulate(replay(""), {.fidelity = Fidelity::closed}).memory.has_value());
  CHECK_THROWS_AS((void)memory_reports(replay("")), InputError);
}

TEST_CASE("an exported trace states the memory of the model that it came from") {
  const ResolvedExperiment model = on_16_gb({{"batch_per_gpu", "8"}});
  CHECK(export_trace(model, true).memory == fullest(memory_reports(model, false)).peak);
}
