// Encoder-decoders divided among the ranks of a tensor group, and their cuts.

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "strategy/shard.hpp"
#include "strategy/stages.hpp"
#include "strategy/vocabulary.hpp"
#include "workload/encoder_decoder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

Model small_t5(bool tied = true) {
  EncoderDecoderHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 64;
  parameters.heads = 8;
  parameters.head_dim = 16;
  parameters.ffn = 256;
  parameters.vocabulary = 1024;
  parameters.sequence_length = 32;
  parameters.decoder_sequence_length = 8;
  parameters.tied = tied;
  return {.name = "t5", .title = {}, .layers = encoder_decoder_layers(parameters), .samples_per_epoch = {}};
}

int transfers_of(const ShardedModel& model, const std::string& layer, Phase phase, Operation operation) {
  return static_cast<int>(std::ranges::count_if(model.transfers, [&](const Transfer& transfer) {
    return model.layers[static_cast<std::size_t>(transfer.layer)].name == layer && transfer.phase == phase &&
           transfer.operation == operation;
  }));
}

int count_of(const ShardedModel& model, Operation operation) {
  return static_cast<int>(std::ranges::count(model.transfers, operation, &Transfer::operation));
}

}  // namespace

TEST_CASE("tensor ranks hold the parameters of an encoder-decoder once, norms and position tables each") {
  const Model model = small_t5();
  constexpr int ranks = 4;
  double copied = 0;
  for (const Layer& layer : model.layers) {
    const bool is_bias = layer.kind == LayerKind::position_bias;
    if (layer.kind == LayerKind::rms_norm || is_bias) copied += parameter_elements(layer);
  }
  CHECK(copied == 2 * 8 * 32 + 64 * (2 * 2 + 2 * 3 + 2));
  const double whole = totals(model.layers).parameters;
  CHECK(totals(shard(model, {.tensor = ranks}).layers).parameters == (whole - copied) / ranks + copied);
}

TEST_CASE("every block of a decoder sums three outputs, and the gradient of the encoder's output") {
  const ShardedModel model = shard(small_t5(), {.tensor = 4});
  for (const std::string layer : {"decoder.h1.attn.proj", "decoder.h1.cross.proj", "decoder.h1.mlp.fc2"})
    CHECK(transfers_of(model, layer, Phase::forward, Operation::all_reduce) == 1);
  for (const std::string layer :
       {"decoder.h1.attn.qkv", "decoder.h1.cross.q", "decoder.h1.cross.kv", "decoder.h1.mlp.fc1"})
    CHECK(transfers_of(model, layer, Phase::backward, Operation::all_reduce) == 1);
  // both look-ups, 2 + 2 of each block of the encoder, 3 + 4 of each of the decoder, the last projection's
  // input, and three of the loss
  CHECK(count_of(model, Operation::all_reduce) == 2 + 2 * 4 + 2 * 7 + 1 + 3);
  const auto keys = std::ranges::find_if(model.transfers, [&](const Transfer& transfer) {
    return model.layers[static_cast<std::size_t>(transfer.layer)].name == "decoder.h1.cross.kv";
  });
  CHECK(keys->elements == 32 * 64);
}

TEST_CASE("with sequence parallelism the encoder's output is gathered for every block of the decoder") {
  const ShardedModel model = shard(small_t5(), {.tensor = 4, .sequence = true});
  CHECK(transfers_of(model, "decoder.h0.cross.kv", Phase::forward, Operation::all_gather) == 1);
  CHECK(transfers_of(model, "decoder.h0.cross.kv", Phase::backward, Operation::all_gather) == 1);
  CHECK(transfers_of(model, "decoder.h0.cross.kv", Phase::backward, Operation::reduce_scatter) == 1);
}

TEST_CASE("a padded vocabulary is that of both look-ups and of the last projection") {
  Model model = small_t5();
  const auto padded = pad_vocabulary(model.layers, 3);
  REQUIRE(padded);
  CHECK(padded->padded == 1152);
  const ShardedModel part = shard(small_t5(), {.tensor = 4});
  const auto tied = std::ranges::find(part.layers, "decoder.embedding", &Layer::name);
  CHECK(tied->tied_elements == 1024 * 64 / 4);
  CHECK(tied->parameters.empty());
  const auto look_up = std::ranges::find(model.layers, "decoder.embedding", &Layer::name);
  CHECK(look_up->tied_elements == 1152 * 64);
  CHECK(look_up->parameters.empty());
  CHECK(std::ranges::find(model.layers, "lm_head", &Layer::name)->out_shape.back() == 1152);
}

TEST_CASE("an encoder-decoder is not cut into stages") {
  const auto errors = errors_of([] { (void)cut(small_t5().layers, 2); });
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "parallelism.pipeline");
  CHECK(errors[0].message.find("decoder.h0.cross.kv") != std::string::npos);
  CHECK(cut(small_t5().layers, 1).size() == 1);
}
