// Samples that NVIDIA DALI decodes, against sums that can be made by hand.

#include "compute/op_time.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/decoding.hpp"
#include "experiment/one_gpu.hpp"
#include "report/limits.hpp"
#include "report/trace_json.hpp"
#include "run/energy.hpp"
#include "run/power_over_step.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

ResolvedExperiment dali_job(Overrides overrides, const std::string& experiment = "resnet50_dgx2") {
  overrides.insert(overrides.begin(), {{"input.data", "real"}, {"input.loader", "dali"}});
  return testing::shipped_experiment(experiment, overrides);
}

Run dali_run(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

Run without_loader(const Overrides& overrides = {}) {
  return dali_run(testing::shipped_experiment("resnet50_dgx2", overrides));
}

/// 16 ranks with 128 samples each.
constexpr double samples_of_dali_step = 16 * 128;

constexpr const char* dali_cost =
    "{decode: 20 ms, huffman: 15 ms, coefficients: 600 KB, kernels: 100 MB, resize: 40 MB}";

/// The kernel time of a step's samples with this traffic on a V100, in seconds.
double kernel_seconds(const ResolvedExperiment& resolved, double traffic) {
  Op op;
  op.kind = OpKind::elementwise;
  op.bytes = Bytes{resolved.settings.batch_per_gpu * traffic};
  return resolved.settings.accumulation *
         op_time(resolved.gpu, resolved.settings.precision, op).duration.si();
}

std::string dali_refusal(Overrides overrides, const std::string& experiment = "resnet50_dgx2") {
  try {
    (void)testing::shipped_experiment(experiment, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool dali_says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("DALI on CPUs decodes at its own rate per core") {
  const Run limited = dali_run(dali_job({{"model.input.dali", dali_cost}}));
  CHECK(limited.pace.time.si() == doctest::Approx(samples_of_dali_step * 20e-3 / 48).epsilon(1e-12));
  CHECK(limited.gpu_utilization * limited.pace.time.si() ==
        doctest::Approx(without_loader().gpu_utilization * without_loader().pace.time.si()).epsilon(1e-9));
  const ResolvedExperiment shipped = dali_job({});
  CHECK(data_loading(shipped, *shipped.cluster)->decode.si() ==
        doctest::Approx(samples_of_dali_step * shipped.model->input->dali->decode.value.si() / 48)
            .epsilon(1e-12));
}

TEST_CASE("without a hardware decoder cores decode Huffman codes, and kernels delay every step") {
  const ResolvedExperiment hybrid =
      dali_job({{"input.decode", "gpu"},
                {"model.input.dali",
                 "{decode: 20 ms, huffman: 1 us, coefficients: 600 KB, kernels: 100 MB, resize: 40 MB}"}});
  CHECK(is_hybrid(hybrid));
  const double decoding = kernel_seconds(hybrid, 100e6);
  CHECK(decoding > 128 * 100e6 / 900e9);  // no faster than a V100's memory
  const double step = without_loader().pace.time.si();
  const Run delayed = dali_run(hybrid);
  CHECK(delayed.pace.time.si() == doctest::Approx(step + decoding).epsilon(1e-9));
  CHECK(delayed.input->exposed.si() == doctest::Approx(0).epsilon(1e-12));
  CHECK(delayed.pace.one_rank.si() ==
        doctest::Approx(without_loader().pace.one_rank.si() + decoding).epsilon(1e-9));
  CHECK(delayed.gpu_utilization ==
        doctest::Approx((without_loader().gpu_utilization * step + decoding) / (step + decoding))
            .epsilon(1e-9));
  CHECK_FALSE(dali_says(limit_in_words(delayed), "Input:"));
  const Run slow_cores = dali_run(dali_job({{"input.decode", "gpu"}, {"model.input.dali", dali_cost}}));
  CHECK(slow_cores.pace.time.si() == doctest::Approx(samples_of_dali_step * 15e-3 / 48).epsilon(1e-12));
  CHECK(slow_cores.input->exposed.si() ==
        doctest::Approx(samples_of_dali_step * 15e-3 / 48 - step - decoding).epsilon(1e-9));
  CHECK(dali_says(limit_in_words(slow_cores), "48 of 48 cores of a node decode"));
  const Run in_turn = dali_run(
      dali_job({{"input.decode", "gpu"}, {"input.prefetch", "false"}, {"model.input.dali", dali_cost}}));
  CHECK(in_turn.pace.time.si() == doctest::Approx(step + samples_of_dali_step * 15e-3 / 48).epsilon(1e-9));
}

TEST_CASE("kernels that decode have a part of the step, a slice and the power of their kind") {
  for (const char* const prefetch : {"true", "false"}) {
    const ResolvedExperiment hybrid = dali_job({{"input.decode", "gpu"}, {"input.prefetch", prefetch}});
    const double decoding = decoding_kernels(hybrid).si();
    const Run run = simulate(hybrid, {});
    const Run plain = simulate(testing::shipped_experiment("resnet50_dgx2", {}), {});
    Seconds sum;
    double of_decoding = 0;
    for (const PartTime& part : step_parts(run).parts) {
      sum += part.time;
      if (part.part == StepPart::decoding) of_decoding = part.time.si();
    }
    CHECK(of_decoding == doctest::Approx(decoding).epsilon(1e-12));
    CHECK(sum.si() == doctest::Approx(run.pace.time.si()).epsilon(1e-9));
    const auto slices = std::ranges::count(timeline_of(run), "decoding", &TimelineEvent::category);
    CHECK(slices == 16);
    CHECK(dali_says(trace_json(run), R"("name":"decoding")"));
    const StatePowers powers = state_powers(hybrid.gpu);
    const Watts others = node_overhead(hybrid.platform, hybrid.gpu)->value;
    const double waits = run.pace.time.si() - plain.pace.time.si() - decoding;
    const double expected = plain.energy->per_step.si() + others.si() * (decoding + waits) +
                            16 * (powers.vector.si() * decoding + powers.waiting.si() * waits);
    CHECK(run.energy->per_step.si() == doctest::Approx(expected).epsilon(1e-9));
    double of_ranks = 0;
    for (int rank = 0; rank < 16; ++rank) {
      for (const PowerSpan& span : power_over_step(run, Rank{rank}))
        of_ranks += (span.power * (span.end - span.start)).si();
    }
    CHECK(of_ranks == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
  }
}

TEST_CASE("replicas that divide single layers read samples of their own") {
  for (const char* const storage : {"1 kB/s", "1 TB/s"}) {
    for (const char* const prefetch : {"true", "false"}) {
      const auto divided = [&](Overrides overrides) {
        overrides.insert(overrides.end(), {{"nodes", "1"}, {"platform.node.storage.bandwidth", storage}});
        return dali_run(testing::shipped_experiment("wide_deep_tianshu", overrides));
      };
      const Run run = divided({{"input.data", "real"}, {"input.prefetch", prefetch}});
      const Run plain = divided({});
      const ResolvedExperiment& resolved = run.experiment;
      const double samples = 8.0 * resolved.settings.batch_per_gpu;
      const double reading =
          samples * resolved.model->input->bytes->value.si() / resolved.platform.storage->value.si();
      const double step = plain.pace.time.si();
      const double input = run.input->loading.time.si();
      const bool is_ahead = std::string(prefetch) == "true";
      CHECK(run.pace.time.si() ==
            doctest::Approx(is_ahead ? std::max(step, input) : step + input).epsilon(1e-9));
      double sum = 0;
      for (const PartTime& part : step_parts(run).parts) sum += part.time.si();
      CHECK(sum == doctest::Approx(run.pace.time.si()).epsilon(1e-9));
      CHECK(run.input->storage->share == doctest::Approx(reading / run.pace.time.si()).epsilon(1e-9));
    }
  }
}

TEST_CASE("cores write a sample's coefficients to host memory, and the GPU copies them") {
  const ResolvedExperiment hybrid = dali_job({{"input.decode", "gpu"}, {"model.input.dali", dali_cost}});
  const double stored = hybrid.model->input->bytes->value.si();
  const double bandwidth = 2 * hybrid.platform.host_memory_bandwidth->value.si();
  CHECK(data_loading(hybrid, *hybrid.cluster)->memory.si() ==
        doctest::Approx(samples_of_dali_step * 2 * (stored + 600e3) / bandwidth).epsilon(1e-12));
}

TEST_CASE("a step of several micro-batches decodes each of them; workers are cores for Huffman codes") {
  const ResolvedExperiment twice = dali_job({{"input.decode", "gpu"},
                                             {"accumulation", "2"},
                                             {"input.workers", "2"},
                                             {"model.input.dali", dali_cost}});
  const DataLoading loading = data_loading(twice, *twice.cluster).value();
  CHECK(loading.kernels.si() == doctest::Approx(kernel_seconds(twice, 100e6)).epsilon(1e-12));
  CHECK(loading.kernels.si() ==
        doctest::Approx(
            2 * decoding_kernels(dali_job({{"input.decode", "gpu"}, {"model.input.dali", dali_cost}})).si()));
  CHECK(loading.decode.si() == doctest::Approx(2 * samples_of_dali_step * 15e-3 / 32).epsilon(1e-12));
}

TEST_CASE("with a hardware decoder only resizing takes kernels, and no core is needed") {
  const ResolvedExperiment a100 = dali_job({{"model", "resnet50"},
                                            {"input.decode", "gpu"},
                                            {"batch_per_gpu", "64"},
                                            {"optimizer", "momentum"},
                                            {"model.input.dali", dali_cost}},
                                           "bert_large_dgx_a100");
  CHECK_FALSE(is_hybrid(a100));
  const DataLoading loading = data_loading(a100, *a100.cluster).value();
  CHECK(loading.cores == 0);
  CHECK(loading.decoder == 64 * a100.gpu.image_decoder->value);
  CHECK(loading.taken.si() == doctest::Approx(kernel_seconds(a100, 40e6)).epsilon(1e-12));
}

TEST_CASE("a measured throughput of one GPU that decodes comes out as it went in") {
  const ResolvedExperiment measured =
      dali_job({{"input.decode", "gpu"}, {"gpus", "1"}, {"one_gpu", "300 samples/s"}});
  CHECK(128 / one_rank_step(measured).si() == doctest::Approx(300).epsilon(1e-9));
}

TEST_CASE("what DALI cannot do is refused with what would be possible") {
  const auto with = [](Overrides more, const std::string& experiment = "resnet50_dgx2") {
    more.insert(more.end(), {{"input.data", "real"}, {"input.loader", "dali"}});
    return dali_refusal(more, experiment);
  };
  CHECK(dali_says(dali_refusal({{"input.loader", "dali"}}), "'loader' applies only to real data"));
  CHECK(dali_says(dali_refusal({{"input.data", "real"}, {"input.decode", "gpu"}}), "loader: dali"));
  CHECK(dali_says(with({}, "bert_large_dgx_a100"), "leave out 'loader'"));
  CHECK(dali_says(with({{"model.input", "{bytes: 1 MB, decode: 4 ms}"}}), "input.dali"));
  CHECK(dali_says(with({{"input.decode", "gpu"}, {"random.slow", "[{node: 0, factor: 2}]"}}),
                  "not simulated for runs of many updates"));
  CHECK(dali_says(dali_refusal({{"input.data", "real"}, {"input.loader", "nvjpeg"}}),
                  "dali, with decode: gpu"));
}
