#include "workload/feature_tables.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "workload/listed_layers.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"
#include "workload/model_file.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;
using testing::error_of_listed;
using testing::listed;

namespace {

/// Two tables, a vector and the products of their pairs.
std::string small_dlrm(const std::string& keys) {
  return "  - {name: dense, input: [5]}\n  - {name: sparse, input: [2]}\n"
         "  - {name: bottom, from: dense, linear: 4}\n"
         "  - {name: tables, from: sparse, tables: {entries: [100, 3], features: 4" +
         keys +
         "}}\n"
         "  - dot_interaction: [bottom, tables]\n  - concat: [bottom, previous]\n  - linear: 1\n"
         "  - sigmoid_cross_entropy\n";
}

const Op& op_of(const Trace& trace, Phase phase, const std::string& layer) {
  const auto found =
      std::ranges::find_if(trace.ops, [&](const Op& op) { return op.phase == phase && op.layer == layer; });
  REQUIRE(found != trace.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("one table with a row per token costs as much as an embedding") {
  const Layer table = tables_layer("t", {.entries = {30522}, .features = 768, .lookups = 128});
  const Layer embedding = embedding_layer("t", {128, 30522, 768});
  CHECK(table.parameters == embedding.parameters);
  CHECK(table.in_shape == embedding.in_shape);
  CHECK(table.out_shape == embedding.out_shape);
  CHECK(table.forward_flops == embedding.forward_flops);
  CHECK(table.backward_flops == embedding.backward_flops);
  CHECK(table.forward_rw_elements == embedding.forward_rw_elements);
  CHECK(table.backward_rw_elements == embedding.backward_rw_elements);
  const FeatureTables again = tables_of(embedding);
  CHECK(again.entries == std::vector<double>{30522});
  CHECK(again.lookups == 128);
  CHECK_FALSE(again.is_summed);
}

TEST_CASE("a bag reads all rows, adds them up and writes one for each table") {
  const Layer bag = tables_layer("t", {.entries = {10, 20}, .features = 4, .lookups = 3, .is_summed = true});
  CHECK(bag.in_shape == std::vector<int>{6});
  CHECK(bag.out_shape == std::vector<int>{2, 4});
  CHECK(bag.forward_flops.si() == (6 - 2) * 4);
  CHECK(bag.forward_rw_elements == (6 + 2) * 4);
  CHECK(bag.backward_flops.si() == 6 * 4);
  CHECK(parameter_elements(bag) == 30 * 4);
  CHECK(tables_of(bag).is_summed);
  CHECK(tables_of(bag).lookups == 3);
}

TEST_CASE("gradients of sparse tables are those of the rows that a batch reads, at most all of them") {
  constexpr int batch = 16;
  const Model sparse = listed(small_dlrm(", sparse: true"));
  const Model dense = listed(small_dlrm(""));
  constexpr double touched = (16 + 3) * 4;  // of the small table all rows
  constexpr double whole = (100 + 3) * 4;
  constexpr double others = 5 * 4 + 4 + (4 + 3) + 1;
  const auto trace_of = [&](const Model& model) {
    return make_trace(model, batch, Precision::fp32, Optimizer::sgd);
  };
  CHECK(std::get<VectorShape>(trace_of(sparse).ops.back().shape).elements == touched + others);
  CHECK(std::get<VectorShape>(trace_of(dense).ops.back().shape).elements == whole + others);
  const Op scatter = op_of(trace_of(sparse), Phase::backward, "tables");
  REQUIRE(scatter.gradients.size() == 2);
  CHECK(scatter.gradients[0].elements == 3 * 4);  // the last tensor is complete first
  CHECK(scatter.gradients[1].elements == 16 * 4);
  CHECK(scatter.bytes.si() == 4 * (batch * 2 * 4 + touched));
  const MemorySetting setting{.batch = batch, .precision = Precision::fp32, .optimizer = Optimizer::adam};
  const MemoryTerms terms = memory_per_rank(sparse.layers, setting);
  CHECK(terms.gradients.si() == 4 * (touched + others));
  CHECK(terms.parameters == memory_per_rank(dense.layers, setting).parameters);
  CHECK(terms.optimizer_state == memory_per_rank(dense.layers, setting).optimizer_state);
}

TEST_CASE("an interaction is one product of all vectors, and picks each pair once") {
  const Model model = listed(small_dlrm(""));
  const auto products = std::ranges::find(model.layers, LayerKind::batched_matmul, &Layer::kind);
  REQUIRE(products != model.layers.end());
  CHECK(products->gemm == LayerGemm{1, 3, 3, 4, true});
  CHECK(products->forward_macs == 3 * 3 * 4);
  CHECK(std::next(products)->out_shape == std::vector<int>{3});
  CHECK(std::next(products, 2)->out_shape == std::vector<int>{4 + 3});
}

TEST_CASE("a model has several inputs, of which all but the first need names") {
  const Model model = listed(
      "  - input: [4]\n  - {name: b, input: [4]}\n  - {from: input, linear: 3}\n"
      "  - {name: second, from: b, linear: 3}\n  - multiply: [linear1, second]\n  - linear: 1\n");
  const Layer& product = model.layers[2];
  CHECK(product.kind == LayerKind::multiply);
  CHECK(product.saved_elements == 6);
  CHECK(product.backward_rw_elements == 15);
  CHECK_FALSE(model.layers[1].has_input_gradient);
  CHECK(error_of_listed("  - input: [4]\n  - input: [4]\n  - linear: 1\n").key_path == "layers[1].input");
  CHECK(
      error_of_listed("  - input: [4]\n  - {name: b, input: [4]}\n  - {from: input, linear: 1}\n").key_path ==
      "layers");
  CHECK(error_of_listed("  - input: [4]\n  - layers:\n      - {name: b, input: [4]}\n").key_path ==
        "layers[1].layers[0].input");
}

TEST_CASE("errors of tables, products and losses name shapes and places") {
  const std::string inputs = "  - {name: dense, input: [5]}\n  - {name: sparse, input: [2]}\n";
  const Diagnostic lookups = error_of_listed(inputs + "  - tables: {entries: [10], features: 4}\n");
  CHECK(lookups.key_path == "layers[2].tables");
  CHECK(lookups.message.find("1 indices") != std::string::npos);
  CHECK(error_of_listed(inputs + "  - tables: {entries: [10, 10], features: 4, sum: true}\n").key_path ==
        "layers[2].tables.sum");
  const std::string computed = inputs + "  - {from: dense, linear: 2}\n";
  CHECK(error_of_listed(computed + "  - tables: {entries: [10, 10], features: 4}\n").key_path ==
        "layers[3].tables");
  const Diagnostic features = error_of_listed(computed +
                                              "  - {from: sparse, tables: {entries: [10, 10], features: 4}}\n"
                                              "  - dot_interaction: [linear1, previous]\n");
  CHECK(features.key_path == "layers[4].dot_interaction");
  CHECK(features.message.find("[2, 4]") != std::string::npos);
  CHECK(error_of_listed("  - input: [5]\n  - linear: 4\n  - dot_interaction: [previous]\n").key_path ==
        "layers[2].dot_interaction");
  CHECK(error_of_listed("  - input: [3, 4, 4]\n  - {conv: {out: 2, kernel: 1}}\n  - sigmoid_cross_entropy\n")
            .key_path == "layers[2].sigmoid_cross_entropy");
}
