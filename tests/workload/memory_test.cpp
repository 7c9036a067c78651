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

Bytes per_parameter(Precision precision, Optimizer optimizer) {
  const MemoryTerms terms =
      memory_per_rank(small_model(), {.batch = 0, .precision = precision, .optimizer = optimizer});
  return terms.parameters + terms.gradients + terms.optimizer_state;
}

}  // namespace

TEST_CASE("bytes per parameter are those of the ZeRO paper") {
  CHECK(per_parameter(Precision::fp32, Optimizer::sgd) == Bytes(1024 * 8));
  CHECK(per_parameter(Precision::tf32, Optimizer::momentum) == Bytes(1024 * 12));
  CHECK(per_parameter(Precision::fp32, Optimizer::adam) == Bytes(1024 * 16));
  CHECK(per_parameter(Precision::fp32, Optimizer::lamb) == Bytes(1024 * 16));
  CHECK(per_parameter(Precision::fp16, Optimizer::adam) == Bytes(1024 * 16));  // 2 + 2 + 4 + 8
  CHECK(per_parameter(Precision::bf16, Optimizer::sgd) == Bytes(1024 * 8));    // 2 + 2 + 4
  // autocast copies only the matrix op's 1,000 weights
  CHECK(per_parameter(Precision::amp, Optimizer::adam) == Bytes(1024 * 16 + 1000 * 2));
}

TEST_CASE("activations grow with the batch: what is kept, and the largest pair of gradients") {
  const Model model = small_model();
  CHECK(activations_per_sample(model, Precision::fp32) == Bytes(50 * 4 + 56 + 110 * 4));
  CHECK(activations_per_sample(model, Precision::fp16) == Bytes(50 * 2 + 56 + 110 * 2));
  for (const double batch : {0.0, 1.0, 64.0}) {
    const MemoryTerms terms = memory_per_rank(model, {.batch = batch, .precision = Precision::fp32});
    CHECK(terms.activations == Bytes(batch * 696));
  }
}

TEST_CASE("the terms add up, and the largest of them is named") {
  const MemoryTerms terms = memory_per_rank(small_model(), {.batch = 100,
                                                            .precision = Precision::fp32,
                                                            .optimizer = Optimizer::momentum,
                                                            .context = Bytes(5e6),
                                                            .gradient_buckets = Bytes(4096),
                                                            .communication_buffers = Bytes(1e6)});
  CHECK(total(terms) == Bytes(3 * 4096 + 69600 + 8519680 + 5e6 + 4096 + 1e6));
  CHECK(largest_term(terms).name == "workspace");
}

TEST_CASE("a model with convolutions has room for cuDNN's algorithms") {
  CHECK(workspace(small_model()) == Bytes(8519680));
  Model model = small_model();
  model.layers[0].kind = LayerKind::conv;
  CHECK(workspace(model) == Bytes(8519680 + 268435456.0));
}

TEST_CASE("ResNet-50 keeps what the layer table says for each image") {
  Model model;
  model.layers = resnet_layers({.blocks = {3, 4, 6, 3}});
  // 20.976616 M values and 1.605632 MB of indices (layers_totals.csv), and the gradients around the first
  // batch norm: 64 x 112 x 112 values each
  CHECK(activations_per_sample(model, Precision::fp32).si() ==
        doctest::Approx(20976616.0 * 4 + 1605632 + 2 * 802816 * 4).epsilon(1e-12));
}

TEST_CASE("workloads/README.md says how each term is counted") {
  const std::string readme = readme_text("workloads/README.md");
  for (const MemoryTerm& term : memory_terms) {
    INFO("term ", term.name);
    CHECK(readme.find("| `" + std::string(term.name) + "` |") != std::string::npos);
  }
}

TEST_CASE("a negative batch is an error") {
  CHECK_THROWS_AS(memory_per_rank(small_model(), {.batch = -1}), InputError);
}
