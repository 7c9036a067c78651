#include "strategy/graphed_layers.hpp"

#include "workload/decoder.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::vector<Layer> with_experts() {
  return decoder_layers({.layers = 2,
                         .hidden = 64,
                         .heads = 4,
                         .gated = true,
                         .norm = DecoderNorm::rms_norm,
                         .position = DecoderPosition::rope,
                         .vocabulary = 128,
                         .pad_vocabulary = {},
                         .positions = {},
                         .sequence_length = 16,
                         .attention = AttentionKernel::flash,
                         .experts = 4,
                         .experts_per_token = 2});
}

/// Two kernels of every layer, each launched in 10 us.
Trace launched(const std::vector<Layer>& layers) {
  Trace trace;
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    for (std::size_t k = 0; k < 2 * layers.size(); ++k) {
      const std::size_t i = phase == Phase::forward ? k / 2 : layers.size() - 1 - k / 2;
      Op op;
      op.phase = phase;
      op.layer = layers[i].name;
      op.kind = OpKind::elementwise;
      op.of_layer = static_cast<int>(i);
      op.host = Seconds(10e-6);
      trace.ops.push_back(op);
    }
  }
  return trace;
}

double host_of(const Trace& trace, const std::string& layer, Phase phase) {
  double sum = 0;
  for (const Op& op : trace.ops) sum += op.layer == layer && op.phase == phase ? op.host.si() * 1e6 : 0;
  return sum;
}

}  // namespace

TEST_CASE("parts of blocks that are CUDA graphs take one launch each, others one for each kernel") {
  const std::vector<Layer> layers = with_experts();
  Trace trace = launched(layers);
  launch_parts_as_graphs(trace, layers, {GraphedPart::attn}, Seconds(3e-6));
  CHECK(host_of(trace, "h0.ln1", Phase::forward) == doctest::Approx(3));
  CHECK(host_of(trace, "h0.attn.flash", Phase::forward) == 0);
  CHECK(host_of(trace, "h0.add1", Phase::forward) == 0);
  CHECK(host_of(trace, "h0.add1", Phase::backward) == doctest::Approx(3));
  CHECK(host_of(trace, "h1.ln1", Phase::forward) == doctest::Approx(3));
  CHECK(host_of(trace, "h0.ln2", Phase::forward) == doctest::Approx(20));
  CHECK(host_of(trace, "h0.moe.fc1", Phase::forward) == doctest::Approx(20));
}

TEST_CASE("neighbouring parts are one graph, and without parts all stays as it is") {
  const std::vector<Layer> layers = with_experts();
  Trace trace = launched(layers);
  launch_parts_as_graphs(trace, layers,
                         {GraphedPart::attn, GraphedPart::moe_router, GraphedPart::moe_preprocess},
                         Seconds(3e-6));
  CHECK(host_of(trace, "h0.ln1", Phase::forward) == doctest::Approx(3));
  CHECK(host_of(trace, "h0.ln2", Phase::forward) == 0);
  CHECK(host_of(trace, "h0.moe.permute", Phase::forward) == 0);
  CHECK(host_of(trace, "h0.moe.fc2", Phase::forward) == doctest::Approx(20));
  Trace plain = launched(layers);
  launch_parts_as_graphs(plain, layers, {}, Seconds(3e-6));
  CHECK(host_of(plain, "h0.ln1", Phase::forward) == doctest::Approx(20));
}
