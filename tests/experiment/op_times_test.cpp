#include "experiment/op_times.hpp"

#include "compute/op_time.hpp"
#include "strategy/context.hpp"
#include "workload/make_trace.hpp"
#include "workload/transformer_layers.hpp"

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

TEST_CASE("a ring pays once for the diagonal of causal attention, in the block of a rank's own tokens") {
  GpuProfile gpu;
  MatrixRates rates;
  rates.peak.value = FlopRate(1e14);
  rates.gemm = Sourced<GemmCurve>{.value = {.efficiency = 1, .bandwidth_fraction = 1, .t0 = Seconds()}};
  rates.attention = Sourced<double>{.value = 1};
  gpu.matrix.bf16 = rates;
  gpu.memory.bandwidth.value = Bandwidth(1e15);
  TransformerSize size;
  size.sequence = 8192;
  size.hidden = 2048;
  size.heads = 16;
  ShardedModel rank;
  rank.layers = {flash_attention_layer("flash", size, true)};
  Parallelism parallelism;
  parallelism.context = 8;
  parallelism.context_exchange = ContextExchange::p2p;
  share_tokens(rank, parallelism);
  Trace trace = make_trace({"one", "", rank.layers, std::nullopt}, 1, Precision::bf16, Optimizer::adam);
  add_rings(trace, rank.layers, parallelism);
  const auto time_in = [&](Phase phase) {
    Seconds sum;
    for (const Op& op : trace.ops) {
      if (op.phase == phase) sum += op_time(gpu, Precision::bf16, op).duration;
    }
    return sum;
  };
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    gpu.matrix.bf16->attention_tokens = std::nullopt;
    const Seconds without = time_in(phase);
    gpu.matrix.bf16->attention_tokens = Sourced<double>{.value = 450};
    CHECK(time_in(phase) / without == doctest::Approx(1 + 450.0 / 8192).epsilon(1e-12));
  }
}
