// Shipped profiles against published times of single kernels: every eighth of the products with all sides of
// 512 and more, and of the causal forward attention of 1,024 tokens and more, in order of their time. Source:
// ai-dynamo/aiconfigurator 095f58a, systems/data (Apache-2.0, NVIDIA).

#include "compute/op_time.hpp"
#include "compute/work.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <span>
#include <string>

using namespace trainyard;

namespace {

GpuProfile shipped_gpu(const std::string& name) {
  return load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + name + ".yaml"));
}

struct Product {
  int m, n, k;
  double microseconds;
};

/// TensorRT-LLM 1.3
constexpr Product h100_bf16[] = {{3840, 768, 1024, 11.605},   {2048, 768, 5120, 27.78},
                                 {2561, 1024, 7168, 50.989},  {513, 7168, 8192, 90.208},
                                 {2048, 51200, 512, 175.05},  {2560, 10240, 5120, 342.01},
                                 {4352, 4096, 16384, 758.09}, {1025, 10240, 65536, 2846.7}};
constexpr Product h100_fp8[] = {{3329, 1536, 512, 20.783},   {512, 2560, 8192, 34.558},
                                {4096, 1024, 3072, 60.182},  {3328, 8192, 1536, 91.882},
                                {4097, 3072, 5120, 152.98},  {3584, 1536, 16384, 272.18},
                                {1025, 65536, 6144, 607.21}, {16384, 10240, 7168, 1883.9}};
constexpr Product a100_bf16[] = {{2048, 512, 1536, 24.03},   {4096, 1536, 1024, 61.542},
                                 {512, 4096, 6144, 121.86},  {8192, 768, 4096, 206.85},
                                 {2048, 8192, 2560, 332.39}, {512, 10240, 16384, 613.99},
                                 {8192, 7168, 3072, 1368.8}, {8192, 12288, 6144, 4816.1}};

struct Attention {
  int batch, tokens, heads, kv_heads;
  double microseconds;
};

/// vLLM 0.14, 128 values a head
constexpr Attention a100_attention[] = {{4, 2048, 8, 8, 345.14},    {4, 1536, 48, 4, 835.49},
                                        {2, 6144, 12, 12, 1547.3},  {2, 6144, 24, 8, 2808.8},
                                        {32, 1536, 32, 32, 4930.9}, {1, 10240, 64, 1, 9567.5},
                                        {64, 2048, 40, 1, 17872},   {4, 12288, 48, 1, 41314}};

/// The call of a linear layer in 8 bits begins with the cast of its input.
double error_of(const GpuProfile& gpu, Precision precision, const Product& product) {
  const GemmShape shape{1, product.m, product.n, product.k, false, true};
  const Work work = work_of(shape, dtype_of(precision));
  Op op;
  op.kind = OpKind::gemm;
  op.shape = shape;
  op.flops = work.flops;
  op.bytes = work.bytes;
  op.in_8_bits = precision == Precision::fp8;
  Seconds time = op_time(gpu, precision, op).duration;
  if (op.in_8_bits) {
    Op cast;
    cast.kind = OpKind::elementwise;
    cast.bytes = Bytes(3.0 * product.m * product.k);
    time += op_time(gpu, precision, cast).duration;
  }
  return std::abs(time.si() * 1e6 / product.microseconds - 1);
}

double mean_error(const GpuProfile& gpu, Precision precision, std::span<const Product> products) {
  double sum = 0;
  for (const Product& product : products) sum += error_of(gpu, precision, product);
  return sum / static_cast<double>(products.size());
}

}  // namespace

TEST_CASE("products of an H100 and an A100 take the published times within 12 % on average") {
  CHECK(mean_error(shipped_gpu("h100_sxm_80gb"), Precision::bf16, h100_bf16) < 0.12);
  CHECK(mean_error(shipped_gpu("a100_sxm4_80gb"), Precision::bf16, a100_bf16) < 0.12);
}

TEST_CASE("linear layers of an H100 in 8 bits take the published times within 15 % on average") {
  CHECK(mean_error(shipped_gpu("h100_sxm_80gb"), Precision::fp8, h100_fp8) < 0.15);
}

TEST_CASE("an A100's fused attention takes the published times, and a tenth more for its slower backward") {
  constexpr int head = 128;
  constexpr double of_backward = 0.58 / 0.52;
  const GpuProfile gpu = shipped_gpu("a100_sxm4_80gb");
  double sum = 0;
  for (const Attention& one : a100_attention) {
    Op op;
    op.kind = OpKind::attention;
    op.shape = GemmShape{one.batch * one.heads, one.tokens, one.tokens, head, false, true};
    op.flops = Flops(2.0 * one.batch * one.heads * one.tokens * one.tokens * head);
    op.bytes = Bytes(4.0 * one.batch * one.tokens * head * (one.heads + one.kv_heads));
    const double time = op_time(gpu, Precision::bf16, op).duration.si() / of_backward;
    sum += std::abs(time * 1e6 / one.microseconds - 1);
  }
  CHECK(sum / static_cast<double>(std::size(a100_attention)) < 0.1);
}

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
