#include "calibration/calibrate_gpu.hpp"

#include "calibration/fit_curves.hpp"
#include "calibration/synthetic.hpp"
#include "compute/tiny_gpu.hpp"
#include "errors_of.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

GpuProfile tiny_to_calibrate() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

Recording some_products() {
  Recording recording = gemm_recording(Dtype::fp32, {0.62, 0.55, Seconds(8e-6)});
  recording.name = "tiny_kernels.csv";
  return recording;
}

/// A framework's vector ops, timed on the GPU.
Recording pytorch_vectors() {
  Recording recording = together(vector_recording(OpKind::elementwise, 0.7, Seconds(3e-6)),
                                 vector_recording(OpKind::layer_norm, 0.5, Seconds(6e-6)));
  recording.name = "pytorch.csv";
  return recording;
}

RecordedKernel power_row(const std::string& state, double watts) {
  RecordedKernel row;
  row.op = "power";
  row.variant = state;
  row.time = Seconds(2);
  row.power = Watts(watts);
  return row;
}

Recording framework_softmax() {
  Recording recording = vector_recording(OpKind::softmax, 0.6, Seconds(4e-6));
  recording.name = "framework.csv";
  recording.facts.is_framework_timing = true;
  for (RecordedKernel& row : recording.rows) {
    row.variant = "forward";
    row.time = std::max(row.time, Seconds(40e-6));
  }
  return recording;
}

}  // namespace

TEST_CASE("a calibrated profile says what it was fitted to and how far it misses") {
  Recording recording = some_products();
  recording.facts.gpu = "Tiny GPU";
  recording.facts.driver = "1.2";
  recording.facts.cuda = "13.0";
  recording.facts.cublaslt = "13.1";
  recording.facts.cudnn = "9.0";
  recording.facts.date = "2026-11-21";
  recording.facts.source = "a test";
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {recording});
  CHECK(gpu.kernels == "tiny_kernels.csv");
  CHECK(gpu.kernel_table.gemms.size() == 64);
  REQUIRE(gpu.calibration);
  const Calibration& calibration = *gpu.calibration;
  CHECK(calibration.recordings == std::vector<std::string>{"tiny_kernels.csv"});
  CHECK(calibration.measured_with ==
        std::vector<std::string>{"tiny_kernels.csv: Tiny GPU, driver 1.2, CUDA 13.0, cuBLASLt 13.1, cuDNN "
                                 "9.0, 2026-11-21; a test"});
  REQUIRE(calibration.held_out.size() == 1);
  CHECK(calibration.held_out[0].kernels == "gemm fp32");
  CHECK(calibration.held_out[0].count == 64);
  CHECK(calibration.held_out[0].mape < 0.005);
  CHECK_FALSE(calibration.scaled_from);
  CHECK(calibration.scaling.empty());
  const std::string source = gpu.matrix.fp32.gemm->source;
  CHECK(source.starts_with("64 kernels of tiny_kernels.csv; mean error on held-out shapes 0."));
}

TEST_CASE("a recording that says nothing of itself is of an unnamed GPU") {
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {some_products()});
  CHECK(gpu.calibration->measured_with == std::vector<std::string>{"tiny_kernels.csv: unnamed GPU"});
}

TEST_CASE("a recording of vector ops alone stands in place of the other's vector ops") {
  const Recording streams = vector_recording(OpKind::elementwise, 0.9, Seconds(2e-6));
  const Recording gathers = vector_recording(OpKind::embedding, 0.8, Seconds(2e-6));
  const Recording kernels = together(together(some_products(), streams), gathers);
  const GpuProfile own = calibrate(tiny_to_calibrate(), {kernels});
  CHECK(own.kernels == "tiny_kernels.csv");
  CHECK_FALSE(own.vector_kernels);
  CHECK(own.vector.elementwise.value == doctest::Approx(0.9).epsilon(0.01));
  CHECK(own.vector.embedding.provenance == Provenance::fitted);

  const GpuProfile both = calibrate(tiny_to_calibrate(), {kernels, pytorch_vectors()});
  CHECK(both.kernels == "tiny_kernels.csv");
  CHECK(both.vector_kernels == "pytorch.csv");
  CHECK(both.kernel_table.gemms.size() == 64);
  CHECK(both.kernel_table.vectors.size() == 40);
  CHECK(both.vector.elementwise.value == doctest::Approx(0.7).epsilon(0.01));
  CHECK(both.vector.elementwise.source.starts_with("20 kernels of pytorch.csv; mean error"));
  CHECK(both.vector.layer_norm.value == doctest::Approx(0.5).epsilon(0.01));
  CHECK(both.vector.t0.value.si() == doctest::Approx(6e-6).epsilon(0.01));
  CHECK(both.vector.embedding.provenance == Provenance::assumed);  // no framework's was measured
  CHECK(both.matrix.fp32.gemm->source == own.matrix.fp32.gemm->source);
  CHECK(both.calibration->recordings == std::vector<std::string>{"tiny_kernels.csv", "pytorch.csv"});
}

TEST_CASE("either table of a former calibration can be replaced without the other") {
  const Recording streams = vector_recording(OpKind::elementwise, 0.9, Seconds(2e-6));
  const GpuProfile known = calibrate(tiny_to_calibrate(), {together(some_products(), streams)});

  const GpuProfile with_vectors = calibrate(known, {pytorch_vectors()});
  CHECK(with_vectors.kernels == "tiny_kernels.csv");
  CHECK(with_vectors.vector_kernels == "pytorch.csv");
  CHECK(with_vectors.kernel_table.gemms.size() == 64);
  CHECK(with_vectors.kernel_table.vectors.size() == 40);

  Recording products = some_products();
  products.name = "new.csv";
  const GpuProfile with_products = calibrate(with_vectors, {products});
  CHECK(with_products.kernels == "new.csv");
  CHECK(with_products.vector_kernels == "pytorch.csv");
  CHECK(with_products.kernel_table.vectors.size() == 40);
  CHECK(
      calibrate(known, {products}).kernel_table.vectors.empty());  // those lay in the table that is replaced

  Recording all = together(products, streams);
  const GpuProfile with_all = calibrate(with_vectors, {all});
  CHECK(with_all.kernels == "new.csv");
  CHECK_FALSE(with_all.vector_kernels);
  CHECK(with_all.kernel_table.vectors.size() == 20);
}

TEST_CASE("a framework's recording beside one of kernels alone adds to the fit, not to the table") {
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {framework_softmax(), some_products()});
  CHECK(gpu.kernels == "tiny_kernels.csv");
  CHECK(gpu.calibration->recordings == std::vector<std::string>{"framework.csv", "tiny_kernels.csv"});
  CHECK(gpu.vector.softmax.value == doctest::Approx(0.6).epsilon(0.01));
  CHECK(gpu.vector.softmax.source.starts_with("20 kernels of framework.csv; mean error"));
  CHECK(gpu.vector.t0.provenance == Provenance::assumed);
  CHECK_FALSE(calibrate(tiny_to_calibrate(), {framework_softmax()}).kernels);
}

TEST_CASE("measured power replaces what the specification assumes") {
  Recording recording = some_products();
  recording.rows.push_back(power_row("idle", 60));
  recording.rows.push_back(power_row("vector", 200.1));
  recording.rows.push_back(power_row("gemm", 285));
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {recording});  // 300 W
  REQUIRE(gpu.power);
  CHECK(gpu.power->idle.value == 0.2);
  CHECK(gpu.power->vector.value == 0.667);
  CHECK(gpu.power->matrix.value == 0.95);
  CHECK(gpu.power->matrix.provenance == Provenance::measured);
  CHECK(gpu.power->matrix.source == "285.0 W over some seconds, by NVML");
}

TEST_CASE("without all three states, or without a TDP, power stays as it was") {
  Recording recording = some_products();
  recording.rows.push_back(power_row("idle", 60));
  recording.rows.push_back(power_row("gemm", 285));
  CHECK_FALSE(calibrate(tiny_to_calibrate(), {recording}).power);
  recording.rows.push_back(power_row("vector", 200));
  GpuProfile unknown = tiny_to_calibrate();
  unknown.tdp = {};
  unknown.power = {{0.1, Provenance::assumed, "a guess"},
                   {0.6, Provenance::assumed, "a guess"},
                   {0.9, Provenance::assumed, "a guess"}};
  CHECK(calibrate(unknown, {recording}).power->idle.value == 0.1);
}

TEST_CASE("what a calibration does not replace of a former one stays") {
  GpuProfile known = tiny_to_calibrate();
  Calibration before;
  before.scaled_from = "other";
  before.scaling = {{"gemm fp32 of third", 10, 0.2, 0.1, 0.3, 0.2}};
  before.recordings = {"tiny_kernels.csv", "old.csv"};
  before.measured_with = {"tiny_kernels.csv: Tiny, last year", "old.csv: Tiny"};
  before.held_out = {{"gemm fp32", 10, 0.9, 0.9, 0.9, 0.9}, {"softmax", 10, 0.2, 0.1, 0.3, 0.2}};
  known.calibration = before;
  const Calibration after = calibrate(known, {some_products()}).calibration.value();
  CHECK(after.scaled_from == "other");
  REQUIRE(after.scaling.size() == 1);
  CHECK(after.scaling[0].kernels == "gemm fp32 of third");
  CHECK(after.recordings == std::vector<std::string>{"old.csv", "tiny_kernels.csv"});
  CHECK(after.measured_with == std::vector<std::string>{"old.csv: Tiny", "tiny_kernels.csv: unnamed GPU"});
  REQUIRE(after.held_out.size() == 2);
  CHECK(after.held_out[0].kernels == "gemm fp32");
  CHECK(after.held_out[0].count == 64);
  CHECK(after.held_out[1].kernels == "softmax");
  CHECK(after.held_out[1].mape == 0.2);
}

TEST_CASE("a framework's recording leaves the kernels of a former calibration where they are") {
  const GpuProfile known = calibrate(tiny_to_calibrate(), {some_products()});
  const GpuProfile more = calibrate(known, {framework_softmax()});
  CHECK(more.kernels == "tiny_kernels.csv");
  CHECK(more.kernel_table.gemms.size() == 64);
  CHECK(more.matrix.fp32.gemm->source == known.matrix.fp32.gemm->source);
  CHECK(more.vector.softmax.provenance == Provenance::fitted);
}

TEST_CASE("a calibrated profile reads back to an equal one") {
  Recording recording =
      together(some_products(), together(vector_recording(OpKind::softmax, 0.6, Seconds(4e-6)),
                                         conv_recording(OpKind::conv_dgrad, Dtype::fp32,
                                                        {0.2, 0.7, 0.45, 1.7, 0.55, 0.65, Seconds(15e-6)})));
  recording.facts.gpu = "Tiny: \"GPU\" # 1";
  GpuProfile gpu = calibrate(tiny_to_calibrate(), {recording});
  gpu.kernels.reset();  // the table is a separate file
  const std::string text = profile_text(gpu);
  const std::optional<Calibration> whole = gpu.calibration;
  CHECK(text.starts_with("# yaml-language-server: $schema=../schema/gpu.json\n"));
  CHECK(text.find("it replaces the `fitted` figures") != std::string::npos);
  gpu.calibration->recordings.clear();  // nothing to fit again
  CHECK(profile_text(gpu).find("it replaces") == std::string::npos);
  gpu.calibration = whole;
  const GpuProfile read = load_gpu_profile(config::parse("tiny.yaml", text));
  CHECK(profile_text(read) == text);
  CHECK(read.matrix.fp32.gemm->value.t0 == gpu.matrix.fp32.gemm->value.t0);
  CHECK(read.vector.softmax == gpu.vector.softmax);
  CHECK(read.memory.capacity == gpu.memory.capacity);
  CHECK(read.calibration->measured_with == gpu.calibration->measured_with);
  CHECK(read.calibration->held_out.size() == 3);
}

TEST_CASE("calibrating twice is calibrating once") {
  const GpuProfile once = calibrate(tiny_to_calibrate(), {some_products(), framework_softmax()});
  const GpuProfile twice = calibrate(once, {some_products(), framework_softmax()});
  CHECK(profile_text(twice) == profile_text(once));
}

TEST_CASE("of many products only as many as asked for stay beside the profile, in a file of their own") {
  Recording recording =
      together(many_products(Dtype::fp32, {0.6, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)}),
               vector_recording(OpKind::softmax, 0.6, Seconds(4e-6)));
  recording.name = "mine.csv";
  recording.facts.gpu = "Tiny GPU";
  recording.rows.push_back(power_row("idle", 60));
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {recording}, 50);
  CHECK(gpu.kernels == "mine_kernels.csv");
  CHECK(gpu.kernel_table.gemms.size() == 50);
  CHECK(gpu.kernel_table.vectors.size() == 20);
  CHECK(
      gpu.matrix.fp32.gemm->source.starts_with("700 kernels of mine.csv; mean error on held-out (n, k) 0."));
  const std::optional<Recording> part = table_beside(gpu, {recording});
  REQUIRE(part);
  CHECK(part->name == "mine_kernels.csv");
  CHECK(part->facts.gpu == "Tiny GPU");
  CHECK(part->rows.size() == 70);
  const KernelTable read = kernel_table(read_recording(part->name, recording_text(*part)));
  REQUIRE(read.gemms.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(read.gemms[i].shape == gpu.kernel_table.gemms[i].shape);
    CHECK(read.gemms[i].duration.si() == doctest::Approx(gpu.kernel_table.gemms[i].duration.si()));
  }

  const GpuProfile all = calibrate(tiny_to_calibrate(), {recording}, 700);
  CHECK(all.kernels == "mine.csv");
  CHECK_FALSE(table_beside(all, {recording}));
}

TEST_CASE("the part of a recording leaves out vector ops in whose place others stand") {
  const Recording recording =
      together(many_products(Dtype::fp32, {0.6, 0.7, Seconds(3e-6), 2.5, 150, Seconds(2e-6)}),
               vector_recording(OpKind::elementwise, 0.9, Seconds(4e-6)));
  const GpuProfile gpu = calibrate(tiny_to_calibrate(), {recording, pytorch_vectors()}, 50);
  const std::optional<Recording> part = table_beside(gpu, {recording, pytorch_vectors()});
  REQUIRE(part);
  CHECK(part->rows.size() == 50);
}

namespace {

/// Products in bf16, calls in fp8 that cast their input, and passes of attention.
Recording layers_with_casts() {
  Recording recording =
      many_products(Dtype::bf16, {0.7, 0.8, Seconds(2e-6), 2.5, 100, Seconds(2.5e-6)}, FlopRate(100e12));
  const CastFit cast{Seconds(3e-6), Bandwidth(0.5e12), Seconds(5e-9), Seconds(0.5e-9)};
  for (RecordedKernel row :
       many_products(Dtype::fp8, {0.6, 0.7, Seconds(2e-6), 2, 300, Seconds(2.5e-6)}, FlopRate(200e12)).rows) {
    row.time = row.time + cast_time(cast, std::get<GemmShape>(row.shape));
    row.variant = variant_with_cast;
    recording.rows.push_back(row);
  }
  for (const int n : {1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288}) {
    for (const int batch : {4, 8, 16, 32, 64, 128}) {
      const Bytes bytes(8.0 * batch * n * 128);
      const Seconds time = Flops(2.0 * batch * n * n * 128) / (0.5 * FlopRate(100e12)) + Seconds(5e-6);
      recording.rows.push_back(recorded_kernel(OpKind::attention, Dtype::bf16,
                                               GemmShape{batch, n, n, 128, false, true}, bytes, time));
    }
  }
  recording.name = "layers.csv";
  return recording;
}

GpuProfile tiny_with_8_bits() {
  std::string text = tiny_gpu;
  text.insert(text.find("vector:"),
              "  bf16: {peak: 100 TFLOP/s, gemm: {value: {efficiency: 0.5, bandwidth_fraction: 0.5, t0: 1 "
              "us}, assumed: x}}\n"
              "  fp8: {peak: 200 TFLOP/s}\n");
  return load_gpu_profile(config::parse("tiny.yaml", text));
}

}  // namespace

TEST_CASE("products in 8 bits are kept without the cast of their calls, as derived") {
  const GpuProfile gpu = calibrate(tiny_with_8_bits(), {layers_with_casts()});
  CHECK(gpu.kernels == "layers_kernels.csv");
  const GemmCurve& curve = gpu.matrix.fp8->gemm->value;
  CHECK(curve.efficiency == doctest::Approx(0.6).epsilon(0.03));
  CHECK(curve.t0 == gpu.matrix.bf16->gemm->value.t0);
  CHECK(gpu.matrix.fp8->gemm->source.find("cast of their input") != std::string::npos);
  const std::optional<Recording> part = table_beside(gpu, {layers_with_casts()});
  REQUIRE(part);
  const KernelTable read = kernel_table(read_recording(part->name, recording_text(*part)));
  CHECK(read.gemms.size() == 1400);
  for (const GemmKernel& kernel : read.gemms) CHECK(kernel.is_derived == (kernel.dtype == Dtype::fp8));
  for (const HeldOutError& error : gpu.calibration->held_out) {
    CAPTURE(error.kernels);
    CHECK(error.mape < 0.02);
  }
  CHECK(gpu.calibration->held_out.size() == 3);
}

TEST_CASE("attention is fitted to forward passes, and fp16 assumed as bf16 at the same peak") {
  const GpuProfile gpu = calibrate(tiny_with_8_bits(), {layers_with_casts()});
  const MatrixRates& bf16 = *gpu.matrix.bf16;
  REQUIRE(bf16.attention);
  CHECK(bf16.attention->value == doctest::Approx(0.9 * 0.5).epsilon(0.02));
  CHECK(bf16.attention->provenance == Provenance::fitted);
  CHECK(bf16.attention_t0->value.si() == doctest::Approx(5e-6).epsilon(0.2));
  const MatrixRates& fp16 = *gpu.matrix.fp16;
  CHECK(fp16.attention->value == bf16.attention->value);
  CHECK(fp16.attention->provenance == Provenance::assumed);
  CHECK(fp16.gemm->value.efficiency == bf16.gemm->value.efficiency);
  CHECK(fp16.gemm->source.starts_with("as in bf16: 700 kernels of layers.csv"));
}

TEST_CASE("recordings that do not go into one profile, or have too few kernels, are errors") {
  const auto renamed = [](Recording recording, const char* name) {
    recording.name = name;
    return recording;
  };
  Recording few = some_products();
  few.rows.resize(7);
  Recording mixed = layers_with_casts();  // products in 8 bits with and without a cast
  mixed.rows.push_back(recorded_product({1, 8, 8, 8, false, true}, Dtype::fp8, {0.6, 0.7, Seconds(2e-6)}));
  Recording few_casts = layers_with_casts();
  std::erase_if(few_casts.rows, [](const RecordedKernel& row) {
    return row.dtype == Dtype::fp8 && std::get<GemmShape>(row.shape).m > 64;
  });
  struct Wrong {
    std::vector<Recording> recordings;
    std::string message, hint = {};
  };
  const Wrong all[] = {{{some_products(), renamed(some_products(), "more.csv")},
                        "'tiny_kernels.csv' and 'more.csv' both time kernels"},
                       {{pytorch_vectors(), renamed(pytorch_vectors(), "again.csv")},
                        "'pytorch.csv' and 'again.csv' both time vector ops"},
                       {{some_products(), some_products()}, "'tiny_kernels.csv'"},
                       {{few}, "", " 8 "},
                       {{mixed}, "with_cast"},
                       {{few_casts}, "100 calls of linear layers", " 500 "}};
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.message);
    const Diagnostic error = only_error([&] { calibrate(tiny_with_8_bits(), wrong.recordings); });
    CHECK(error.message.find(wrong.message) != std::string::npos);
    CHECK(error.hint.find(wrong.hint) != std::string::npos);
  }
}
