#include "calibration/held_out.hpp"

#include "calibration/synthetic.hpp"
#include "compute/tiny_gpu.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

GpuProfile unfitted_gpu() { return load_gpu_profile(config::parse("tiny.yaml", tiny_gpu)); }

constexpr Roofline true_curve{0.62, 0.55, Seconds(8e-6)};

/// Times that are off by up to a factor of two either way.
Recording noisy(Recording recording) {
  std::uint64_t index = 0;
  for (RecordedKernel& row : recording.rows) row.time = std::exp2(2 * hashed_part(index++) - 1) * row.time;
  return recording;
}

std::vector<std::string> groups_in(const std::vector<HeldOutError>& errors) {
  std::vector<std::string> names;
  for (const HeldOutError& error : errors) names.push_back(error.kernels);
  return names;
}

}  // namespace

TEST_CASE("times that follow a curve are predicted without error") {
  const Recording recording = together(gemm_recording(Dtype::fp32, true_curve),
                                       vector_recording(OpKind::softmax, 0.7, Seconds(3e-6)));
  const auto errors = held_out_errors(unfitted_gpu(), gather({recording}));
  REQUIRE(groups_in(errors) == std::vector<std::string>{"gemm fp32", "softmax"});
  CHECK(errors[0].count == 64);
  CHECK(errors[1].count == 20);
  for (const HeldOutError& error : errors) {
    CAPTURE(error.kernels);
    CHECK(error.mape < 0.005);
    CHECK(error.p90 < 0.01);
    CHECK(error.curve_mape < 0.005);
    CHECK(error.median <= error.p90);
  }
}

TEST_CASE("times with noise of a factor of two are missed by as much") {
  const auto errors =
      held_out_errors(unfitted_gpu(), gather({noisy(gemm_recording(Dtype::fp32, true_curve))}));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].mape > 0.1);
  CHECK(errors[0].mape < 1);
  CHECK(errors[0].curve_mape > 0.1);
  CHECK(errors[0].median > 0.1);
  CHECK(errors[0].p90 > errors[0].median);
}

TEST_CASE("where times have a step that no curve has, the neighbours help") {
  Recording recording = vector_recording(OpKind::softmax, 0.4, Seconds(1e-7), 30);
  for (RecordedKernel& row : recording.rows) {
    if (row.bytes < Bytes(1e7)) row.time = 0.3 * row.time;  // as if a cache held them
  }
  const auto errors = held_out_errors(unfitted_gpu(), gather({recording}));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].curve_mape > 0.1);
  CHECK(errors[0].mape < 0.7 * errors[0].curve_mape);
}

TEST_CASE("a group with fewer than eight kernels is left out") {
  Recording products = gemm_recording(Dtype::fp32, true_curve);
  products.rows.resize(7);
  const Recording vectors = vector_recording(OpKind::elementwise, 0.8, Seconds(2e-6));
  const auto errors = held_out_errors(unfitted_gpu(), gather({together(products, vectors)}));
  CHECK(groups_in(errors) == std::vector<std::string>{"elementwise"});
  CHECK(held_out_errors(unfitted_gpu(), gather({products})).empty());
}

TEST_CASE("kernels of a data type that the GPU has no unit for are left out") {
  const Recording recording =
      together(gemm_recording(Dtype::fp32, true_curve), gemm_recording(Dtype::bf16, true_curve));
  CHECK(groups_in(held_out_errors(unfitted_gpu(), gather({recording}))) ==
        std::vector<std::string>{"gemm fp32"});
}

TEST_CASE("a framework's vector ops are predicted with the dispatch that the others show") {
  Recording recording = vector_recording(OpKind::softmax, 0.6, Seconds(4e-6), 30);
  recording.facts.is_framework_timing = true;
  for (RecordedKernel& row : recording.rows) {
    row.variant = "forward w512";
    row.time = std::max(row.time, Seconds(40e-6));
  }
  const auto errors = held_out_errors(unfitted_gpu(), gather({recording}));
  REQUIRE(groups_in(errors) == std::vector<std::string>{"softmax"});
  CHECK(errors[0].count == 15);  // those above 21.6 MB: shorter ones are hidden by the dispatch
  CHECK(errors[0].mape < 0.005);
  CHECK(errors[0].mape == errors[0].curve_mape);
}

TEST_CASE("a profile misses the kernels of its own table by nothing, its curves by something") {
  GpuProfile gpu = unfitted_gpu();
  const KernelTable table = kernel_table(gemm_recording(Dtype::fp32, true_curve));
  const auto without_table = errors_of(gpu, table);
  REQUIRE(without_table.size() == 1);
  CHECK(without_table[0].count == 64);
  // tiny's products reach 80 % of the peak and half of the bandwidth
  CHECK(without_table[0].mape > 0.1);
  CHECK(without_table[0].mape == without_table[0].curve_mape);
  gpu.kernel_table = table;
  const auto with_table = errors_of(gpu, table);
  CHECK(with_table[0].mape == 0);
  CHECK(with_table[0].p90 == 0);
  CHECK(with_table[0].curve_mape == without_table[0].curve_mape);
}

TEST_CASE("an error is the mean, the median and the ninth decile of the relative misses") {
  Recording recording;
  const GemmShape shape{1, 1024, 1024, 1024, false, false};
  for (int i = 1; i <= 10; ++i) {
    GemmShape larger = shape;
    larger.m += i;
    RecordedKernel kernel = recorded_gemm(larger, Dtype::fp32, {0.8, 0.5, Seconds(10e-6)});
    kernel.time = kernel.time / (1 + i / 100.0);  // tiny's curve is i percent too long
    recording.rows.push_back(kernel);
  }
  const auto errors = errors_of(unfitted_gpu(), kernel_table(recording));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].mape == doctest::Approx(0.055).epsilon(1e-9));
  CHECK(errors[0].median == doctest::Approx(0.055).epsilon(1e-9));
  CHECK(errors[0].p90 == doctest::Approx(0.091).epsilon(1e-9));
}

TEST_CASE("errors on held-out products are those with as many neighbours as stay beside the profile") {
  // a library that has kernels of two speeds, by n
  Recording recording = many_products(Dtype::fp32, {0.6, 0.7, Seconds(3e-6), 2.5, 100, Seconds(2e-6)});
  for (RecordedKernel& row : recording.rows) {
    if (std::get<GemmShape>(row.shape).n >= 2048) row.time = 1.4 * row.time;
  }
  const MeasuredKernels measured = gather({recording});
  const auto with_all = held_out_errors(unfitted_gpu(), measured);
  const auto with_few = held_out_errors(unfitted_gpu(), measured, 20);
  REQUIRE(with_all.size() == 1);
  REQUIRE(with_few.size() == 1);
  CHECK(with_all[0].count == 700);
  CHECK(with_few[0].count == 700);
  CHECK(with_few[0].curve_mape == with_all[0].curve_mape);
  CHECK(with_all[0].mape < with_few[0].mape);
  CHECK(with_few[0].mape < with_few[0].curve_mape);
}
