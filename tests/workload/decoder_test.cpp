#include "workload/decoder.hpp"

#include "workload/make_trace.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>

using namespace trainyard;

namespace {

DecoderHyperparameters gpt3_175b() {
  DecoderHyperparameters gpt;
  gpt.layers = 96;
  gpt.hidden = 12288;
  gpt.heads = 96;
  gpt.vocabulary = 50257;
  gpt.pad_vocabulary = 1024;
  gpt.sequence_length = 2048;
  return gpt;
}

DecoderHyperparameters llama(int layers, int hidden, int heads, int ffn) {
  DecoderHyperparameters parameters;
  parameters.layers = layers;
  parameters.hidden = hidden;
  parameters.heads = heads;
  parameters.kv_heads = 8;
  parameters.ffn = ffn;
  parameters.gated = true;
  parameters.norm = DecoderNorm::rms_norm;
  parameters.bias = false;
  parameters.position = DecoderPosition::rope;
  parameters.vocabulary = 128256;
  parameters.sequence_length = 8192;
  parameters.tied = false;
  parameters.dropout = false;
  parameters.attention = AttentionKernel::flash;
  return parameters;
}

const Layer& layer_called(const std::vector<Layer>& layers, const std::string& name) {
  const auto found = std::ranges::find(layers, name, &Layer::name);
  REQUIRE(found != layers.end());
  return *found;
}

double parameters_of_block(const std::vector<Layer>& layers, int block) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.block == block ? parameter_elements(layer) : 0;
  return sum;
}

}  // namespace

TEST_CASE("GPT-3 175B has the parameters and FLOPs of the formulas for GPT models") {
  // Narayanan et al. 2021, arXiv 2104.04473, section 2.2 and equation 3
  const double L = 96, h = 12288, s = 2048, V = 51200;
  const ModelTotals sum = totals(decoder_layers(gpt3_175b()));
  CHECK(sum.parameters == 12 * L * h * h + 13 * L * h + 2 * h + V * h + s * h);
  CHECK(sum.parameters == 174'615'846'912);
  CHECK(6 * sum.forward_macs ==
        doctest::Approx(72 * L * s * h * h * (1 + s / (6 * h) + V / (12 * L * h))).epsilon(1e-14));
}

TEST_CASE("Llama 3 has the parameters that Meta states") {
  const std::vector<Layer> small = decoder_layers(llama(32, 4096, 32, 14336));
  CHECK(totals(small).parameters == 8'030'261'248);
  CHECK(parameters_of_block(small, 0) == 218'112'000);
  CHECK(totals(decoder_layers(llama(126, 16384, 128, 53248))).parameters == 405'853'388'800);
}

TEST_CASE(
    "a norm after the embedding, no biases and an own last projection are BLOOM's, MPT's and GPT-NeoX's") {
  DecoderHyperparameters bloom;
  bloom.layers = 70;
  bloom.hidden = 14336;
  bloom.heads = 112;
  bloom.position = DecoderPosition::alibi;
  bloom.embedding_norm = true;
  bloom.vocabulary = 250880;
  bloom.sequence_length = 2048;
  CHECK(totals(decoder_layers(bloom)).parameters == 176'247'271'424);
  DecoderHyperparameters mpt;
  mpt.layers = 32;
  mpt.hidden = 4096;
  mpt.heads = 32;
  mpt.bias = false;
  mpt.position = DecoderPosition::alibi;
  mpt.vocabulary = 50432;
  mpt.sequence_length = 2048;
  CHECK(totals(decoder_layers(mpt)).parameters == 6'649'286'656);
  DecoderHyperparameters neox;
  neox.layers = 44;
  neox.hidden = 6144;
  neox.heads = 64;
  neox.position = DecoderPosition::rope;
  neox.vocabulary = 50432;
  neox.sequence_length = 2048;
  neox.tied = false;
  CHECK(totals(decoder_layers(neox)).parameters == 20'554'567'680);
}

TEST_CASE("heads that share keys have fewer columns, values to keep and bytes, but the same products") {
  const std::vector<Layer> grouped = decoder_layers(llama(1, 4096, 32, 14336));
  const Layer& qkv = layer_called(grouped, "h0.attn.qkv");
  CHECK(qkv.out_shape == std::vector<int>{8192, (32 + 2 * 8) * 128});
  CHECK(qkv.limited == LimitedColumns{2 * 8 * 128, 8});
  CHECK(layer_called(grouped, "h0.attn.rope").in_elements == 8192.0 * (32 + 8) * 128);
  const Layer& flash = layer_called(grouped, "h0.attn.flash");
  CHECK(flash.saved_elements == 8192.0 * (32 + 2 * 8) * 128);
  DecoderHyperparameters unfused = llama(1, 4096, 32, 14336);
  unfused.attention = AttentionKernel::unfused;
  const std::vector<Layer> apart = decoder_layers(unfused);
  CHECK(layer_called(apart, "h0.attn.qk").saved_elements == 8192.0 * (32 + 8) * 128);
  CHECK(layer_called(apart, "h0.attn.av").saved_elements == 8192.0 * 8 * 128);
  const double products =
      layer_called(apart, "h0.attn.qk").forward_macs + layer_called(apart, "h0.attn.av").forward_macs;
  CHECK(2 * flash.forward_macs == products);  // the masked half is skipped
  unfused.attention = AttentionKernel::flash;
  unfused.causal = false;
  const std::vector<Layer> full = decoder_layers(unfused);
  CHECK(layer_called(full, "h0.attn.flash").forward_macs == products);
  CHECK(layer_called(full, "h0.attn.flash").backward_flops ==
        2.5 * layer_called(full, "h0.attn.flash").forward_flops);
}

TEST_CASE("SwiGLU is one linear layer of twice the features, and a product that keeps both halves") {
  const std::vector<Layer> layers = decoder_layers(llama(1, 4096, 32, 14336));
  CHECK(layer_called(layers, "h0.mlp.fc1").out_shape == std::vector<int>{8192, 2 * 14336});
  const Layer& silu = layer_called(layers, "h0.mlp.silu");
  CHECK(silu.out_shape == std::vector<int>{8192, 14336});
  CHECK(silu.saved_elements == 8192.0 * 2 * 14336);
  CHECK(layer_called(layers, "h0.mlp.fc2").in_elements == silu.out_elements);
}

TEST_CASE("every layer of a decoder says how it is divided, and which block it is part of") {
  const std::vector<Layer> layers = decoder_layers(gpt3_175b());
  CHECK(layer_called(layers, "wte").split == TensorSplit::table);
  CHECK(layer_called(layers, "h7.attn.qkv").split == TensorSplit::columns);
  CHECK(layer_called(layers, "h7.attn.dropout").split == TensorSplit::inner);
  CHECK(layer_called(layers, "h7.attn.proj").split == TensorSplit::rows);
  CHECK(layer_called(layers, "h7.add2").split == TensorSplit::tokens);
  CHECK(layer_called(layers, "lm_head").split == TensorSplit::columns);
  CHECK(layer_called(layers, "loss").split == TensorSplit::loss);
  CHECK(layer_called(layers, "h7.ln1").block == 7);
  CHECK(layer_called(layers, "h95.add2").block == 95);
  CHECK_FALSE(layer_called(layers, "ln_f").block);
  CHECK(std::ranges::none_of(layers, [](const Layer& l) { return l.split == TensorSplit::none; }));
}

TEST_CASE("a decoder's FLOPs in a trace are the layers' times the batch, fused attention's too") {
  CHECK(rc::check([] {
    DecoderHyperparameters parameters = llama(*rc::gen::inRange(1, 3), 256, 16, 384);
    parameters.sequence_length = *rc::gen::inRange(1, 300);
    parameters.attention =
        *rc::gen::elementOf(std::vector<AttentionKernel>{AttentionKernel::flash, AttentionKernel::unfused});
    parameters.dropout = *rc::gen::arbitrary<bool>();
    const Model model{"m", "", decoder_layers(parameters), std::nullopt};
    const Trace trace = make_trace(model, 3, Precision::bf16, Optimizer::adam);
    double forward = 0;
    double backward = 0;
    for (const Op& op : trace.ops) {
      if (op.phase == Phase::forward) forward += op.flops.si();
      if (op.phase == Phase::backward) backward += op.flops.si();
    }
    const ModelTotals sum = totals(model.layers);
    RC_ASSERT(std::abs(forward / (3 * sum.forward_flops.si()) - 1) < 1e-12);
    double free = 0;  // additions have no op in backward
    for (const Layer& layer : model.layers)
      free += layer.kind == LayerKind::add ? layer.backward_flops.si() : 0;
    RC_ASSERT(std::abs(backward / (3 * (sum.backward_flops.si() - free)) - 1) < 1e-12);
  }));
}
