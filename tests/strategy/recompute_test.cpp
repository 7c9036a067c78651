#include "strategy/recompute.hpp"

#include "strategy/gpt3_175b.hpp"
#include "strategy/shard.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

std::vector<Layer> gpt_layers(int hidden, int heads, AttentionKernel attention = AttentionKernel::unfused,
                              bool dropout = true) {
  DecoderHyperparameters gpt = gpt3_175b_sizes(2);
  gpt.hidden = hidden;
  gpt.heads = heads;
  gpt.attention = attention;
  gpt.dropout = dropout;
  return decoder_layers(gpt);
}

Model as_model(std::vector<Layer> layers) { return {"gpt", "", std::move(layers), std::nullopt}; }

/// Bytes that the first block keeps for `samples` samples in 16 bits.
double kept_bytes(const std::vector<Layer>& layers, double samples) {
  Bytes sum;
  for (const Layer& layer : layers) {
    if (layer.block == 0) sum += layer.saved_elements * Bytes(2) + layer.saved_fixed;
  }
  return samples * sum.si();
}

std::vector<std::string> repeated_names(const Trace& trace) {
  std::vector<std::string> names;
  for (const Op& op : trace.ops) {
    if (op.role == OpRole::recompute) names.push_back(op.layer);
  }
  return names;
}

double matrix_flops(const Trace& trace, OpRole role) {
  double sum = 0;
  for (const Op& op : trace.ops) sum += is_matrix(op.kind) && op.role == role ? op.flops.si() : 0;
  return sum;
}

/// Two blocks with latent attention, of which the second has experts.
std::vector<Layer> latent_layers(bool latent = true) {
  DecoderHyperparameters sizes{.layers = 2,
                               .hidden = 64,
                               .heads = 4,
                               .ffn = 128,
                               .gated = true,
                               .norm = DecoderNorm::rms_norm,
                               .bias = false,
                               .position = DecoderPosition::rope,
                               .vocabulary = 128,
                               .pad_vocabulary = {},
                               .positions = {},
                               .sequence_length = 16,
                               .dropout = false,
                               .attention = AttentionKernel::flash,
                               .experts = 4,
                               .experts_per_token = 2,
                               .expert_ffn = 32,
                               .first_dense_layers = 1};
  if (latent)
    sizes.latent_attention = {
        .query_rank = 24, .key_value_rank = 16, .plain_dim = 16, .rope_dim = 8, .value_dim = 16};
  return decoder_layers(sizes);
}

std::vector<std::string> repeated_with(const std::vector<Layer>& layers,
                                       const std::vector<RecomputedModule>& modules) {
  const Model model = as_model(layers);
  Trace trace = make_trace(model, 1, Precision::bf16, Optimizer::adam);
  recompute(trace, model.layers, Recompute::selective, {.modules = modules});
  return repeated_names(trace);
}

/// A size of Korthikanti et al. 2022, and megabytes per layer with eight ranks.
struct KeptRow {
  int hidden, heads, samples;
  double core;  ///< 5 a s / h
  double tensor, sequence, selective, full;
};

}  // namespace

TEST_CASE("a layer keeps the bytes of Korthikanti's equations and table") {
  const double s = 2048;
  const std::vector<KeptRow> rows = {{6144, 64, 4, 106.67, 1325.4, 885.0, 213.9, 100.7},
                                     {12288, 96, 1, 80, 578.8, 358.6, 106.95, 50.33},
                                     {25600, 160, 1, 64, 1101.0, 642.3, 222.8, 104.9}};
  for (const KeptRow& row : rows) {
    const double sbh = s * row.samples * row.hidden;
    const double core = 5.0 * row.heads * s / row.hidden;
    CHECK(core == doctest::Approx(row.core).epsilon(1e-4));
    const Model model = as_model(gpt_layers(row.hidden, row.heads));
    const std::vector<Layer> tensor = shard(model, {.tensor = 8}).layers;
    const std::vector<Layer> sequence = shard(model, {.tensor = 8, .sequence = true}).layers;
    const auto kept = [&](const std::vector<Layer>& layers, Recompute what) {
      return kept_bytes(kept_layers(layers, what), row.samples);
    };
    // arXiv 2205.05198, equations 1, 2, 4 and 6, exactly
    CHECK(kept(model.layers, Recompute::none) == doctest::Approx(sbh * (34 + core)).epsilon(1e-14));
    CHECK(kept(tensor, Recompute::none) == doctest::Approx(sbh * (10 + (24 + core) / 8)).epsilon(1e-14));
    CHECK(kept(sequence, Recompute::none) == doctest::Approx(sbh * (34 + core) / 8).epsilon(1e-14));
    CHECK(kept(sequence, Recompute::selective) == doctest::Approx(sbh * 34 / 8).epsilon(1e-14));
    CHECK(kept(tensor, Recompute::full) == 2 * sbh);
    CHECK(kept(sequence, Recompute::full) == 2 * sbh / 8);
    // in MB, as printed
    CHECK(kept(tensor, Recompute::none) / 1e6 == doctest::Approx(row.tensor).epsilon(2e-4));
    CHECK(kept(sequence, Recompute::none) / 1e6 == doctest::Approx(row.sequence).epsilon(2e-4));
    CHECK(kept(sequence, Recompute::selective) / 1e6 == doctest::Approx(row.selective).epsilon(3e-4));
    CHECK(kept(tensor, Recompute::full) / 1e6 == doctest::Approx(row.full).epsilon(5e-4));
  }
}

TEST_CASE("fused attention keeps what selective recomputation keeps, and one value per row and head") {
  const std::vector<Layer> fused = gpt_layers(12288, 96, AttentionKernel::flash);
  const double sbh = 2048.0 * 12288;
  CHECK(kept_bytes(fused, 1) == sbh * 34 + 4.0 * 96 * 2048);
  CHECK(kept_bytes(kept_layers(fused, Recompute::selective), 1) == kept_bytes(fused, 1));
}

TEST_CASE("the block that backward is in keeps everything") {
  const std::vector<Layer> layers = gpt_layers(12288, 96);
  CHECK(kept_bytes(kept_layers(layers, Recompute::full, 0), 1) == kept_bytes(layers, 1));
  CHECK(kept_bytes(kept_layers(layers, Recompute::full, 1), 1) ==
        kept_bytes(kept_layers(layers, Recompute::full), 1));
}

TEST_CASE("selective recomputation repeats the attention core in front of its backward") {
  const Model model = as_model(gpt_layers(1536, 16));
  Trace trace = make_trace(model, 3, Precision::bf16, Optimizer::adam);
  const double before = matrix_flops(trace, OpRole::layer);
  recompute(trace, model.layers, Recompute::selective);
  CHECK(repeated_names(trace) == std::vector<std::string>{"h1.attn.qk.recompute", "h1.attn.softmax.recompute",
                                                          "h1.attn.dropout.recompute", "h1.attn.av.recompute",
                                                          "h0.attn.qk.recompute", "h0.attn.softmax.recompute",
                                                          "h0.attn.dropout.recompute",
                                                          "h0.attn.av.recompute"});
  const auto last = std::ranges::find(trace.ops, std::string("h1.attn.av.recompute"), &Op::layer);
  REQUIRE(last != trace.ops.end());
  CHECK((last - 4)->layer == "h1.attn.proj");
  CHECK((last + 1)->layer == "h1.attn.av");
  CHECK(last->phase == Phase::backward);
  // 4 b s^2 h per layer, of 2 layers
  CHECK(matrix_flops(trace, OpRole::recompute) == 2 * 4.0 * 3 * 2048 * 2048 * 1536);
  CHECK(matrix_flops(trace, OpRole::layer) == before);
}

TEST_CASE("full recomputation repeats the forward of all blocks with its collectives: six per block") {
  const Model whole = as_model(gpt_layers(1536, 16));
  const ShardedModel rank = shard(whole, {.tensor = 8});
  Trace trace = make_trace(as_model(rank.layers), 1, Precision::bf16, Optimizer::adam);
  fuse_elementwise(trace, rank.layers);
  add_transfers(trace, rank.layers, rank.transfers);
  recompute(trace, rank.layers, Recompute::full);
  int collectives = 0;
  double forward = 0;
  for (const Op& op : trace.ops) {
    if (op.of_layer < 0 || !rank.layers[static_cast<std::size_t>(op.of_layer)].block) continue;
    collectives += static_cast<int>(op.communications.size());
    if (op.phase == Phase::forward && is_matrix(op.kind)) forward += op.flops.si();
  }
  CHECK(collectives == 2 * 6);
  CHECK(matrix_flops(trace, OpRole::recompute) == forward);
  const auto first = std::ranges::find(trace.ops, std::string("h1.ln1.recompute"), &Op::layer);
  REQUIRE(first != trace.ops.end());
  CHECK((first - 1)->layer == "ln_f");
  for (const Op& op : trace.ops) {
    if (op.role == OpRole::recompute) CHECK(op.gradients.empty());
  }
}

TEST_CASE("alternate recomputation keeps fused attention, every second product and scattered sums") {
  const Model whole = as_model(gpt_layers(1536, 16, AttentionKernel::flash));
  Trace trace = make_trace(whole, 1, Precision::bf16, Optimizer::adam);
  recompute(trace, whole.layers, Recompute::alternate);
  const std::vector<std::string> names = repeated_names(trace);
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  CHECK(has("h0.ln1.recompute"));
  CHECK_FALSE(has("h0.attn.recompute"));
  CHECK_FALSE(has("h0.mlp.up.recompute"));  // the fifth product, after queries, keys, values and proj
  // keys, proj and the last product: (2 + 2 + 8) s h^2 per layer, of 2 layers
  CHECK(matrix_flops(trace, OpRole::recompute) == doctest::Approx(2 * 12.0 * 2048 * 1536 * 1536));

  const ShardedModel rank = shard(whole, {.tensor = 8, .sequence = true});
  Trace divided = make_trace(as_model(rank.layers), 1, Precision::bf16, Optimizer::adam);
  add_transfers(divided, rank.layers, rank.transfers);
  recompute(divided, rank.layers, Recompute::alternate);
  // keys alone: the results of the other two are scattered and kept
  CHECK(matrix_flops(divided, OpRole::recompute) == doctest::Approx(2 * 2.0 * 2048 * 1536 * 1536 / 8));

  const double all = kept_bytes(whole.layers, 1);
  const double some = kept_bytes(kept_layers(whole.layers, Recompute::alternate), 1);
  const double least = kept_bytes(kept_layers(whole.layers, Recompute::full), 1);
  CHECK(least < some);
  CHECK(some < all);
}

TEST_CASE("alternate recomputation computes products in 8 bits again, all of them") {
  const Model model = as_model(gpt_layers(1536, 16, AttentionKernel::flash));
  Trace trace = make_trace(model, 1, Precision::fp8, Optimizer::adam);
  recompute(trace, model.layers, Recompute::alternate);
  CHECK(matrix_flops(trace, OpRole::recompute) == doctest::Approx(2 * 24.0 * 2048 * 1536 * 1536));
}

TEST_CASE("without recomputation, and with fused attention, a trace stays as it is") {
  const Model model = as_model(gpt_layers(1536, 16, AttentionKernel::flash));
  const Trace trace = make_trace(model, 1, Precision::bf16, Optimizer::adam);
  for (const Recompute what : {Recompute::none, Recompute::selective}) {
    Trace again = trace;
    recompute(again, model.layers, what);
    CHECK(again == trace);
  }
}

TEST_CASE("recomputation that stops early leaves out what backward does not need of a block's end") {
  const auto repeated = [](const Model& model, bool stops_early) {
    Trace trace = make_trace(model, 1, Precision::bf16, Optimizer::adam);
    recompute(trace, model.layers, Recompute::full, {.stops_early = stops_early});
    return std::pair{repeated_names(trace), matrix_flops(trace, OpRole::recompute)};
  };
  const Model plain = as_model(gpt_layers(1536, 16, AttentionKernel::unfused, false));
  const auto [whole, all] = repeated(plain, false);
  const auto [early, least] = repeated(plain, true);
  CHECK(all - least == 2 * 2.0 * 2048 * 4 * 1536 * 1536);  // the second products of two blocks
  CHECK(std::ranges::count(whole, "h0.mlp.fc2.recompute") == 1);
  CHECK(early.back() == "h0.mlp.gelu.recompute");
  const Model dropped = as_model(gpt_layers(1536, 16));  // the mask of a dropout is computed again
  CHECK(repeated(dropped, true).second == repeated(dropped, false).second);
  CHECK(repeated(dropped, true).first.back() == "h0.drop2.recompute");
}

TEST_CASE("full recomputation of some blocks repeats these, and the others keep their activations") {
  const Model model = as_model(gpt_layers(1024, 16));
  const auto repeated_blocks = [&](RecomputedBlocks blocks) {
    Trace trace = make_trace(model, 1, Precision::fp16, Optimizer::adam);
    recompute(trace, model.layers, Recompute::full, blocks);
    std::vector<int> numbers;
    for (const Op& op : trace.ops) {
      if (op.role != OpRole::recompute) continue;
      const int block = model.layers[static_cast<std::size_t>(op.of_layer)].block.value();
      if (numbers.empty() || numbers.back() != block) numbers.push_back(block);
    }
    return numbers;
  };
  CHECK(repeated_blocks({}) == std::vector{1, 0});
  CHECK(repeated_blocks({.first = 1}) == std::vector{0});
  CHECK(repeated_blocks({.every = 2}) == std::vector{1});
  const auto all = kept_layers(model.layers, Recompute::full);
  const auto first = kept_layers(model.layers, Recompute::full, std::nullopt, {.first = 1});
  double kept_of_all = 0;
  double kept_of_first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    kept_of_all += all[i].saved_elements;
    kept_of_first += first[i].saved_elements;
    if (model.layers[i].block == 1) CHECK(first[i].saved_elements == model.layers[i].saved_elements);
  }
  CHECK(kept_of_first > kept_of_all);
}

TEST_CASE("selective recomputation repeats the chosen parts of blocks, in front of their backward") {
  using Names = std::vector<std::string>;
  const std::vector<Layer> latent = latent_layers();
  CHECK(repeated_with(latent, {RecomputedModule::core_attn}).empty());  // one kernel
  CHECK(repeated_with(latent, {RecomputedModule::moe_act}) == Names{"h1.moe.silu.recompute"});
  CHECK(repeated_with(latent, {RecomputedModule::mlp}) ==
        Names{"h0.mlp.fc1.recompute", "h0.mlp.silu.recompute", "h0.mlp.fc2.recompute"});
  // Of a dense block the second norm is fused with its product, and so is the first without latents.
  CHECK(repeated_with(latent, {RecomputedModule::layernorm}) ==
        Names{"h1.ln1.recompute", "h1.ln2.recompute", "h0.ln1.recompute"});
  CHECK(repeated_with(latent_layers(false), {RecomputedModule::layernorm}) == Names{"h1.ln2.recompute"});
  const Names up = repeated_with(latent, {RecomputedModule::mla_up_proj});
  CHECK(Names(up.begin(), up.begin() + 6) == Names{"h1.attn.q_norm.recompute", "h1.attn.q_b.recompute",
                                                   "h1.attn.kv_norm.recompute", "h1.attn.kv_b.recompute",
                                                   "h1.attn.rope.recompute", "h1.attn.concat.recompute"});
  CHECK(up.size() == 12);
  CHECK(repeated_with(latent_layers(false), {RecomputedModule::mla_up_proj}).empty());
  CHECK(repeated_with(latent, {RecomputedModule::moe_act, RecomputedModule::layernorm}).size() == 4);
}

TEST_CASE("results of parts that are computed again are not kept") {
  const std::vector<Layer> layers = latent_layers();
  const auto layer = [](const std::vector<Layer>& all, const std::string& name) {
    return *std::ranges::find(all, name, &Layer::name);
  };
  const std::vector<Layer> kept =
      kept_layers(layers, Recompute::selective, {}, {.modules = {RecomputedModule::moe_act}});
  CHECK(layer(layers, "h1.moe.fc2").saved_elements > 0);
  CHECK(layer(kept, "h1.moe.fc2").saved_elements == 0);
  CHECK(layer(kept, "h1.moe.silu").saved_elements == layer(layers, "h1.moe.silu").saved_elements);
  const std::vector<Layer> live =
      kept_layers(layers, Recompute::selective, 1, {.modules = {RecomputedModule::moe_act}});
  CHECK(layer(live, "h1.moe.fc2").saved_elements == layer(layers, "h1.moe.fc2").saved_elements);
}
