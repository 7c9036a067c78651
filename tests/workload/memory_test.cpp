#include "workload/memory.hpp"

#include "config/diagnostic.hpp"
#include "workload/readme_keys.hpp"
#include "workload/resnet.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// 1,000 weights in one matrix product and 24 that autocast does not copy; keeps 50 values and 7 indices.
Model small_model() {
  Layer matrix;
  matrix.name = "fc";
  matrix.kind = LayerKind::linear;
  matrix.parameters = {{"fc.weight", 1000}};
  matrix.gemm = {.m = 1, .n = 100, .k = 10};
  matrix.in_elements = 10;
  matrix.out_elements = 100;
  matrix.saved_elements = 10;
  Layer norm;
  norm.name = "norm";
  norm.kind = LayerKind::batch_norm;
  norm.parameters = {{"norm.weight", 24}};
  norm.in_elements = norm.out_elements = 40;
  norm.saved_elements = 40;
  norm.saved_fixed = Bytes(56);
  Model model;
  model.name = "small";
  model.layers = {matrix, norm};
  return model;
}

/// One layer that keeps nothing but this.
Model one_layer(LayerKind kind, double saved, Bytes fixed) {
  Layer layer;
  layer.name = "layer";
  layer.kind = kind;
  layer.in_elements = 1000;
  layer.out_elements = 500;
  layer.saved_elements = saved;
  layer.saved_fixed = fixed;
  Model model;
  model.layers = {layer};
  return model;
}

/// Kept by one layer for two samples, without the gradients that exist beside it.
Bytes kept_for_two(const Model& model, const MemoryRules& rules, Precision precision = Precision::fp16,
                   bool fused = false) {
  const MemorySetting setting{.batch = 2, .precision = precision, .rules = rules, .fused_elementwise = fused};
  const double element = precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
  return kept_activations(model.layers, setting, rules) - Bytes(2 * 1500 * element);
}

Bytes per_parameter(Precision precision, Optimizer optimizer) {
  const MemoryTerms terms =
      memory_per_rank(small_model().layers, {.batch = 0, .precision = precision, .optimizer = optimizer});
  return terms.parameters + terms.gradients + terms.optimizer_state;
}

}  // namespace

TEST_CASE("bytes per parameter are those of the ZeRO paper") {
  CHECK(per_parameter(Precision::fp32, Optimizer::sgd) == Bytes(1024 * 8));
  CHECK(per_parameter(Precision::tf32, Optimizer::momentum) == Bytes(1024 * 12));
  CHECK(per_parameter(Precision::fp32, Optimizer::adam) == Bytes(1024 * 16));
  CHECK(per_parameter(Precision::fp32, Optimizer::lamb) == Bytes(1024 * 16));
  CHECK(per_parameter(Precision::fp32, Optimizer::lars) ==
        per_parameter(Precision::fp32, Optimizer::momentum));
  CHECK(per_parameter(Precision::fp16, Optimizer::adam) == Bytes(1024 * 16));      // 2 + 2 + 4 + 8
  CHECK(per_parameter(Precision::pure_bf16, Optimizer::adam) == Bytes(1024 * 8));  // 2 + 2 + 4
  CHECK(per_parameter(Precision::pure_bf16, Optimizer::sgd) == Bytes(1024 * 4));   // 2 + 2
  CHECK(per_parameter(Precision::bf16, Optimizer::sgd) == Bytes(1024 * 8));        // 2 + 2 + 4
  // autocast copies only the matrix op's 1,000 weights
  CHECK(per_parameter(Precision::amp, Optimizer::adam) == Bytes(1024 * 16 + 1000 * 2));
}

TEST_CASE("activations grow with the batch: what is kept, and the largest pair of gradients") {
  const Model model = small_model();
  CHECK(activations_per_sample(model.layers, Precision::fp32) == Bytes(50 * 4 + 56 + 110 * 4));
  CHECK(activations_per_sample(model.layers, Precision::fp16) == Bytes(50 * 2 + 56 + 110 * 2));
  for (const double batch : {0.0, 1.0, 64.0}) {
    const MemoryTerms terms = memory_per_rank(model.layers, {.batch = batch, .precision = Precision::fp32});
    CHECK(terms.activations == Bytes(batch * 696));
  }
}

TEST_CASE("the terms add up, and the largest of them is named") {
  const MemoryTerms terms = memory_per_rank(small_model().layers, {.batch = 100,
                                                                   .precision = Precision::fp32,
                                                                   .optimizer = Optimizer::momentum,
                                                                   .context = Bytes(5e6),
                                                                   .gradient_buckets = Bytes(4096),
                                                                   .communication_buffers = Bytes(1e6)});
  CHECK(total(terms) == Bytes(3 * 4096 + 69600 + 8519680 + 5e6 + 4096 + 1e6));
  CHECK(largest_term(terms).name == "workspace");
}

TEST_CASE("a model with convolutions has room for cuDNN's algorithms") {
  CHECK(workspace(small_model().layers) == Bytes(8519680));
  Model model = small_model();
  model.layers[0].kind = LayerKind::conv;
  CHECK(workspace(model.layers) == Bytes(8519680 + 268435456.0));
}

TEST_CASE("ResNet-50 keeps what the layer table says for each image") {
  Model model;
  model.layers = resnet_layers({.blocks = {3, 4, 6, 3}});
  // 20.976616 M values and 1.605632 MB of indices (layers_totals.csv), and the gradients around the first
  // batch norm: 64 x 112 x 112 values each
  CHECK(activations_per_sample(model.layers, Precision::fp32).si() ==
        doctest::Approx(20976616.0 * 4 + 1605632 + 2 * 802816 * 4).epsilon(1e-12));
}

TEST_CASE("without keys a stack's rules keep what the minimum keeps") {
  CHECK(kept_for_two(one_layer(LayerKind::gelu, 1000, Bytes(7)), {}) == Bytes(2 * (1000 * 2 + 7)));
  CHECK(kept_for_two(one_layer(LayerKind::gelu, 1000, Bytes(7)), {}, Precision::fp32) ==
        Bytes(2 * (1000 * 4 + 7)));
}

TEST_CASE("kept values count per input value of their kind of layer, in their type and precisions") {
  const Model model = one_layer(LayerKind::gelu, 1000, Bytes());
  MemoryRules rules;
  rules.kept = {{.name = "tanh", .layer = LayerKind::gelu, .values = 1.5}};
  CHECK(kept_for_two(model, rules) == Bytes(2 * 2500 * 2));
  rules.kept.front().of = KeptDtype::fp32;
  CHECK(kept_for_two(model, rules) == Bytes(2 * (1000 * 2 + 1500 * 4)));
  rules.kept.front().only = {Precision::amp};
  CHECK(kept_for_two(model, rules) == Bytes(2 * 1000 * 2));
  CHECK(kept_for_two(model, rules, Precision::amp) == Bytes(2 * (1000 * 2 + 1500 * 4)));
  CHECK(kept_for_two(one_layer(LayerKind::relu, 0, Bytes()), rules, Precision::amp) == Bytes());
}

TEST_CASE("copies of the parameters count with their optimizers and precisions, unless they are fused") {
  MemoryRules rules;
  rules.parameter_copies = {{.name = "moments", .values = 3, .optimizers = {Optimizer::adam}}};
  const auto state = [&](Optimizer optimizer, Precision precision, bool fused = false) {
    return memory_per_rank(
               small_model().layers,
               {.precision = precision, .optimizer = optimizer, .rules = rules, .fused_elementwise = fused})
        .optimizer_state;
  };
  CHECK(state(Optimizer::adam, Precision::amp) == Bytes(1024 * 4 * 5));
  CHECK(state(Optimizer::lamb, Precision::amp) == Bytes(1024 * 4 * 2));
  rules.parameter_copies.front().only = {Precision::fp32};
  CHECK(state(Optimizer::adam, Precision::amp) == Bytes(1024 * 4 * 2));
  CHECK(state(Optimizer::adam, Precision::fp32) == Bytes(1024 * 4 * 5));
  CHECK(state(Optimizer::adam, Precision::fp32, true) == Bytes(1024 * 4 * 5));
  rules.parameter_copies.front().fusible = true;
  CHECK(state(Optimizer::adam, Precision::fp32, true) == Bytes(1024 * 4 * 2));
}

TEST_CASE("fused element-wise ops compute fusible kept values again") {
  const Model model = one_layer(LayerKind::gelu, 1000, Bytes());
  MemoryRules rules;
  rules.kept = {{.name = "tanh", .layer = LayerKind::gelu, .values = 1},
                {.name = "cdf", .layer = LayerKind::gelu, .values = 1, .fusible = true}};
  CHECK(kept_for_two(model, rules) == Bytes(2 * 3000 * 2));
  CHECK(kept_for_two(model, rules, Precision::fp16, true) == Bytes(2 * 2000 * 2));
}

TEST_CASE("a dropout's mask has a byte per value or the type of the activations") {
  const Model model = one_layer(LayerKind::dropout, 0, Bytes(1000));
  CHECK(kept_for_two(model, {}) == Bytes(2 * 1000));
  CHECK(kept_for_two(model, {.dropout_mask = DropoutMask::value}) == Bytes(2 * 1000 * 2));
  CHECK(kept_for_two(model, {.dropout_mask = DropoutMask::value}, Precision::fp32) == Bytes(2 * 1000 * 4));
}

TEST_CASE("max pooling keeps indices, or finds the maxima again") {
  const Model model = one_layer(LayerKind::max_pool, 1000, Bytes(500 * 8));
  CHECK(kept_for_two(model, {}) == Bytes(2 * (1000 * 2 + 500 * 8)));
  CHECK(kept_for_two(model, {.pooling_indices = PoolingIndices::none}) == Bytes(2 * 1000 * 2));
}

TEST_CASE("an allocator rounds every kept tensor up, large ones to larger units") {
  const Model model = one_layer(LayerKind::gelu, 1001, Bytes());
  MemoryRules rules;
  rules.rounding.value = Bytes(512);
  const MemorySetting setting{.batch = 1, .precision = Precision::fp16, .rules = rules};
  CHECK(kept_activations(model.layers, setting, rules) == Bytes(2048 + 3072));  // of 2,002 and 3,000 bytes
  rules.large_rounding = Sourced<Bytes>{.value = Bytes(2097152)};
  CHECK(kept_activations(model.layers, setting, rules) == Bytes(2048 + 3072));
  const MemorySetting large{.batch = 6000, .precision = Precision::fp16, .rules = rules};
  CHECK(kept_activations(model.layers, large, rules) == Bytes((6 + 9) * 2097152.0));  // of 12.0 and 18.0 MB
  MemoryRules from_2_kb = rules;
  from_2_kb.large_from.value = Bytes(2048);
  CHECK(kept_activations(model.layers, setting, from_2_kb) == Bytes(2048 + 2097152.0));
}

TEST_CASE("what a later layer kept is free when backward is in an earlier one") {
  Model model;
  model.layers = {one_layer(LayerKind::gelu, 100, Bytes()).layers.front(),
                  one_layer(LayerKind::gelu, 100, Bytes()).layers.front()};
  model.layers.front().in_elements = 5000;
  const MemoryRules rules;
  const MemorySetting setting{.batch = 1, .precision = Precision::fp32, .rules = rules};
  CHECK(kept_activations(model.layers, setting, rules) == Bytes(4 * (100 + 5000 + 500)));  // not 200 + 5500
  model.layers.front().in_elements = 1000;
  CHECK(kept_activations(model.layers, setting, rules) == Bytes(4 * (200 + 1500)));
}

TEST_CASE("a stack states the workspace of convolutions and the fragmentation of its allocator") {
  Model model = small_model();
  model.layers[0].kind = LayerKind::conv;
  MemoryRules rules;
  rules.workspace = Sourced<Bytes>{.value = Bytes(4e9)};
  CHECK(workspace(model.layers, rules) == Bytes(8519680 + 4e9));
  CHECK(workspace(small_model().layers, rules) == Bytes(8519680));
  rules.fragmentation.value = 1.25;
  MemorySetting setting{.batch = 100, .context = Bytes(5e6), .communication_buffers = Bytes(1e6)};
  CHECK(memory_per_rank(model.layers, setting).fragmentation == Bytes());
  setting.rules = rules;
  const MemoryTerms terms = memory_per_rank(model.layers, setting);
  const Bytes others = terms.fragmentation + terms.context + terms.communication_buffers;
  CHECK(terms.fragmentation.si() == doctest::Approx(0.25 * (total(terms) - others).si()).epsilon(1e-12));
}

TEST_CASE("docs/memory.md says how each term is counted") {
  const std::string readme = readme_text("docs/memory.md");
  for (const MemoryTerm& term : memory_terms) {
    INFO("term ", term.name);
    CHECK(readme.find("| `" + std::string(term.name) + "` |") != std::string::npos);
  }
}

TEST_CASE("a negative batch is an error") {
  CHECK_THROWS_AS(memory_per_rank(small_model().layers, {.batch = -1}), InputError);
}
