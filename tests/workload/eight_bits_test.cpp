#include "workload/eight_bits.hpp"

#include "config/diagnostic.hpp"
#include "workload/decoder.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"
#include "workload/resnet.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr double token_count = 32;
constexpr double hidden = 64;
constexpr double ffn = 256;

/// Two blocks of GPT with fused attention.
Model small_gpt() {
  DecoderHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 64;
  parameters.heads = 4;
  parameters.vocabulary = 1000;
  parameters.sequence_length = 32;
  parameters.dropout = false;
  parameters.attention = AttentionKernel::flash;
  return {.name = "gpt", .title = {}, .layers = decoder_layers(parameters), .samples_per_epoch = {}};
}

Trace fp8_trace() { return make_trace(small_gpt(), 1, Precision::fp8, Optimizer::adam); }

std::vector<Op> ops_of(const Trace& trace, const std::string& layer, Phase phase) {
  std::vector<Op> found;
  std::ranges::copy_if(trace.ops, std::back_inserter(found),
                       [&](const Op& op) { return op.layer == layer && op.phase == phase; });
  return found;
}

const Layer& layer_named(const Model& model, const std::string& name) {
  return *std::ranges::find(model.layers, name, &Layer::name);
}

}  // namespace

TEST_CASE("in fp8 three products of each linear layer in a block have 8 bits, and nothing else has") {
  const Trace trace = fp8_trace();
  CHECK(std::ranges::count_if(trace.ops, &Op::in_8_bits) == 2 * 4 * 3);
  for (const Op& op : trace.ops) {
    const bool is_of_linear = op.layer.ends_with(".qkv") || op.layer.ends_with(".proj") ||
                              op.layer.ends_with(".fc1") || op.layer.ends_with(".fc2");
    CHECK_MESSAGE(op.in_8_bits == (is_of_linear && op.kind == OpKind::gemm), op.layer);
  }
}

TEST_CASE("products in 8 bits read a byte per value and write two") {
  const Trace trace = fp8_trace();
  const double weights = hidden * ffn + ffn;
  const Op forward = ops_of(trace, "h0.mlp.fc1", Phase::forward).front();
  CHECK(forward.bytes.si() == token_count * hidden + weights + 2 * token_count * ffn);
  const std::vector<Op> backward = ops_of(trace, "h0.mlp.fc1", Phase::backward);
  REQUIRE(backward.size() == 2);
  CHECK(backward[0].bytes.si() == token_count * ffn + weights + 2 * token_count * hidden);
  CHECK(backward[1].bytes.si() == token_count * ffn + token_count * hidden + 2 * weights);
  CHECK(backward[1].gradients.size() == 2);
}

TEST_CASE("operands are cast twice, except behind a norm, and weights once per step") {
  const Trace trace = fp8_trace();
  CHECK(ops_of(trace, "h0.mlp.fc1.cast", Phase::forward).empty());
  CHECK(ops_of(trace, "h0.attn.qkv.cast", Phase::forward).empty());
  CHECK(ops_of(trace, "h0.mlp.fc2.cast", Phase::forward).front().bytes.si() == 4 * token_count * ffn);
  CHECK(ops_of(trace, "h0.attn.proj.cast", Phase::forward).front().bytes.si() == 4 * token_count * hidden);
  CHECK(ops_of(trace, "h0.mlp.fc1.cast", Phase::backward).front().bytes.si() == 4 * token_count * ffn);
  const double weights = 2 * (4 * hidden * hidden + 4 * hidden + 2 * hidden * ffn + ffn + hidden);
  CHECK(trace.ops.back().layer == "weights.cast");
  CHECK(trace.ops.back().phase == Phase::optimizer);
  CHECK(trace.ops.back().bytes.si() == 4 * weights);
  CHECK(weights_in_8_bits(small_gpt().layers) == weights);
}

TEST_CASE("scales of blocks and values of 4 bits change the bytes of products and casts, nothing else") {
  const Trace fp8 = fp8_trace();
  struct Expected {
    Precision precision;
    double each, reads;
  };
  for (const auto [precision, each, reads] :
       {Expected{Precision::mxfp8, 33.0 / 32, 1}, Expected{Precision::nvfp4, 9.0 / 16, 3}}) {
    const Trace trace = make_trace(small_gpt(), 1, precision, Optimizer::adam);
    const double weights = hidden * ffn + ffn;
    CHECK(ops_of(trace, "h0.mlp.fc1", Phase::forward).front().bytes.si() ==
          doctest::Approx(each * (token_count * hidden + weights) + 2 * token_count * ffn));
    CHECK(ops_of(trace, "h0.mlp.fc2.cast", Phase::forward).front().bytes.si() ==
          doctest::Approx((2 * reads + 2 * each) * token_count * ffn));
    CHECK(ops_of(trace, "h0.mlp.fc1.cast", Phase::backward).front().bytes.si() ==
          doctest::Approx((2 * reads + 2 * each) * token_count * ffn));
    // no norm writes values in 4 bits
    CHECK(ops_of(trace, "h0.mlp.fc1.cast", Phase::forward).size() == (precision == Precision::nvfp4 ? 1 : 0));
    const double read = precision == Precision::nvfp4 ? 4 : 2;
    CHECK(trace.ops.back().bytes.si() ==
          doctest::Approx((read + 2 * each) * weights_in_8_bits(small_gpt().layers)));
    const auto is_product = [](const Op& op) { return op.in_8_bits; };
    CHECK(std::ranges::count_if(trace.ops, is_product) == std::ranges::count_if(fp8.ops, is_product));
    CHECK(saved_values(layer_named(small_gpt(), "h0.mlp.fc2"), precision).si() ==
          doctest::Approx(each * token_count * ffn));
  }
}

TEST_CASE("without casts and products a step in fp8 is one in bf16") {
  Trace fp8 = fp8_trace();
  Trace bf16 = make_trace(small_gpt(), 1, Precision::bf16, Optimizer::adam);
  std::erase_if(fp8.ops, [](const Op& op) { return op.in_8_bits || op.layer.ends_with(".cast"); });
  std::erase_if(bf16.ops, [](const Op& op) { return op.kind == OpKind::gemm && op.layer.starts_with("h"); });
  CHECK(fp8.ops == bf16.ops);
}

TEST_CASE("a linear layer keeps its input in 8 bits, and in 16 as well what fused attention reads") {
  const Model model = small_gpt();
  const auto saved = [&](const std::string& name, Precision precision) {
    return saved_values(layer_named(model, name), precision).si();
  };
  CHECK(saved("h0.mlp.fc2", Precision::fp8) == token_count * ffn);
  CHECK(saved("h0.attn.proj", Precision::fp8) == 3 * token_count * hidden);
  CHECK(saved("h0.attn.proj", Precision::bf16) == 2 * token_count * hidden);
  CHECK(saved("h0.ln1", Precision::fp8) == saved("h0.ln1", Precision::bf16));
  CHECK(saved("lm_head", Precision::fp8) == saved("lm_head", Precision::bf16));
}

TEST_CASE("both copies of the weights in 8 bits stay in memory, unless parameters are sharded") {
  const Model model = small_gpt();
  const auto parameters = [&](Precision precision, bool sharded) {
    MemorySetting setting{.precision = precision, .optimizer = Optimizer::adam};
    setting.shards.parameters = sharded;
    return memory_per_rank(model.layers, setting).parameters;
  };
  CHECK((parameters(Precision::fp8, false) - parameters(Precision::bf16, false)).si() ==
        2 * weights_in_8_bits(model.layers));
  CHECK(parameters(Precision::fp8, true) == parameters(Precision::bf16, true));
}

TEST_CASE("nothing of a network of convolutions runs in 8 bits") {
  CHECK_THROWS_AS(require_8_bits(resnet_layers({.blocks = {3, 4, 6, 3}})), InputError);
  CHECK_NOTHROW(require_8_bits(small_gpt().layers));
}

TEST_CASE("products in 8 bits read back from a trace's file, which other traces do not mention") {
  Trace trace = fp8_trace();
  for (Op& op : trace.ops) op.of_layer = -1;
  CHECK(read_trace("t.csv", write_trace(trace)) == trace);
  CHECK(write_trace(make_trace(small_gpt(), 1, Precision::bf16, Optimizer::adam)).find("dtype") ==
        std::string::npos);
}

TEST_CASE("only matrix products can have 8 bits in a trace's file") {
  const std::string header = "phase,layer,kind,flops,bytes,dtype\n";
  CHECK(read_trace("t.csv", header + "forward,a,gemm,100,10,fp8\n").ops.front().in_8_bits);
  CHECK_THROWS_AS(read_trace("t.csv", header + "forward,a,elementwise,100,10,fp8\n"), InputError);
  CHECK_THROWS_AS(read_trace("t.csv", header + "forward,a,gemm,100,10,fp4\n"), InputError);
}
