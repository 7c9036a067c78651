#include "strategy/shard.hpp"

#include "errors_of.hpp"
#include "strategy/gpt3_175b.hpp"
#include "workload/bert.hpp"
#include "workload/decoder.hpp"
#include "workload/gpt2.hpp"
#include "workload/resnet.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>

using namespace trainyard;

namespace {

Model model_of(std::vector<Layer> layers) { return {"m", "", std::move(layers), std::nullopt}; }

double parameters_in_block(const std::vector<Layer>& layers, int block) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.block == block ? parameter_elements(layer) : 0;
  return sum;
}

int transfers_in_block(const ShardedModel& sharded, int block) {
  return static_cast<int>(std::ranges::count_if(sharded.transfers, [&](const Transfer& transfer) {
    return sharded.layers[static_cast<std::size_t>(transfer.layer)].block == block;
  }));
}

const Layer& part_called(const ShardedModel& sharded, const std::string& name) {
  const auto found = std::ranges::find(sharded.layers, name, &Layer::name);
  REQUIRE(found != sharded.layers.end());
  return *found;
}

/// Elements that a ring sends per rank in the passes of a phase.
double sent(const ShardedModel& sharded, int ranks, Phase phase) {
  double sum = 0;
  for (const Transfer& one : sharded.transfers) {
    if (one.phase == phase) sum += sent_share(one.operation, ranks) * one.elements;
  }
  return sum;
}

/// Parameters of which every rank has a copy: norms, position embeddings, biases of layers split by rows.
double copied(const std::vector<Layer>& layers) {
  double sum = partial_gradients(layers);
  for (const Layer& layer : layers) {
    const bool is_position = layer.kind == LayerKind::embedding && layer.split == TensorSplit::tokens;
    if (is_position || layer.split == TensorSplit::none) sum += parameter_elements(layer);
  }
  return sum;
}

DecoderHyperparameters llama_like(int heads, int kv_heads) {
  DecoderHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 64 * heads;
  parameters.heads = heads;
  parameters.kv_heads = kv_heads;
  parameters.ffn = 160 * heads;
  parameters.gated = true;
  parameters.norm = DecoderNorm::rms_norm;
  parameters.bias = false;
  parameters.position = DecoderPosition::rope;
  parameters.vocabulary = 3200;
  parameters.sequence_length = 96;
  parameters.tied = false;
  parameters.dropout = false;
  return parameters;
}

std::string message_of(const Model& model, ShardSetting setting) {
  const auto errors = errors_of([&] { shard(model, setting); });
  REQUIRE(errors.size() == 1);
  return errors[0].message;
}

}  // namespace

TEST_CASE("one rank holds the model as it is and sends nothing") {
  const Model model = gpt3_175b(2);
  const ShardedModel whole = shard(model, {.tensor = 1});
  CHECK(whole.transfers.empty());
  CHECK(totals(whole.layers).parameters == totals(model.layers).parameters);
  CHECK(totals(whole.layers).saved_fixed == totals(model.layers).saved_fixed);
}

TEST_CASE("a rank of eight holds its part of GPT-3's blocks and embeddings") {
  const ShardedModel part = shard(gpt3_175b(2), {.tensor = 8});
  CHECK(parameters_in_block(part.layers, 0) == 226'576'896);
  CHECK(parameters_in_block(part.layers, 1) == 226'576'896);
  CHECK(parameter_elements(part_called(part, "wte")) + parameter_elements(part_called(part, "wpe")) ==
        103'809'024);
  const Layer& qkv = part_called(part, "h0.attn.qkv");
  CHECK(qkv.gemm == LayerGemm{1, 2048, 3 * 12288 / 8, 12288, true});
  CHECK(qkv.in_elements == 2048.0 * 12288);
  CHECK(part_called(part, "h0.attn.qk").gemm == LayerGemm{12, 2048, 2048, 128, true});
  CHECK(part_called(part, "h1.mlp.fc2").gemm == LayerGemm{1, 2048, 12288, 4 * 12288 / 8, true});
  CHECK(part_called(part, "lm_head").tied_elements == 51200.0 * 12288 / 8);
}

TEST_CASE("a block has four collectives, ten with sequence parallelism, each of 48 MiB in bf16") {
  for (const bool sequence : {false, true}) {
    const ShardedModel part = shard(gpt3_175b(2), {.tensor = 8, .sequence = sequence});
    CHECK(transfers_in_block(part, 0) == (sequence ? 10 : 4));
    CHECK(transfers_in_block(part, 1) == (sequence ? 10 : 4));
    for (const Transfer& one : part.transfers) {
      CHECK(one.axis == Axis::tensor);
      if (one.of == TransferDtype::activation) CHECK(one.elements * 2 == 50'331'648);
    }
  }
}

TEST_CASE("the collectives of a block stand where Megatron-LM has them") {
  const ShardedModel part = shard(gpt3_175b(1), {.tensor = 8, .sequence = true});
  const auto of = [&](const std::string& name) {
    std::vector<Transfer> found;
    for (const Transfer& one : part.transfers) {
      if (part.layers[static_cast<std::size_t>(one.layer)].name == name) found.push_back(one);
    }
    return found;
  };
  const auto fc1 = of("h0.mlp.fc1");
  REQUIRE(fc1.size() == 3);
  CHECK((fc1[0].phase == Phase::forward && fc1[0].place == TransferPlace::before &&
         fc1[0].operation == Operation::all_gather));
  CHECK((fc1[1].phase == Phase::backward && fc1[1].place == TransferPlace::beside_input_grad &&
         fc1[1].operation == Operation::all_gather));
  CHECK((fc1[2].phase == Phase::backward && fc1[2].place == TransferPlace::beside_weight_grad &&
         fc1[2].operation == Operation::reduce_scatter));
  const auto fc2 = of("h0.mlp.fc2");
  REQUIRE(fc2.size() == 2);
  CHECK((fc2[0].phase == Phase::forward && fc2[0].place == TransferPlace::after &&
         fc2[0].operation == Operation::reduce_scatter));
  CHECK((fc2[1].phase == Phase::backward && fc2[1].place == TransferPlace::before &&
         fc2[1].operation == Operation::all_gather));
  const auto loss = of("loss");
  REQUIRE(loss.size() == 3);
  for (const Transfer& one : loss)
    CHECK((one.of == TransferDtype::fp32 && one.elements == 2048 && one.operation == Operation::all_reduce));
}

TEST_CASE(
    "sequence parallelism sends forward what tensor parallelism sends, and half as much again backward") {
  const ShardedModel tensor = shard(gpt3_175b(4), {.tensor = 8});
  const ShardedModel sequence = shard(gpt3_175b(4), {.tensor = 8, .sequence = true});
  CHECK(sent(sequence, 8, Phase::forward) == doctest::Approx(sent(tensor, 8, Phase::forward)).epsilon(1e-12));
  const double part = sent_share(Operation::all_gather, 8) * 2048 * 12288;
  // 6 instead of 4 halves of an all-reduce per block; the embedding's output gradient is gathered
  CHECK(sent(sequence, 8, Phase::backward) - sent(tensor, 8, Phase::backward) ==
        doctest::Approx((4 * 2 + 1) * part).epsilon(1e-12));
}

TEST_CASE("the norms' gradients of twelve blocks of GPT-3 are 3.5 MB in fp32") {
  std::vector<Layer> blocks = shard(gpt3_175b(12), {.tensor = 8, .sequence = true}).layers;
  std::erase_if(blocks, [](const Layer& layer) { return !layer.block; });
  CHECK(partial_gradients(blocks) * 4 == 3'538'944);
}

TEST_CASE("the logits of the loss are kept in fp32, divided by classes") {
  const Layer loss = part_called(shard(gpt3_175b(1), {.tensor = 8}), "loss");
  CHECK(loss.saved_elements == 0);
  CHECK(loss.saved_fixed == Bytes(52'428'800));
}

TEST_CASE("all ranks together hold the model and its copies, and do its work") {
  CHECK(rc::check([] {
    const int ranks = *rc::gen::elementOf(std::vector<int>{2, 4, 8, 16});
    const bool sequence = *rc::gen::arbitrary<bool>();
    DecoderHyperparameters parameters = llama_like(16, 16);
    parameters.gated = *rc::gen::arbitrary<bool>();
    parameters.bias = *rc::gen::arbitrary<bool>();
    parameters.dropout = *rc::gen::arbitrary<bool>();
    parameters.tied = *rc::gen::arbitrary<bool>();
    parameters.position =
        *rc::gen::elementOf(std::vector<DecoderPosition>{DecoderPosition::learned, DecoderPosition::rope});
    parameters.attention =
        *rc::gen::elementOf(std::vector<AttentionKernel>{AttentionKernel::unfused, AttentionKernel::flash});
    const Model model = model_of(decoder_layers(parameters));
    const ShardedModel part = shard(model, {.tensor = ranks, .sequence = sequence});
    const ModelTotals whole = totals(model.layers);
    const ModelTotals own = totals(part.layers);
    RC_ASSERT(ranks * own.parameters - (ranks - 1) * copied(part.layers) == whole.parameters);
    RC_ASSERT(ranks * own.forward_macs == whole.forward_macs);
    for (std::size_t i = 0; i < part.layers.size(); ++i) {
      const Layer& layer = part.layers[i];
      if (layer.kind == LayerKind::embedding) continue;
      const bool is_whole = layer.split == TensorSplit::tokens && !sequence;
      RC_ASSERT(
          std::abs((is_whole ? 1 : ranks) * layer.forward_flops.si() / model.layers[i].forward_flops.si() -
                   1) < 1e-12);
      double in = 1;
      for (const int size : layer.in_shape) in *= size;
      if (layer.kind != LayerKind::flash_attention) RC_ASSERT(layer.in_elements == in);
    }
  }));
}

TEST_CASE("beyond its heads of keys and values a group holds copies of them") {
  const Model model = model_of(decoder_layers(llama_like(16, 2)));
  for (const int ranks : {2, 8}) {
    const ShardedModel part = shard(model, {.tensor = ranks});
    const int own = std::max(1, 2 / ranks);
    const Layer& qkv = part_called(part, "h0.attn.qkv");
    CHECK(qkv.out_shape.back() == (16 / ranks + 2 * own) * 64);
    CHECK(parameter_elements(qkv) == 1024.0 * qkv.out_shape.back());
    CHECK(qkv.forward_macs == 96.0 * 1024 * qkv.out_shape.back());
    const Layer& rope = part_called(part, "h0.attn.rope");
    CHECK(rope.in_shape == std::vector<int>{16 / ranks + own, 96, 64});
    CHECK(rope.in_elements == 96.0 * 64 * (16 / ranks + own));
    CHECK(rope.forward_rw_elements == 2 * rope.in_elements);
    CHECK(rope.forward_flops == Flops(3 * rope.in_elements));
    CHECK(part_called(part, "h0.attn.qk").saved_elements == rope.in_elements);
    CHECK(part_called(part, "h0.attn.av").saved_elements == 96.0 * 64 * own);
  }
}

TEST_CASE("BERT's heads are whole on every rank, but for the vocabulary") {
  BertHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 256;
  parameters.heads = 4;
  parameters.pad_vocabulary = 512;
  const Model model = model_of(bert_layers(parameters));
  const ShardedModel part = shard(model, {.tensor = 4, .sequence = true});
  CHECK(part_called(part, "pooler").parameters == part_called({model.layers, {}}, "pooler").parameters);
  CHECK(part_called(part, "cls.decoder").out_shape.back() == 30720 / 4);
  CHECK(transfers_in_block(part, 1) == 10);
  // the tokens are gathered for the heads, whose own inputs are whole
  const auto of = [&](const std::string& name) {
    return std::ranges::count_if(part.transfers, [&](const Transfer& one) {
      return part.layers[static_cast<std::size_t>(one.layer)].name == name;
    });
  };
  CHECK(of("pooler") == 1);
  CHECK(of("cls.transform") == 0);
  CHECK(of("cls.decoder") == 1);
  CHECK(4 * totals(part.layers).parameters - 3 * copied(part.layers) == totals(model.layers).parameters);
}

TEST_CASE("what the ranks cannot divide is an error with its numbers") {
  const auto gpt2 = [](int heads, int hidden) {
    Gpt2Hyperparameters parameters{.layers = 1, .hidden = hidden, .heads = heads};
    parameters.pad_vocabulary = 128;
    return model_of(gpt2_layers(parameters));
  };
  CHECK(message_of(gpt2(12, 768), {.tensor = 8}) ==
        "tensor is 8: layer 'h0.attn.qk' has 12 heads, which 8 ranks cannot divide equally");
  CHECK(message_of(model_of(gpt2_layers({.layers = 1, .hidden = 768, .heads = 12})), {.tensor = 4})
            .find("50257 entries") != std::string::npos);
  DecoderHyperparameters grouped = llama_like(24, 6);
  CHECK(message_of(model_of(decoder_layers(grouped)), {.tensor = 4}).find("6 heads of keys and values") !=
        std::string::npos);
  grouped = llama_like(8, 8);
  grouped.ffn = 100;
  CHECK(message_of(model_of(decoder_layers(grouped)), {.tensor = 8}).find("100 ") != std::string::npos);
  grouped = llama_like(8, 8);
  grouped.sequence_length = 90;
  CHECK(message_of(model_of(decoder_layers(grouped)), {.tensor = 8, .sequence = true}).find("90 tokens") !=
        std::string::npos);
  CHECK(message_of(gpt2(12, 768), {.tensor = 1, .sequence = true}).find("sequence") != std::string::npos);
  CHECK(message_of(gpt2(12, 768), {.tensor = 0}) == "tensor is 0");
  const Model resnet = model_of(resnet_layers({.blocks = {1, 1, 1, 1}}));
  CHECK(message_of(resnet, {.tensor = 2}).find("'conv1'") != std::string::npos);
}
