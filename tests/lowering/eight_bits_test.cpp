// Products in 8 bits in rules of a lowering: which casts are launched, and what they move.
#include "workload/eight_bits.hpp"

#include "compute/op_time.hpp"
#include "lowering/load_whole_lowering.hpp"
#include "lowering/lower.hpp"
#include "lowering/lowered_memory.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

config::Document rules_file(const std::string& name) {
  return config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/lowering/" + name + ".yaml");
}

Lowering shipped_rules(const std::string& name) {
  return load_whole_lowering(rules_file(name),
                             [](const std::string& like, const std::string&) { return rules_file(like); });
}

const Model& llama() {
  static const Model model = [] {
    config::Document file =
        config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/llama3_8b.yaml");
    config::set(file, "decoder.layers", "4", "model");
    return load_model(file);
  }();
  return model;
}

LoweredStep step_of(Precision precision, Scaling scaling = Scaling::delayed) {
  return {.batch = 1,
          .precision = precision,
          .optimizer = Optimizer::adam,
          .optimizer_kernels = OptimizerKernels::fused,
          .scaling = scaling};
}

int kernels(const Trace& trace, Phase phase, const std::string& name) {
  int count = 0;
  for (const Op& op : trace.ops) {
    if (op.phase == phase && op.layer.ends_with(name)) count += op.launches;
  }
  return count;
}

}  // namespace

TEST_CASE("with delayed scaling only a product after attention casts its input, and gradients are cast") {
  const Trace trace = lowered_trace(llama(), shipped_rules("transformer_engine"), step_of(Precision::fp8));
  // a block: queries, keys and values in one, projection, gate and up in one, down
  CHECK(std::ranges::count(trace.ops, true, &Op::in_8_bits) == 4 * 4 * 3);
  CHECK(kernels(trace, Phase::forward, ".narrow") == 4);
  CHECK(kernels(trace, Phase::backward, ".narrow") == 4 * 4);
  CHECK(kernels(trace, Phase::forward, ".row_sums") == 0);
  CHECK(kernels(trace, Phase::optimizer, "weights.narrow") == 1);
  const Op& weights = trace.ops.back();
  CHECK(weights.bytes == weights_in_8_bits(llama().layers) * Bytes(4));
  const auto product = std::ranges::find(trace.ops, true, &Op::in_8_bits);
  const double rows = 8192, in = 4096, out = 4096 + 2 * 1024;  // 8-bit operands, 16-bit result
  CHECK(product->bytes.si() == doctest::Approx(rows * in + in * out + 2 * rows * out).epsilon(1e-9));
}

TEST_CASE("with current scaling every product casts its input, and reads it once more after attention") {
  const Trace trace =
      lowered_trace(llama(), shipped_rules("transformer_engine"), step_of(Precision::fp8, Scaling::current));
  CHECK(kernels(trace, Phase::forward, ".narrow") == 4 * 4);
  CHECK(kernels(trace, Phase::forward, ".row_sums") == 4);
  CHECK(kernels(trace, Phase::backward, ".row_sums") == 4 * 4);
}

TEST_CASE("mxfp8 launches the casts of fp8, nvfp4 two of every operand after a search of its largest value") {
  const Lowering rules = shipped_rules("transformer_engine");
  const Trace fp8 = lowered_trace(llama(), rules, step_of(Precision::fp8));
  const Trace mxfp8 = lowered_trace(llama(), rules, step_of(Precision::mxfp8, Scaling::block));
  const Trace nvfp4 = lowered_trace(llama(), rules, step_of(Precision::nvfp4));
  const auto is_product = [](const Op& op) { return op.in_8_bits; };
  CHECK(std::ranges::count_if(nvfp4.ops, is_product) == 4 * 4 * 3);
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    CHECK(kernels(mxfp8, phase, ".narrow") == kernels(fp8, phase, ".narrow"));
    CHECK(kernels(mxfp8, phase, ".row_sums") == 0);
    CHECK(kernels(nvfp4, phase, ".narrow") == 2 * 4 * 4);
    CHECK(kernels(nvfp4, phase, ".row_sums") == 4 * 4);
  }
  const double weights = weights_in_8_bits(llama().layers);
  CHECK(mxfp8.ops.back().bytes.si() == doctest::Approx((2 + 2 * 33.0 / 32) * weights));
  CHECK(nvfp4.ops.back().bytes.si() == doctest::Approx((4 + 2 * 9.0 / 16) * weights));
  const auto cast = [](const Trace& trace) {
    return *std::ranges::find_if(trace.ops, [](const Op& op) { return op.layer.ends_with(".narrow"); });
  };
  const double values = 8192.0 * 4096;  // of attention's result, and of the first norm's
  CHECK(cast(fp8).bytes.si() == doctest::Approx(4 * values));
  CHECK(cast(mxfp8).bytes.si() == doctest::Approx((2 + 2 * 33.0 / 32) * values));
  CHECK(cast(nvfp4).bytes.si() == doctest::Approx(2 * (2 + 9.0 / 16) * values));
  CHECK(has_4_bits(rules));
  CHECK(has_4_bits(shipped_rules("megatron_core")));
  CHECK_FALSE(has_4_bits(shipped_rules("jax_xla")));
}

TEST_CASE("in 16 bits the rules for 8 bits launch nothing, and have no effect on other rules") {
  const Trace trace = lowered_trace(llama(), shipped_rules("transformer_engine"), step_of(Precision::bf16));
  CHECK(std::ranges::count(trace.ops, true, &Op::in_8_bits) == 0);
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer})
    CHECK(kernels(trace, phase, ".narrow") == 0);
  CHECK(has_8_bits(shipped_rules("transformer_engine")));
  CHECK(has_8_bits(shipped_rules("megatron_core")));
  CHECK(has_8_bits(shipped_rules("jax_xla")));
  CHECK_FALSE(has_8_bits(shipped_rules("pytorch_2_11")));
}

TEST_CASE("layers in 8 bits keep their inputs in one byte each") {
  const Lowering rules = shipped_rules("transformer_engine");
  MemorySetting setting;
  setting.precision = Precision::bf16;
  const FullestMoment wide = fullest_moment(llama().layers, rules, step_of(Precision::bf16), setting);
  setting.precision = Precision::fp8;
  const FullestMoment narrow = fullest_moment(llama().layers, rules, step_of(Precision::fp8), setting);
  CHECK(narrow.kept < wide.kept);
  // of a block: inputs of the two products after norms and of that after the activation, not of attention's
  const double rows = 8192;
  const double least = 4 * rows * (2 * 4096 + 14336);
  CHECK(wide.kept.si() - narrow.kept.si() == doctest::Approx(least).epsilon(0.35));
}

TEST_CASE("XLA's kernels of a block do not depend on the host of a Python program") {
  const Lowering rules = shipped_rules("jax_xla");
  LoweredStep step = step_of(Precision::bf16);
  step.runtime = Runtime::compiled;
  const Trace trace = lowered_trace(llama(), rules, step);
  Seconds host;
  for (const Op& op : trace.ops) host += op.host;
  CHECK(host < Seconds(5e-3));
  CHECK(kernels(trace, Phase::forward, "h0.ln1.triton") == 2);
  const auto is_sum = [](const Op& op) { return op.layer == "h0.add1.triton"; };
  CHECK(std::ranges::none_of(trace.ops, is_sum));
}

TEST_CASE("the products of experts are as many kernels in 8 bits as in 16") {
  config::Document file =
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/mixtral_8x7b.yaml");
  config::set(file, "decoder.layers", "1", "model");
  const Model model = load_model(file);
  const Lowering rules = shipped_rules("megatron_core");
  const auto products = [&](Precision precision) {
    int count = 0;
    for (const Op& op : lowered_trace(model, rules, step_of(precision)).ops)
      count += op.kind == OpKind::gemm ? op.launches : 0;
    return count;
  };
  CHECK(products(Precision::bf16) > 3 * 2 * 8);  // of each expert at least two
  CHECK(products(Precision::fp8) == products(Precision::bf16));
}
