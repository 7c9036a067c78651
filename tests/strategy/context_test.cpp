#include "strategy/context.hpp"

#include "errors_of.hpp"
#include "strategy/gpt3_175b.hpp"
#include "strategy/transfer.hpp"
#include "workload/decoder.hpp"
#include "workload/layer.hpp"
#include "workload/make_trace.hpp"
#include "workload/vit.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr std::size_t llama_blocks = 2;

/// Llama 3 405B with two blocks; Grattafiori et al. 2024, arXiv 2407.21783, table 3.
Model llama3_405b(int sequence) {
  DecoderHyperparameters llama;
  llama.layers = llama_blocks;
  llama.hidden = 16384;
  llama.heads = 128;
  llama.kv_heads = 8;
  llama.ffn = 53248;
  llama.gated = true;
  llama.norm = DecoderNorm::rms_norm;
  llama.bias = false;
  llama.position = DecoderPosition::rope;
  llama.vocabulary = 128256;
  llama.sequence_length = sequence;
  llama.tied = false;
  llama.dropout = false;
  llama.attention = AttentionKernel::flash;
  return {"llama3_405b", "", decoder_layers(llama), std::nullopt};
}

Parallelism sharing(int tensor, int context, ContextExchange exchange = ContextExchange::p2p) {
  Parallelism parallelism;
  parallelism.tensor = tensor;
  parallelism.context = context;
  parallelism.context_exchange = exchange;
  parallelism.sequence = tensor > 1;
  return parallelism;
}

ShardedModel shared(const Model& model, const Parallelism& parallelism) {
  require_context(model.layers, parallelism);
  ShardedModel made = shard(model, {.tensor = parallelism.tensor, .sequence = parallelism.sequence});
  share_tokens(made, parallelism);
  return made;
}

/// One sample of a rank in bf16, with its collectives.
Trace trace_of(const Model& model, const Parallelism& parallelism) {
  const ShardedModel rank = shared(model, parallelism);
  Model own = model;
  own.layers = rank.layers;
  Trace trace = make_trace(own, 1, Precision::bf16, Optimizer::adam);
  add_transfers(trace, rank.layers, rank.transfers);
  add_rings(trace, rank.layers, parallelism);
  return trace;
}

std::vector<Op> attention_ops(const Trace& trace, Phase phase) {
  std::vector<Op> found;
  for (const Op& op : trace.ops) {
    if (op.phase == phase && op.kind == OpKind::attention) found.push_back(op);
  }
  return found;
}

/// What a context rank of a block sends in a phase, in bytes, by rings where there is a choice.
double sent_in_block(const Trace& trace, Phase phase, int ranks) {
  double sum = 0;
  for (const Op& op : trace.ops) {
    for (const OpCommunication& one : op.communications) {
      if (op.phase == phase && one.axis == Axis::context)
        sum += sent_share(one.operation, ranks) * one.size.si();
    }
  }
  return sum / llama_blocks;
}

/// Sizes of a block's collectives on the context axis.
std::vector<double> sizes_in_block(const Trace& trace, Phase phase, Operation operation) {
  std::vector<double> sizes;
  for (const Op& op : trace.ops) {
    if (op.phase != phase || !op.layer.starts_with("h0.")) continue;
    for (const OpCommunication& one : op.communications) {
      if (one.axis == Axis::context && one.operation == operation) sizes.push_back(one.size.si());
    }
  }
  return sizes;
}

struct Refused {
  std::string key, facts;
  friend bool operator==(const Refused&, const Refused&) = default;
};

Refused refusal(const Model& model, const Parallelism& parallelism) {
  const auto errors = errors_of([&] { require_context(model.layers, parallelism); });
  REQUIRE(errors.size() == 1);
  CHECK_FALSE(errors[0].hint.empty());
  return {errors[0].key_path, facts_in(errors[0].message)};
}

constexpr int sequence_length = 131072;

}  // namespace

TEST_CASE("one context rank has the layers of its tensor rank") {
  const Model model = llama3_405b(8192);
  const ShardedModel rank = shared(model, sharing(8, 1));
  const ShardedModel same = shard(model, {.tensor = 8, .sequence = true});
  CHECK(rank.transfers == same.transfers);
  for (std::size_t i = 0; i < rank.layers.size(); ++i) {
    CHECK(rank.layers[i].forward_flops == same.layers[i].forward_flops);
    CHECK(rank.layers[i].saved_elements == same.layers[i].saved_elements);
  }
}

TEST_CASE("a hop of Llama 3 405B's ring has the keys and values of a rank's tokens, 4 MiB") {
  const Trace trace = trace_of(llama3_405b(sequence_length), sharing(8, 16));
  const std::vector<double> forward = sizes_in_block(trace, Phase::forward, Operation::send_recv);
  CHECK(forward == std::vector<double>(15, 4'194'304));
  const std::vector<double> backward = sizes_in_block(trace, Phase::backward, Operation::send_recv);
  REQUIRE(backward.size() == 16);
  CHECK(backward.front() == 4'194'304);  // no gradients yet
  CHECK(backward.back() == 4'194'304);   // gradients alone
  for (std::size_t i = 1; i < 15; ++i) CHECK(backward[i] == 2 * 4'194'304);
}

TEST_CASE("Llama 3 405B gathers keys and values of 64 MiB before the attention") {
  const Trace trace = trace_of(llama3_405b(sequence_length), sharing(8, 16, ContextExchange::all_gather));
  const std::vector<double> halves(2, 67'108'864.0 / 2);
  CHECK(sizes_in_block(trace, Phase::forward, Operation::all_gather) == halves);
  CHECK(sizes_in_block(trace, Phase::backward, Operation::all_gather) == halves);
  CHECK(sizes_in_block(trace, Phase::backward, Operation::reduce_scatter) == halves);
  for (const Op& op : attention_ops(trace, Phase::forward)) {
    for (const OpCommunication& one : op.communications) {
      CHECK(one.at == LaunchTime::start);
      CHECK(one.waits == 0);
    }
  }
}

TEST_CASE(
    "four all-to-alls of a block forward and four backward have a rank's own queries, keys and values") {
  constexpr double queries = 2.0 * sequence_length / 4 * 16384 / 2;  // 2 (s/c) b h / t
  const std::vector<double> input{queries, queries / 16, queries / 16};
  const Trace trace = trace_of(llama3_405b(sequence_length), sharing(2, 4, ContextExchange::all_to_all));
  std::vector<double> forward = input;
  forward.push_back(queries);
  std::vector<double> backward{queries};
  backward.insert(backward.end(), input.begin(), input.end());
  CHECK(sizes_in_block(trace, Phase::forward, Operation::all_to_all) == forward);
  CHECK(sizes_in_block(trace, Phase::backward, Operation::all_to_all) == backward);
}

TEST_CASE("a ring sends what gathering and reduce-scattering by rings send") {
  for (const int ranks : {2, 4, 16}) {
    const Trace ring = trace_of(llama3_405b(sequence_length), sharing(8, ranks));
    Trace gathered = trace_of(llama3_405b(sequence_length), sharing(8, ranks, ContextExchange::all_gather));
    for (const Phase phase : {Phase::forward, Phase::backward})
      CHECK(sent_in_block(ring, phase, ranks) == doctest::Approx(sent_in_block(gathered, phase, ranks)));
  }
}

TEST_CASE("context ranks together do the model's work and keep its activations once") {
  const Model model = llama3_405b(sequence_length);
  const Parallelism alone = sharing(4, 1);
  const std::vector<Layer> whole = shared(model, alone).layers;
  for (const ContextExchange exchange : {ContextExchange::p2p, ContextExchange::all_gather}) {
    for (const int ranks : {2, 8}) {
      const std::vector<Layer> rank = shared(model, sharing(4, ranks, exchange)).layers;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        INFO(whole[i].name);
        CHECK(ranks * rank[i].forward_flops == whole[i].forward_flops);
        CHECK(ranks * rank[i].backward_flops == whole[i].backward_flops);
        CHECK(ranks * rank[i].saved_elements == whole[i].saved_elements);
        CHECK(ranks * rank[i].saved_fixed == whole[i].saved_fixed);
        CHECK(rank[i].parameters == whole[i].parameters);
        CHECK(rank[i].weight_rw_elements == whole[i].weight_rw_elements);
        if (whole[i].kind == LayerKind::linear) CHECK(ranks * rank[i].gemm.m == whole[i].gemm.m);
      }
    }
  }
}

TEST_CASE("with all-to-alls a rank has all tokens of its heads and keeps the output of attention twice") {
  const Model model = llama3_405b(sequence_length);
  const ShardedModel whole = shared(model, sharing(2, 1));
  const ShardedModel rank = shared(model, sharing(2, 4, ContextExchange::all_to_all));
  for (std::size_t i = 0; i < rank.layers.size(); ++i) {
    const Layer& layer = rank.layers[i];
    CHECK(4 * layer.forward_flops == whole.layers[i].forward_flops);
    if (layer.kind != LayerKind::flash_attention) continue;
    CHECK(layer.in_shape == std::vector<int>{16, sequence_length, 128});
    CHECK(layer.gemm.batch == 16);
    CHECK(layer.gemm.m == sequence_length);
    CHECK(4 * layer.saved_elements == whole.layers[i].saved_elements + whole.layers[i].out_elements);
  }
}

TEST_CASE("the blocks of a ring add up to attention, and each but the last one waits for a hop") {
  const Model model = llama3_405b(sequence_length);
  const Trace whole = trace_of(model, sharing(8, 1));
  const Trace rank = trace_of(model, sharing(8, 4));
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const std::vector<Op> one = attention_ops(whole, phase);
    const std::vector<Op> ops = attention_ops(rank, phase);
    REQUIRE(one.size() == llama_blocks);
    REQUIRE(ops.size() == 4 * llama_blocks);
    for (const Op& op : ops) {
      CHECK(16 * op.flops == one[0].flops);  // s/c queries meet s/c keys
      CHECK(4 * op.bytes == one[0].bytes);
      const GemmShape shape = std::get<GemmShape>(op.shape);
      CHECK(shape.m == sequence_length / 4);
      const bool is_own = op.layer.ends_with(".block0");
      CHECK(shape.n == sequence_length / (is_own ? 4 : 8));  // of others' keys one half, whole
      CHECK(is_causal_attention(op) == is_own);
    }
    CHECK(is_causal_attention(one[0]));
    CHECK(ops[0].layer.ends_with(".attn.flash.block0"));
    for (int i = 0; i < 4; ++i) {
      const std::vector<OpCommunication>& hops = ops[static_cast<std::size_t>(i)].communications;
      const bool is_last_forward = phase == Phase::forward && i == 3;
      REQUIRE(hops.size() == (is_last_forward ? 0 : 1));
      if (is_last_forward) continue;
      CHECK(hops[0].at == LaunchTime::start);
      CHECK(hops[0].waits == 1);
    }
  }
}

TEST_CASE("collectives of a tensor group have the tokens of a context rank") {
  const Model model = llama3_405b(sequence_length);
  const ShardedModel whole = shard(model, {.tensor = 8, .sequence = true});
  const ShardedModel rank = shared(model, sharing(8, 16));
  REQUIRE(rank.transfers.size() == whole.transfers.size());
  for (std::size_t i = 0; i < whole.transfers.size(); ++i)
    CHECK(16 * rank.transfers[i].elements == whole.transfers[i].elements);
}

TEST_CASE("tokens that ranks cannot share are errors of their keys, with the numbers") {
  CHECK(refusal(llama3_405b(1040), sharing(1, 16)) == Refused{"parallelism.context", "16 1040 2 = 32"});
  CHECK(refusal(llama3_405b(80), sharing(8, 4)) ==
        Refused{"parallelism.sequence", "'sequence' 80 / 4 = 20 8"});
  CHECK_NOTHROW(require_context(llama3_405b(64).layers, sharing(8, 4)));
}

TEST_CASE("all-to-alls need heads of keys and values for every rank") {
  const auto exchange = ContextExchange::all_to_all;
  CHECK(refusal(llama3_405b(sequence_length), sharing(8, 16, exchange)) ==
        Refused{"parallelism.context_exchange", "1 'h0.attn.flash' 16"});
  CHECK(refusal(llama3_405b(sequence_length), sharing(2, 8, exchange)) ==
        Refused{"parallelism.context_exchange", "4 'h0.attn.flash' 8"});
  CHECK_NOTHROW(require_context(llama3_405b(sequence_length).layers, sharing(2, 4, exchange)));
}

TEST_CASE("images, whose layers do not all work on tokens, are not shared by context ranks") {
  VitHyperparameters vit;
  vit.layers = 1;
  vit.hidden = 64;
  vit.heads = 4;
  vit.image_size = 112;
  vit.attention = AttentionKernel::flash;
  const std::vector<Layer> layers = vit_layers(vit);
  const auto errors = errors_of([&] { require_context(layers, sharing(1, 5)); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().message.find("conv_proj") != std::string::npos);
}

TEST_CASE("ranks share tokens in fused attention alone") {
  CHECK(refusal(gpt3_175b(1), sharing(1, 2)) == Refused{"parallelism.context", "2 'h0.attn.softmax'"});
  const Model without{"one_layer", "", {linear_layer("fc", 8, 8)}, std::nullopt};
  CHECK(refusal(without, sharing(1, 2)) == Refused{"parallelism.context", "2"});
}
