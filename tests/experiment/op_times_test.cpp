#include "experiment/op_times.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE(
    "a stack's scales of attention hold for its kernels in forward, where it is repeated, and in backward") {
  const GpuProfile gpu =
      load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/a100_sxm4_80gb.yaml"));
  Op attention;
  attention.kind = OpKind::attention;
  attention.flops = Flops(1e12);
  Op backward = attention;
  backward.phase = Phase::backward;
  Op repeated = backward;
  repeated.role = OpRole::recompute;
  Op product = attention;
  product.kind = OpKind::gemm;
  const Trace trace{
      .model = {}, .precision = Precision::bf16, .ops = {attention, backward, repeated, product}};
  Stack stack;
  stack.op_overhead = Sourced<Seconds>{};
  const std::vector<OpTime> plain = op_times(trace, gpu, stack);
  stack.attention_scale.forward.value = 1.5;
  stack.attention_scale.backward.value = 2;
  const std::vector<OpTime> scaled = op_times(trace, gpu, stack);
  const double factors[] = {1.5, 2, 1.5, 1};
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(scaled[i].duration / plain[i].duration == doctest::Approx(factors[i]));
}
