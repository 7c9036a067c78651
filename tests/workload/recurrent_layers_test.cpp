#include "workload/recurrent_layers.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "workload/listed_layers.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;
using testing::error_of_listed;
using testing::listed;

namespace {

Flops flops_of(const Trace& trace, Phase phase) {
  Flops sum;
  for (const Op& op : trace.ops) {
    if (op.phase == phase) sum += op.flops;
  }
  return sum;
}

const std::string embedding = "  - input: [7]\n  - {name: e, embedding: {entries: 50, features: 6}}\n";

}  // namespace

TEST_CASE("an LSTM has PyTorch's parameters: four gates, two matrices, two biases") {
  const Model one = listed(embedding + "  - lstm: 5\n");
  CHECK(totals(one.layers).parameters == 50 * 6 + 4 * 5 * (6 + 5) + 2 * 4 * 5);
  CHECK(one.layers.back().out_shape == std::vector<int>{7, 5});
  CHECK(totals(one.layers).forward_macs == 7 * 4 * 5 * (6 + 5));
  const Model two = listed(embedding + "  - {lstm: {hidden: 5, bidirectional: true}}\n");
  CHECK(totals(two.layers).parameters == 50 * 6 + 2 * (4 * 5 * (6 + 5) + 2 * 4 * 5));
  CHECK(two.layers.back().out_shape == std::vector<int>{7, 10});
}

TEST_CASE("the steps of an LSTM follow each other, and one product makes the gradient of its weights") {
  constexpr int batch = 3;
  const Model model = listed(embedding + "  - {name: r, lstm: 5}\n");
  for (const Precision precision : {Precision::fp32, Precision::amp}) {
    const Trace trace = make_trace(model, batch, precision, Optimizer::sgd);
    std::vector<const Op*> forward;
    std::vector<const Op*> backward;
    for (const Op& op : trace.ops) {
      if (op.layer != "r.steps") continue;
      (op.phase == Phase::forward ? forward : backward).push_back(&op);
    }
    REQUIRE(forward.size() == 7 * 2);
    REQUIRE(backward.size() == 7 * 2 + 1);
    CHECK(forward[0]->shape == Shape(GemmShape{1, batch, 20, 5, false, true}));
    CHECK(forward[1]->kind == OpKind::elementwise);
    CHECK(backward[0]->kind == OpKind::elementwise);
    CHECK(backward[1]->shape == Shape(GemmShape{1, batch, 5, 20, false, false}));
    CHECK(backward.back()->shape == Shape(GemmShape{1, 20, 5, 7 * batch, true, false}));
  }
}

TEST_CASE("FLOPs and bytes of a recurrence's ops are those of its layer") {
  constexpr int batch = 3;
  const Model model = listed(embedding + "  - {name: r, lstm: 5}\n");
  const Trace trace = make_trace(model, batch, Precision::fp32, Optimizer::sgd);
  CHECK(flops_of(trace, Phase::forward).si() == batch * totals(model.layers).forward_flops.si());
  CHECK(flops_of(trace, Phase::backward).si() == batch * totals(model.layers).backward_flops.si());
  const Layer& steps = model.layers.back();
  Bytes forward;
  for (const Op& op : trace.ops) {
    if (op.layer == steps.name && op.phase == Phase::forward) forward += op.bytes;
  }
  const double samples = batch * (steps.forward_rw_elements - steps.weight_rw_elements);
  CHECK(forward.si() == doctest::Approx(4 * (samples + steps.weight_rw_elements)).epsilon(1e-12));
}

TEST_CASE("a recurrence keeps its output, and no reader keeps it again") {
  const Model model = listed(embedding + "  - {name: r, lstm: 5}\n  - linear: 2\n");
  const Layer& reader = model.layers.back();
  CHECK(reader.saved_elements == 0);
  CHECK(model.layers[model.layers.size() - 2].saved_elements == 6 * 7 * 5);
}

TEST_CASE("additive attention projects queries and keys, and weighs the keys' tokens") {
  const Model model = listed(
      "  - {name: source, input: [9]}\n  - {name: target, input: [4]}\n"
      "  - {name: keys, from: source, embedding: {entries: 50, features: 6}}\n"
      "  - {name: queries, from: target, embedding: {entries: 50, features: 6, tied: keys}}\n"
      "  - {name: a, additive_attention: {inputs: [queries, keys], features: 8}}\n");
  CHECK(model.layers.back().out_shape == std::vector<int>{4, 6});
  CHECK(totals(model.layers).parameters == 50 * 6 + 2 * 6 * 8 + 2 * 8 + 1);
  CHECK(totals(model.layers).forward_macs == 4 * 6 * 8 + 9 * 6 * 8 + 4 * 9 * 6);
  CHECK(model.layers[1].tied_elements == 50 * 6);
  CHECK(model.sequence_length == 9);
}

TEST_CASE("a tied projection multiplies by the table of an embedding of its size") {
  const Model model = listed(embedding + "  - {linear: {out: 50, bias: false, tied: e}}\n");
  CHECK(totals(model.layers).parameters == 50 * 6);
  CHECK(model.layers.back().tied_elements == 50 * 6);
  CHECK(model.layers.back().forward_macs == 7 * 50 * 6);
  const Diagnostic size = error_of_listed(embedding + "  - {linear: {out: 51, tied: e}}\n");
  CHECK(size.key_path == "layers[2].linear.tied");
  CHECK(size.message.find("51 x 6") != std::string::npos);
  const Diagnostic kind =
      error_of_listed(embedding + "  - {name: l, linear: 6}\n  - {linear: {out: 50, tied: l}}\n");
  CHECK(kind.key_path == "layers[3].linear.tied");
  CHECK(error_of_listed(embedding + "  - {linear: {out: 50, tied: x}}\n").message.find("'x'") !=
        std::string::npos);
  CHECK(error_of_listed("  - input: [3, 8, 8]\n  - lstm: 4\n").key_path == "layers[1].lstm");
}

TEST_CASE("both directions of an LSTM go back, and the tensor that both read is kept once") {
  const Model model = listed(embedding + "  - {name: r, lstm: {hidden: 5, bidirectional: true}}\n");
  const Trace trace = make_trace(model, 2, Precision::fp32, Optimizer::sgd);
  for (const std::string direction : {"forward", "backward"}) {
    CAPTURE(direction);
    const auto ops = [&](const std::string& layer) {
      return std::ranges::count_if(trace.ops, [&](const Op& op) {
        return op.phase == Phase::backward && op.layer == "r." + direction + layer;
      });
    };
    CHECK(ops(".input") == 2);
    CHECK(ops(".steps") == 2 * 7 + 1);
  }
  double kept = 0;
  for (const Layer& layer : model.layers) {
    if (layer.name.ends_with(".input")) kept += layer.saved_elements;
  }
  CHECK(kept == 7 * 6);
}

TEST_CASE("the cell of an LSTM step has 32 FLOPs per output") {
  const Model model = listed(embedding + "  - {name: r, lstm: 5}\n");
  const Layer& steps = model.layers.back();
  CHECK(steps.forward_flops.si() == 2 * steps.forward_macs + 32 * 7 * 5);
}
