// Rates that a GPU profile states for fused attention and for products in 8 bits.

#include "compute/op_time.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

GpuProfile shipped_gpu(const std::string& name) {
  return load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + name + ".yaml"));
}

}  // namespace

TEST_CASE("causal attention over as many tokens as the profile's attention_tokens takes twice as long") {
  GpuProfile gpu = shipped_gpu("h100_sxm_80gb");
  Op op;
  op.kind = OpKind::attention;
  op.shape = GemmShape{64, 1024, 1024, 128, false, true};
  const double product = 2.0 * 64 * 1024 * 1024 * 128;
  const auto without_t0 = [&](double products) {
    op.flops = Flops(products * product);
    return op_time(gpu, Precision::bf16, op).duration - gpu.matrix.bf16->gemm->value.t0;
  };
  const Seconds causal = without_t0(1);
  const Seconds causal_backward = without_t0(2.5);
  const Seconds whole = without_t0(2);
  gpu.matrix.bf16->attention_tokens = Sourced<double>{.value = 1024};
  CHECK(without_t0(1) / causal == doctest::Approx(2));
  CHECK(without_t0(2.5) / causal_backward == doctest::Approx(2));
  CHECK(without_t0(2) == whole);
}

TEST_CASE("a GPU without 8-bit units refuses fp8") {
  CHECK_THROWS_AS(matrix_dtype(shipped_gpu("a100_sxm4_80gb"), Precision::fp8), InputError);
  CHECK(matrix_dtype(shipped_gpu("h100_sxm_80gb"), Precision::fp8) == Dtype::fp8);
}

TEST_CASE("GPUs without units for scales of blocks or for 4 bits refuse mxfp8 and nvfp4") {
  for (const char* const name : {"h100_sxm_80gb", "h200_measured", "mi300x_192gb"}) {
    CHECK_THROWS_AS(matrix_dtype(shipped_gpu(name), Precision::mxfp8), InputError);
    CHECK_THROWS_AS(matrix_dtype(shipped_gpu(name), Precision::nvfp4), InputError);
  }
  CHECK(matrix_dtype(shipped_gpu("mi355x_288gb"), Precision::mxfp8) == Dtype::mxfp8);
  CHECK_THROWS_AS(matrix_dtype(shipped_gpu("mi355x_288gb"), Precision::nvfp4), InputError);
  for (const char* const name : {"b200_sxm_180gb", "b300_sxm_270gb", "gb200_186gb", "gb300_279gb"}) {
    CHECK(matrix_dtype(shipped_gpu(name), Precision::mxfp8) == Dtype::mxfp8);
    CHECK(matrix_dtype(shipped_gpu(name), Precision::nvfp4) == Dtype::nvfp4);
  }
}

TEST_CASE("products of mxfp8 take as long as those of fp8, of nvfp4 by their own peak") {
  const GpuProfile gpu = shipped_gpu("gb200_186gb");
  Op op;
  op.kind = OpKind::gemm;
  op.shape = GemmShape{1, 8192, 8192, 8192};
  op.flops = Flops(2.0 * 8192 * 8192 * 8192);
  CHECK(op_time(gpu, Precision::mxfp8, op).duration == op_time(gpu, Precision::bf16, op).duration);
  CHECK(op_time(gpu, Precision::nvfp4, op).duration == op_time(gpu, Precision::bf16, op).duration);
  op.in_8_bits = true;
  CHECK(op_time(gpu, Precision::mxfp8, op).duration == op_time(gpu, Precision::fp8, op).duration);
  op.shape = {};
  op.flops = Flops(1e13);
  const MatrixRates& rates = *gpu.matrix.nvfp4;
  CHECK((op_time(gpu, Precision::nvfp4, op).duration - rates.gemm->value.t0).si() ==
        doctest::Approx(1e13 / (rates.gemm->value.efficiency * 10e15)));
}

TEST_CASE("in fp8 only products in 8 bits are faster than in bf16") {
  const GpuProfile gpu = shipped_gpu("h100_sxm_80gb");
  Op op;
  op.kind = OpKind::gemm;
  op.flops = Flops(1e13);
  const Seconds bf16 = op_time(gpu, Precision::bf16, op).duration;
  CHECK(op_time(gpu, Precision::fp8, op).duration == bf16);
  op.in_8_bits = true;
  const MatrixRates& rates = *gpu.matrix.fp8;
  const Seconds fp8 = op_time(gpu, Precision::fp8, op).duration;
  CHECK((fp8 - rates.gemm->value.t0).si() ==
        doctest::Approx(1e13 / (rates.gemm->value.efficiency * rates.peak.value.si())));
  CHECK(fp8 < bf16);
}

TEST_CASE("experts in 8 bits with few rows each fill the tiles of their products badly") {
  const GpuProfile gpu = shipped_gpu("h100_sxm_80gb");
  const auto time = [&](int rows, int kernels) {
    Op op;
    op.kind = OpKind::gemm;
    op.in_8_bits = true;
    op.shape = GemmShape{64, rows, 4096, 16384};
    op.flops = Flops(2.0 * 64 * rows * 4096 * 16384);
    op.launches = kernels;
    return op_time(gpu, Precision::fp8, op).duration;
  };
  CHECK(time(4096, 64) / time(4096, 1) == doctest::Approx(1).epsilon(0.02));  // full tiles
  // 65 rows need tiles of 96, or two of 64
  CHECK(time(65, 64) / time(65, 1) > 1.3);
}
