#include "workload/expert_layers.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "shipped_model.hpp"
#include "workload/decoder.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using testing::shipped_model;

namespace {

double parameters_of(const std::string& name) { return totals(shipped_model(name).layers).parameters; }

const Layer& layer_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  REQUIRE(found != model.layers.end());
  return *found;
}

std::string with_decoder(const std::string& keys, int tokens = 16) {
  return "name: m\nfamily: decoder\ndecoder: {layers: 4, hidden: 64, heads: 4, vocabulary: 100, "
         "sequence_length: " +
         std::to_string(tokens) + ", " + keys + "}\n";
}

std::vector<std::string> error_keys(const std::string& keys, int tokens = 16) {
  std::vector<std::string> found;
  for (const Diagnostic& error :
       errors_of([&] { load_model(config::parse("m.yaml", with_decoder(keys, tokens))); }))
    found.push_back(error.key_path);
  return found;
}

std::vector<int> blocks_with_experts(const std::string& keys) {
  const Model model = load_model(config::parse("m.yaml", with_decoder(keys)));
  std::vector<int> blocks;
  for (const Layer& layer : model.layers) {
    if (layer.name.ends_with(".router")) blocks.push_back(*layer.block);
  }
  return blocks;
}

}  // namespace

TEST_CASE("shipped mixtures of experts have the parameters of the published models") {
  CHECK(parameters_of("mixtral_8x7b") == 46'702'792'704);    // 46.7 billion
  CHECK(parameters_of("mixtral_8x22b") == 140'620'634'112);  // 141 billion
  CHECK(parameters_of("qwen3_30b_a3b") == 30'532'122'624);
  CHECK(parameters_of("qwen3_235b_a22b") == 235'093'634'560);
  CHECK(parameters_of("deepseek_v3") == 671'026'419'200);
}

TEST_CASE("a token uses the matrices of its own experts only") {
  const Model model = shipped_model("mixtral_8x7b");
  const double tokens = 4096;
  const double attention = 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096;
  const double experts = 2 * 3 * 4096.0 * 14336;
  const double router = 4096.0 * 8;
  const double scores = tokens * 4096;  // two products, half of each masked
  const double per_token = 32 * (attention + router + experts + scores) + 4096.0 * 32000;
  CHECK(totals(model.layers).forward_macs == tokens * per_token);
  // 12.9 billion parameters used per token, with the embedding; norms are no products
  CHECK(32 * (attention + router + experts) + 2 * 4096.0 * 32000 == doctest::Approx(12.88e9).epsilon(0.001));
}

TEST_CASE("the products of experts are grouped: one batch per expert, with its rows") {
  const Model model = shipped_model("mixtral_8x7b");
  const Layer& up = layer_of(model, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{8, 1024, 28672, 4096, true});
  CHECK(up.experts == 8);
  CHECK(parameter_elements(up) == 8 * 4096.0 * 28672);
  CHECK(up.in_elements == 2 * 4096.0 * 4096);
  CHECK(up.saved_elements == up.in_elements);  // two copies of every token
  const Layer& down = layer_of(model, "h0.moe.fc2");
  CHECK(down.gemm == LayerGemm{8, 1024, 4096, 14336, true});
  const Trace trace = make_trace(model, 2, Precision::bf16, Optimizer::adam);
  const auto op = std::ranges::find(trace.ops, "h0.moe.fc1", &Op::layer);
  REQUIRE(op != trace.ops.end());
  CHECK(std::get<GemmShape>(op->shape) == GemmShape{8, 2048, 28672, 4096, false, true});
  CHECK(op->flops == 2 * up.forward_flops);
  // Weights of all experts are read whatever the tokens.
  CHECK(op->bytes == Bytes(2 * (2 * (up.in_elements + up.out_elements) + parameter_elements(up))));
}

TEST_CASE("rows that experts cannot share equally are rounded up, their FLOPs are not") {
  const Layer layer = expert_linear_layer("fc", {10, 3, 5}, 4, false);
  CHECK(layer.gemm.m == 3);
  CHECK(layer.forward_macs == 10 * 3 * 5);
}

TEST_CASE("permuting keeps a row number per copy, and moves each token once and its copies once") {
  const Layer permute = permute_layer("p", 100, 8, 4);
  CHECK(permute.saved_elements == 0);
  CHECK(permute.saved_fixed == Bytes(400 * 4));
  CHECK(permute.forward_rw_elements == 500 * 8);
  CHECK(permute.backward_rw_elements == 500 * 8);
  const Layer back = unpermute_layer("u", 100, 8, 4);
  CHECK(back.out_elements == permute.in_elements);
  CHECK(back.in_elements == permute.out_elements);
  CHECK(back.saved_elements == 0);
  CHECK(back.saved_fixed == Bytes());
}

TEST_CASE("shared experts see every token once, and their sum with the others joins the block") {
  const Model model = shipped_model("deepseek_v3");
  CHECK(layer_of(model, "h0.mlp.fc1").out_shape.back() == 2 * 18432);  // dense
  CHECK(layer_of(model, "h3.moe.shared.fc1").in_shape == std::vector{4096, 7168});
  CHECK(layer_of(model, "h3.moe.shared.fc1").experts == 0);
  CHECK(layer_of(model, "h3.moe.fc1").gemm == LayerGemm{256, 128, 4096, 7168, true});
  CHECK(layer_of(model, "h3.moe.add").block == 3);
  CHECK(std::ranges::count_if(model.layers,
                              [](const Layer& layer) { return layer.name.ends_with(".router"); }) == 58);
}

TEST_CASE("the first blocks, or all but every n-th, can be dense") {
  CHECK(blocks_with_experts("experts: 4, experts_per_token: 1") == std::vector{0, 1, 2, 3});
  CHECK(blocks_with_experts("experts: 4, experts_per_token: 1, first_dense_layers: 3") == std::vector{3});
  CHECK(blocks_with_experts("experts: 4, experts_per_token: 1, moe_every: 2") == std::vector{1, 3});
}

TEST_CASE("keys of experts that do not fit together are errors of their keys") {
  using Keys = std::vector<std::string>;
  CHECK(error_keys("experts: 4") == Keys{"decoder.experts"});
  CHECK(error_keys("experts: 4, experts_per_token: 5") == Keys{"decoder.experts_per_token"});
  CHECK(error_keys("experts_per_token: 2") == Keys{"decoder.experts_per_token"});
  CHECK(error_keys("expert_ffn: 2") == Keys{"decoder.expert_ffn"});
  CHECK(error_keys("moe_every: 2") == Keys{"decoder.moe_every"});
  CHECK(error_keys("experts: 4, experts_per_token: 1, first_dense_layers: 4") == Keys{"decoder.experts"});
  CHECK(error_keys("experts: 100000, experts_per_token: 100000", 1'000'000) ==
        Keys{"decoder.sequence_length"});
}

TEST_CASE("activations of a mixture of experts are the copies of the tokens and their hidden features") {
  const Model model = shipped_model("mixtral_8x7b");
  double kept = 0;
  for (const Layer& layer : model.layers) {
    if (layer.block == 0 && layer.experts > 0) kept += layer.saved_elements;
  }
  const double rows = 2 * 4096;
  CHECK(kept == rows * (4096 + 2 * 14336 + 14336));
}

TEST_CASE("a block that predicts a further token has DeepSeek-V3's weights besides the model's, and a loss") {
  const std::string source = std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/deepseek_v3.yaml";
  config::Document document = config::load(source);
  config::set(document, "decoder.mtp_layers", "1", "model");
  const Model model = load_model(document);
  const Model plain = load_model(config::load(source));
  double block = 0, hidden = 7168;
  for (const Layer& layer : plain.layers) block += layer.block == 60 ? parameter_elements(layer) : 0;
  // the product of both inputs, their norms and the last one; the report counts 14 billion with the table and
  // the last projection (arXiv 2412.19437, section 2.2 and the repository's README)
  CHECK(totals(model.layers).parameters - totals(plain.layers).parameters ==
        block + 2 * hidden * hidden + 3 * hidden);
  CHECK(block + 2 * hidden * hidden + 2 * 129280 * hidden == doctest::Approx(14e9).epsilon(0.05));
  CHECK(layer_of(model, "mtp0.proj").block == 61);
  CHECK(layer_of(model, "h61.moe.router").block == 61);
  CHECK(layer_of(model, "mtp0.head").forward_flops == layer_of(plain, "lm_head").forward_flops);
  CHECK(layer_of(model, "mtp0.loss").kind == LayerKind::softmax_cross_entropy);
  CHECK(model.layers.back().name == "loss");
}
