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
