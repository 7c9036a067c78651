// Ranks of a tensor group divide the parts that only some decoders have.
#include "strategy/context.hpp"
#include "strategy/shard.hpp"
#include "workload/decoder.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

DecoderHyperparameters decoder_with_heads() {
  DecoderHyperparameters decoder;
  decoder.layers = 2;
  decoder.hidden = 64;
  decoder.heads = 8;
  decoder.ffn = 128;
  decoder.gated = true;
  decoder.bias = false;
  decoder.norm = DecoderNorm::rms_norm;
  decoder.position = DecoderPosition::rope;
  decoder.vocabulary = 128;
  decoder.sequence_length = 32;
  decoder.dropout = false;
  decoder.attention = AttentionKernel::flash;
  return decoder;
}

ShardedModel divided(const DecoderHyperparameters& decoder, int ranks, bool sequence) {
  const Model model{"m", "", decoder_layers(decoder), std::nullopt};
  return shard(model, {.tensor = ranks, .sequence = sequence});
}

const Layer& layer_of(const std::vector<Layer>& layers, const std::string& name) {
  const auto found = std::ranges::find(layers, name, &Layer::name);
  REQUIRE(found != layers.end());
  return *found;
}

double flops_of(const std::vector<Layer>& layers, const std::string& part) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (layer.name.find(part) != std::string::npos) sum += layer.forward_flops.si();
  }
  return sum;
}

}  // namespace

TEST_CASE("ranks divide the heads of latent attention, and hold its latents whole") {
  DecoderHyperparameters decoder = decoder_with_heads();
  decoder.latent_attention =
      LatentAttention{.query_rank = 24, .key_value_rank = 16, .plain_dim = 8, .rope_dim = 4, .value_dim = 6};
  const std::vector<Layer> whole = decoder_layers(decoder);
  for (const bool sequence : {false, true}) {
    const ShardedModel sharded = divided(decoder, 4, sequence);
    const auto part = [&](const std::string& name) {
      return parameter_elements(layer_of(sharded.layers, name)) / parameter_elements(layer_of(whole, name));
    };
    CHECK(part("h0.attn.q_a") == 1);
    CHECK(part("h0.attn.kv_a") == 1);
    CHECK(part("h0.attn.kv_norm") == 1);
    CHECK(part("h0.attn.q_b") == 0.25);
    CHECK(part("h0.attn.kv_b") == 0.25);
    CHECK(part("h0.attn.proj") == 0.25);
    const double of_latents = sequence ? 0.25 : 1;  // each rank those of its own tokens
    CHECK(flops_of(sharded.layers, "kv_a") == of_latents * flops_of(whole, "kv_a"));
    const Layer& flash = layer_of(sharded.layers, "h0.attn.flash");
    CHECK(flash.forward_macs == layer_of(whole, "h0.attn.flash").forward_macs / 4);
    CHECK(layer_of(sharded.layers, "h0.attn.rope").in_shape == std::vector{8 / 4 + 1, 32, 4});
  }
}

TEST_CASE("scales of single heads and sinks go with their heads, a scale of all heads stays") {
  DecoderHyperparameters decoder = decoder_with_heads();
  decoder.kv_heads = 2;
  decoder.attention_sinks = true;
  for (const QkNorm norm : {QkNorm::heads, QkNorm::own_heads, QkNorm::whole}) {
    decoder.qk_norm = norm;
    const ShardedModel sharded = divided(decoder, 4, false);
    const Layer& part = layer_of(sharded.layers, "h1.attn.norm");
    const bool is_shared = norm == QkNorm::heads;
    CHECK(part.parameters[0].elements == (is_shared ? 8 : 8 * 8 / 4));
    CHECK(part.parameters[1].elements == (is_shared ? 8 : 8 * 2 / 2));  // two ranks share a head of keys
    CHECK(parameter_elements(layer_of(sharded.layers, "h1.attn.flash")) == 8 / 4);
  }
}

TEST_CASE("tensor groups divide a model with every part, and each sums what it has to") {
  DecoderHyperparameters decoder = decoder_with_heads();
  decoder.norm_place = NormPlace::both;
  decoder.logit_cap = decoder.attention_cap = true;
  decoder.embedding_size = 32;
  decoder.sliding_window = 8;
  for (const bool sequence : {false, true}) {
    const ShardedModel sharded = divided(decoder, 2, sequence);
    const std::vector<Layer> whole = decoder_layers(decoder);
    CHECK(flops_of(sharded.layers, "flash") == flops_of(whole, "flash") / 2);
    CHECK(flops_of(sharded.layers, "cap") == flops_of(whole, "cap") / 2);
    CHECK(parameter_elements(layer_of(sharded.layers, "project_in")) == 32 * 64);
    decoder.norm_place = NormPlace::before;
    decoder.halves = BlockHalves::parallel_one_norm;
    const auto reductions = [&](const ShardedModel& of) {
      return std::ranges::count_if(of.transfers, [](const Transfer& transfer) {
        return transfer.phase == Phase::backward && transfer.place == TransferPlace::beside_weight_grad;
      });
    };
    CHECK(reductions(divided(decoder, 2, sequence)) == reductions(sharded));
    decoder.norm_place = NormPlace::both;
    decoder.halves = BlockHalves::sequential;
  }
}

TEST_CASE("ranks of a context group exchange the keys and values of latent attention") {
  DecoderHyperparameters decoder = decoder_with_heads();
  decoder.latent_attention =
      LatentAttention{.query_rank = {}, .key_value_rank = 16, .plain_dim = 8, .rope_dim = 4, .value_dim = 6};
  const double per_head = 32.0 * (12 + 6);
  for (const ContextExchange exchange : {ContextExchange::all_gather, ContextExchange::all_to_all}) {
    Parallelism parallelism;
    parallelism.context = 2;
    parallelism.context_exchange = exchange;
    ShardedModel model{decoder_layers(decoder), {}};
    share_tokens(model, parallelism);
    double received = 0;
    for (const Transfer& transfer : model.transfers) {
      const bool is_before = transfer.place == TransferPlace::before && transfer.phase == Phase::forward;
      if (is_before) received += transfer.elements;
    }
    const double queries = exchange == ContextExchange::all_to_all ? 8 * 32.0 * 12 / 2 : 0;
    const double keys = exchange == ContextExchange::all_to_all ? 8 * per_head / 2 : 8 * per_head;
    CHECK(received == 2 * (queries + keys));  // of two blocks
  }
}
