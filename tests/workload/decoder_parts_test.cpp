// Parts that only some decoders have: windows, latent attention, places of norms, parallel halves.
#include "workload/decoder.hpp"
#include "workload/make_trace.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

DecoderHyperparameters small_decoder() {
  DecoderHyperparameters decoder;
  decoder.layers = 4;
  decoder.hidden = 64;
  decoder.heads = 4;
  decoder.ffn = 128;
  decoder.bias = false;
  decoder.gated = true;
  decoder.norm = DecoderNorm::rms_norm;
  decoder.position = DecoderPosition::rope;
  decoder.vocabulary = 100;
  decoder.sequence_length = 32;
  decoder.dropout = false;
  decoder.attention = AttentionKernel::flash;
  return decoder;
}

const Layer& part_called(const std::vector<Layer>& layers, const std::string& name) {
  const auto found = std::ranges::find(layers, name, &Layer::name);
  REQUIRE(found != layers.end());
  return *found;
}

std::vector<std::string> names_of_block(const std::vector<Layer>& layers, int block) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (layer.block == block) names.push_back(layer.name.substr(layer.name.find('.') + 1));
  }
  return names;
}

double added_parameters(const DecoderHyperparameters& decoder) {
  return totals(decoder_layers(decoder)).parameters - totals(decoder_layers(small_decoder())).parameters;
}

}  // namespace

TEST_CASE("a fused kernel computes the band of a window, and of all tokens half") {
  for (const int tokens : {32, 48}) {
    DecoderHyperparameters decoder = small_decoder();
    decoder.sequence_length = tokens;
    const double whole = part_called(decoder_layers(decoder), "h0.attn.flash").forward_flops.si();
    for (const int window : {1, 8, 31, 32, 1000}) {
      INFO(tokens, " tokens, window ", window);
      decoder.sliding_window = window;
      const Layer layer = part_called(decoder_layers(decoder), "h0.attn.flash");
      const double w = std::min(window, tokens);
      const double scores = 4 * (w * tokens - w * w / 2);  // of 4 heads, in two products of 16 features
      CHECK(layer.forward_flops.si() == doctest::Approx(2 * 2 * 16 * scores).epsilon(1e-12));
      CHECK(layer.backward_flops.si() == doctest::Approx(2.5 * layer.forward_flops.si()).epsilon(1e-12));
      CHECK(layer.forward_flops.si() <= whole);
      CHECK((layer.forward_flops.si() == whole) == (window >= tokens));
    }
  }
}

TEST_CASE("attention in a window is causal, as that over all tokens is") {
  DecoderHyperparameters decoder = small_decoder();
  decoder.sliding_window = 7;
  Model model{.name = "m", .title = "m", .layers = decoder_layers(decoder), .samples_per_epoch = {}};
  const Trace trace = make_trace(model, 2, Precision::bf16, Optimizer::adam);
  int count = 0;
  for (const Op& op : trace.ops) {
    if (op.kind != OpKind::attention) continue;
    CHECK(is_causal_attention(op));
    ++count;
  }
  CHECK(count == 8);
}

TEST_CASE("unfused attention computes every score, whatever the window") {
  DecoderHyperparameters decoder = small_decoder();
  decoder.attention = AttentionKernel::unfused;
  const double all = totals(decoder_layers(decoder)).forward_macs;
  decoder.sliding_window = 4;
  CHECK(totals(decoder_layers(decoder)).forward_macs == all);
}

TEST_CASE("blocks have windows and experts by period and by list") {
  DecoderHyperparameters decoder = small_decoder();
  const auto windows = [&] {
    std::vector<int> blocks;
    for (int i = 0; i < 8; ++i) {
      if (has_window(decoder, i)) blocks.push_back(i);
    }
    return blocks;
  };
  CHECK(windows().empty());
  decoder.sliding_window = 8;
  CHECK(windows().size() == 8);
  decoder.full_attention_every = 4;
  CHECK(windows() == std::vector{0, 1, 2, 4, 5, 6});
  decoder.full_attention_blocks = {0, 6};
  CHECK(windows() == std::vector{1, 2, 4, 5});
  decoder.experts = 4;
  decoder.dense_blocks = {1};
  CHECK(has_experts(decoder, 0));
  CHECK_FALSE(has_experts(decoder, 1));
}

TEST_CASE("latent attention has the parameters and products of its paper") {
  // DeepSeek-AI 2024, arXiv 2412.19437, section 4.2: the dimensions of DeepSeek-V3
  DecoderHyperparameters decoder = small_decoder();
  decoder.hidden = 7168;
  decoder.heads = 128;
  decoder.latent_attention = LatentAttention{
      .query_rank = 1536, .key_value_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128};
  const std::vector<Layer> layers = decoder_layers(decoder);
  double attention = 0;
  for (const Layer& layer : layers) {
    if (layer.name.starts_with("h0.attn")) attention += parameter_elements(layer);
  }
  CHECK(attention == 187'107'328);
  const Layer& flash = part_called(layers, "h0.attn.flash");
  const double s = 32;
  CHECK(flash.forward_macs == 128 * s * s / 2 * (192 + 128));
  CHECK(flash.backward_flops.si() ==
        doctest::Approx(2 * 128 * s * s / 2 * (3 * 192 + 2 * 128)).epsilon(1e-12));
  CHECK(flash.saved_elements == 128 * s * (192 + 192 + 128));
  CHECK(flash.out_elements == 128 * s * 128);
  CHECK(part_called(layers, "h0.attn.proj").in_shape == std::vector{32, 128 * 128});
  decoder.latent_attention->query_rank.reset();
  CHECK(part_called(decoder_layers(decoder), "h0.attn.q").out_shape == std::vector{32, 128 * 192});
}

TEST_CASE("norms stand before, after or around the halves of a block") {
  DecoderHyperparameters decoder = small_decoder();
  const auto norms = [&] {
    std::vector<std::string> names;
    for (const std::string& name : names_of_block(decoder_layers(decoder), 1)) {
      if (name.starts_with("ln") || name.starts_with("add")) names.push_back(name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(norms() == Names{"ln1", "add1", "ln2", "add2"});
  decoder.norm_place = NormPlace::output;
  CHECK(norms() == Names{"ln_out1", "add1", "ln_out2", "add2"});
  decoder.norm_place = NormPlace::both;
  CHECK(norms() == Names{"ln1", "ln_out1", "add1", "ln2", "ln_out2", "add2"});
  CHECK(added_parameters(decoder) == 4 * 2 * 64);
  decoder.norm_place = NormPlace::after;
  CHECK(norms() == Names{"add1", "ln1", "add2", "ln2"});
}

TEST_CASE("parallel halves have the work of others, and keep what both read once") {
  DecoderHyperparameters decoder = small_decoder();
  const ModelTotals one_by_one = totals(decoder_layers(decoder));
  const double values = 4.0 * 32 * 64;  // of an input in all blocks
  decoder.halves = BlockHalves::parallel_two_norms;
  const ModelTotals two = totals(decoder_layers(decoder));
  CHECK(two.parameters == one_by_one.parameters);
  CHECK(two.forward_flops.si() == one_by_one.forward_flops.si());
  CHECK(one_by_one.saved_elements - two.saved_elements == values);
  decoder.halves = BlockHalves::parallel_one_norm;
  const ModelTotals one = totals(decoder_layers(decoder));
  CHECK(one_by_one.parameters - one.parameters == 4 * 64);
  CHECK(one.forward_macs == one_by_one.forward_macs);
  CHECK(one_by_one.saved_elements - one.saved_elements == 2 * values);
  int sums = 0;
  for (const Layer& layer : decoder_layers(decoder)) sums += layer.input_sums;
  CHECK(sums == 4 * 2);  // of the block's input and of its norm
}

TEST_CASE("small parts have their parameters") {
  const auto with = [](auto change) {
    DecoderHyperparameters decoder = small_decoder();
    change(decoder);
    return added_parameters(decoder);
  };
  using D = DecoderHyperparameters;
  CHECK(with([](D& d) { d.qkv_bias = true; }) == 4 * 3 * 64);
  CHECK(with([](D& d) { d.output_bias = true; }) == 4 * 64);
  CHECK(with([](D& d) { d.mlp_bias = true; }) == 4 * (2 * 128 + 64));
  CHECK(with([](D& d) { d.head_bias = true; }) == 100);
  CHECK(with([](D& d) { d.attention_sinks = true; }) == 4 * 4);
  CHECK(with([](D& d) { d.qk_norm = QkNorm::heads; }) == 4 * 2 * 16);
  CHECK(with([](D& d) { d.qk_norm = QkNorm::own_heads; }) == 4 * 2 * 64);
  CHECK(with([](D& d) { d.qk_norm = QkNorm::whole; }) == 4 * 2 * 64);
  CHECK(with([](D& d) { d.final_norm = false; }) == -64);
  CHECK(with([](D& d) { d.norm = DecoderNorm::plain_layer_norm; }) == -(4 * 2 + 1) * 64);
  CHECK(with([](D& d) { d.embedding_size = 32; }) == -100 * 32 + 2 * 32 * 64);
  CHECK(with([](D& d) { d.gated = false; }) == -4 * 64 * 128);
  CHECK(with([](D& d) { d.logit_cap = d.attention_cap = true; }) == 0);
}

TEST_CASE("caps are kernels of their own where nothing fuses them") {
  DecoderHyperparameters decoder = small_decoder();
  decoder.attention_cap = decoder.logit_cap = true;
  const auto caps = [&] {
    std::vector<std::string> names;
    for (const Layer& layer : decoder_layers(decoder)) {
      if (layer.kind == LayerKind::tanh) names.push_back(layer.name);
    }
    return names;
  };
  CHECK(caps() == std::vector<std::string>{"cap"});
  decoder.attention = AttentionKernel::unfused;
  CHECK(caps().size() == 5);
  for (const Layer& layer : decoder_layers(decoder))
    CHECK(is_attention_core(layer) == (layer.name.ends_with(".qk") || layer.name.ends_with(".softmax") ||
                                       layer.name.ends_with(".av") || layer.name.ends_with("attn.cap")));
}

TEST_CASE("rotation of a part of a head's features moves that part") {
  DecoderHyperparameters decoder = small_decoder();
  const double all = part_called(decoder_layers(decoder), "h0.attn.rope").forward_rw_elements;
  decoder.rope_features = 4;
  CHECK(part_called(decoder_layers(decoder), "h0.attn.rope").forward_rw_elements == all / 4);
}

TEST_CASE("every parameter of every part has a gradient in the step") {
  DecoderHyperparameters decoder = small_decoder();
  decoder.attention_sinks = true;
  decoder.qk_norm = QkNorm::whole;
  decoder.norm_place = NormPlace::both;
  decoder.experts = 4;
  decoder.experts_per_token = 2;
  decoder.shared_expert_ffn = 32;
  decoder.shared_expert_gate = decoder.router_bias = decoder.router_correction = true;
  decoder.moe_every = 2;
  Model model{.name = "m", .title = "m", .layers = decoder_layers(decoder), .samples_per_epoch = {}};
  double gradients = 0;
  for (const Op& op : make_trace(model, 2, Precision::bf16, Optimizer::adam).ops)
    for (const Gradient& gradient : op.gradients) gradients += gradient.elements;
  CHECK(gradients == totals(model.layers).parameters);
}
