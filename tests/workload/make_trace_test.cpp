#include "workload/make_trace.hpp"

#include "config/diagnostic.hpp"
#include "workload/bert.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/resnet.hpp"
#include "workload/shape_text.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Model resnet(std::vector<int> blocks) {
  return {"resnet", "ResNet", resnet_layers({.blocks = std::move(blocks)}), std::nullopt};
}

/// BERT-base on sequences of 128 tokens, 20 of them predicted.
Model bert() {
  BertHyperparameters parameters;
  parameters.layers = 12;
  parameters.hidden = 768;
  parameters.heads = 12;
  return {"bert", "BERT", bert_layers(parameters), std::nullopt};
}

std::vector<std::string> registered_tensors(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) {
    for (const Parameter& parameter : layer.parameters) names.push_back(parameter.name);
  }
  return names;
}

std::vector<std::string> ready_tensors(const Trace& trace) {
  std::vector<std::string> names;
  for (const Op& op : trace.ops) {
    for (const Gradient& gradient : op.gradients) names.push_back(gradient.tensor);
  }
  return names;
}

const Op& find_op(const Trace& trace, Phase phase, const std::string& layer, OpKind kind) {
  const auto it = std::find_if(trace.ops.begin(), trace.ops.end(), [&](const Op& op) {
    return op.phase == phase && op.layer == layer && op.kind == kind;
  });
  REQUIRE(it != trace.ops.end());
  return *it;
}

double total_flops(const Trace& trace, Phase phase) {
  double sum = 0;
  for (const Op& op : trace.ops) sum += op.phase == phase ? op.flops.si() : 0;
  return sum;
}

double total_bytes(const Trace& trace, Phase phase) {
  double sum = 0;
  for (const Op& op : trace.ops) sum += op.phase == phase ? op.bytes.si() : 0;
  return sum;
}

}  // namespace

TEST_CASE("gradients become ready in exactly the reverse of registration order") {
  const Model model = resnet({3, 4, 6, 3});
  std::vector<std::string> expected = registered_tensors(model);
  std::reverse(expected.begin(), expected.end());
  CHECK(expected.size() == 161);
  CHECK(expected[0] == "fc.bias");
  CHECK(expected[1] == "fc.weight");
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::amp}) {
    CHECK(ready_tensors(make_trace(model, 1, precision, Optimizer::sgd)) == expected);
  }
  std::vector<std::string> transformer = registered_tensors(bert());
  std::reverse(transformer.begin(), transformer.end());
  CHECK(transformer.size() == 206);
  CHECK(ready_tensors(make_trace(bert(), 1, Precision::amp, Optimizer::sgd)) == transformer);
}

TEST_CASE("a trace runs forward, backward and one optimizer op") {
  const Trace trace = make_trace(resnet({3, 4, 6, 3}), 128, Precision::fp32, Optimizer::momentum);
  CHECK(trace.batch_per_gpu == 128);
  CHECK(std::is_sorted(trace.ops.begin(), trace.ops.end(),
                       [](const Op& a, const Op& b) { return a.phase < b.phase; }));
  const auto count = [&](Phase phase) {
    return std::count_if(trace.ops.begin(), trace.ops.end(), [&](const Op& op) { return op.phase == phase; });
  };
  CHECK(count(Phase::forward) == 175);  // one per layer
  CHECK(count(Phase::backward) ==
        212);  // 175 - 16 additions, + 52 input gradients of convolutions, + 1 of fc
  CHECK(count(Phase::optimizer) == 1);
}

TEST_CASE("an op knows its layer, a cast and a fused op too, and the optimizer has none") {
  const Model model = bert();
  Trace trace = make_trace(model, 4, Precision::amp, Optimizer::lamb);
  fuse_elementwise(trace, model.layers);
  for (const Op& op : trace.ops) {
    if (op.phase == Phase::optimizer) {
      CHECK(op.of_layer == -1);
      continue;
    }
    REQUIRE(op.of_layer >= 0);
    const Layer& layer = model.layers.at(static_cast<std::size_t>(op.of_layer));
    CHECK(first_layer(op.layer) == layer.name + (is_cast(op, layer) ? ".cast" : ""));
  }
}

TEST_CASE("the FLOPs of a trace are the layers' times the batch") {
  const Model model = resnet({3, 4, 6, 3});
  const ModelTotals sum = totals(model.layers);
  const Trace trace = make_trace(model, 128, Precision::fp32, Optimizer::momentum);
  CHECK(total_flops(trace, Phase::forward) == 128 * sum.forward_flops.si());
  CHECK(total_flops(trace, Phase::backward) == 128 * sum.backward_flops.si());
}

TEST_CASE("the bytes of a trace are the layers' traffic, the weights once per op") {
  const Model model = resnet({3, 4, 6, 3});
  const ModelTotals sum = totals(model.layers);
  const Layer& stem = model.layers.front();
  const Trace one = make_trace(model, 1, Precision::fp32, Optimizer::momentum);
  CHECK(total_bytes(one, Phase::forward) == 4 * sum.forward_rw_elements);
  // the table counts two passes over the first layer, which has no input gradient
  CHECK(total_bytes(one, Phase::backward) == 4 * (sum.backward_rw_elements - stem.forward_rw_elements));

  const Trace eight = make_trace(model, 8, Precision::fp32, Optimizer::momentum);
  double weights = 0;
  for (const Layer& layer : model.layers) {
    if (layer.forward_macs > 0) weights += parameter_elements(layer);
  }
  CHECK(total_bytes(eight, Phase::forward) == 4 * (8 * (sum.forward_rw_elements - weights) + weights));
}

TEST_CASE("a convolution's backward is its input gradient and then its weight gradient") {
  const Trace trace = make_trace(resnet({1, 1, 1, 1}), 16, Precision::fp32, Optimizer::sgd);
  const ConvShape shape{.batch = 16,
                        .in_channels = 64,
                        .height = 56,
                        .width = 56,
                        .out_channels = 64,
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .stride = 1,
                        .pad_h = 1,
                        .pad_w = 1};
  const Op& dgrad = find_op(trace, Phase::backward, "layer1.0.conv2", OpKind::conv_dgrad);
  const Op& wgrad = find_op(trace, Phase::backward, "layer1.0.conv2", OpKind::conv_wgrad);
  CHECK(&wgrad == &dgrad + 1);
  CHECK(dgrad.shape == Shape(shape));
  CHECK(wgrad.shape == Shape(shape));
  CHECK(dgrad.flops.si() == 16 * 231'211'008.0);
  CHECK(dgrad.bytes.si() == 4 * (16 * 2 * 200'704.0 + 36'864));
  CHECK(dgrad.gradients.empty());
  CHECK(wgrad.gradients == std::vector<Gradient>{{"layer1.0.conv2.weight", 36'864}});
  for (const Op& op : trace.ops) CHECK_FALSE((op.layer == "conv1" && op.kind == OpKind::conv_dgrad));
}

TEST_CASE("a fully connected layer is three row-major products") {
  const Trace trace = make_trace(resnet({1, 1, 1, 1}), 16, Precision::fp32, Optimizer::sgd);
  const Op& forward = find_op(trace, Phase::forward, "fc", OpKind::gemm);
  CHECK(forward.shape == Shape(GemmShape{1, 16, 1000, 2048, false, true}));
  const Op& dgrad = find_op(trace, Phase::backward, "fc", OpKind::gemm);
  CHECK(dgrad.shape == Shape(GemmShape{1, 16, 2048, 1000, false, false}));
  const Op& wgrad = *(&dgrad + 1);
  CHECK(wgrad.shape == Shape(GemmShape{1, 1000, 2048, 16, true, false}));
  CHECK(wgrad.gradients == std::vector<Gradient>{{"fc.bias", 1000}, {"fc.weight", 2'048'000}});
}

TEST_CASE("the tokens of a batch are the rows of a transformer's products, heads multiply their number") {
  const Trace trace = make_trace(bert(), 32, Precision::fp32, Optimizer::adam);
  const auto shapes = [&](const std::string& layer) {
    std::vector<std::string> texts;
    for (const Op& op : trace.ops) {
      if (op.layer == layer && op.kind == OpKind::gemm) texts.push_back(to_string(op.shape));
    }
    return texts;
  };
  using Texts = std::vector<std::string>;  // forward, gradient of the first operand, of the second
  CHECK(shapes("layer0.mlp.fc1") ==
        Texts{"m4096 n3072 k768 nt", "m4096 n768 k3072 nn", "m3072 n768 k4096 tn"});
  CHECK(shapes("layer0.attn.qk") ==
        Texts{"b384 m128 n128 k64 nt", "b384 m128 n64 k128 nn", "b384 m128 n64 k128 tn"});
  CHECK(shapes("layer0.attn.av") ==
        Texts{"b384 m128 n64 k128 nn", "b384 m128 n128 k64 nt", "b384 m128 n64 k128 tn"});
  CHECK(shapes("cls.decoder") == Texts{"m640 n30522 k768 nt", "m640 n768 k30522 nn", "m30522 n768 k640 tn"});
  const Op& scores = find_op(trace, Phase::backward, "layer0.attn.qk", OpKind::gemm);
  CHECK(scores.flops.si() == 32 * 25'165'824.0);
  CHECK(scores.bytes.si() == 32 * 393'216.0 * 4);
  CHECK(scores.gradients.empty());
}

TEST_CASE("a transformer's FLOPs are the layers' times the batch") {
  const ModelTotals sum = totals(bert().layers);
  const Trace trace = make_trace(bert(), 32, Precision::amp, Optimizer::lamb);
  double casts = 0;
  for (const Op& op : trace.ops) casts += op.layer.ends_with(".cast") ? op.flops.si() : 0;
  CHECK(total_flops(trace, Phase::forward) + total_flops(trace, Phase::backward) ==
        32 * (sum.forward_flops + sum.backward_flops).si() + casts);
}

TEST_CASE("an embedding moves a row per token, and the gradient of its whole table once") {
  const double row = 128 * 768;
  const double table = 30'522 * 768;
  const Trace trace = make_trace(bert(), 32, Precision::fp32, Optimizer::adam);
  CHECK(find_op(trace, Phase::forward, "emb.word", OpKind::embedding).bytes.si() == 4 * 32 * 2 * row);
  const Op& backward = find_op(trace, Phase::backward, "emb.word", OpKind::embedding);
  CHECK(backward.bytes.si() == 4 * (32 * row + table));
  CHECK(backward.shape == Shape(VectorShape{32 * row}));
  CHECK(&backward == &trace.ops[trace.ops.size() - 2]);  // the last before the optimizer
  const Trace half = make_trace(bert(), 32, Precision::amp, Optimizer::adam);
  CHECK(find_op(half, Phase::backward, "emb.word", OpKind::embedding).bytes.si() == 2 * 32 * row + 4 * table);
}

TEST_CASE("a tied table's gradient is complete when the embedding's backward has run") {
  const Trace trace = make_trace(bert(), 32, Precision::amp, Optimizer::adam);
  const Op& decoder = find_op(trace, Phase::forward, "cls.decoder", OpKind::gemm);
  CHECK(decoder.bytes.si() == 2 * (32 * (20 * 768.0 + 20 * 30'522.0) + 30'522 * 769.0));
  CHECK((&decoder - 1)->layer == "cls.decoder.cast");
  CHECK((&decoder - 1)->bytes.si() == 6 * 30'522 * 769.0);
  const Op& cast = find_op(trace, Phase::backward, "cls.decoder.cast", OpKind::elementwise);
  CHECK(cast.gradients == std::vector<Gradient>{{"cls.decoder.bias", 30'522}});
  const Op& table = find_op(trace, Phase::backward, "emb.word", OpKind::embedding);
  CHECK(table.gradients == std::vector<Gradient>{{"emb.word.weight", 30'522 * 768}});
}

TEST_CASE("dropout's mask keeps its byte in 16 bits") {
  const double values = 128 * 768;
  const auto bytes = [&](Precision precision) {
    const Trace trace = make_trace(bert(), 1, precision, Optimizer::adam);
    return find_op(trace, Phase::backward, "emb.drop", OpKind::elementwise).bytes.si() / values;
  };
  CHECK(bytes(Precision::fp32) == 9);  // 2.25 values
  CHECK(bytes(Precision::fp16) == 5);
}

TEST_CASE("the weights of a layer norm do not grow with the batch") {
  const auto bytes = [&](int batch) {
    const Trace trace = make_trace(bert(), batch, Precision::fp32, Optimizer::adam);
    return find_op(trace, Phase::forward, "cls.ln", OpKind::layer_norm).bytes.si();
  };
  CHECK(bytes(1) == 4 * (2 * 15'360 + 1'536));
  CHECK(bytes(8) == 4 * (8 * 2 * 15'360 + 1'536));
}

TEST_CASE("a batch whose products have more than 2^31 rows is an input error") {
  CHECK_THROWS_AS(make_trace(bert(), 20'000'000, Precision::fp32, Optimizer::adam), InputError);
}

TEST_CASE("the optimizer's bytes are its passes over weights, gradients and state") {
  const auto bytes = [](Optimizer optimizer, Precision precision) {
    return optimizer_bytes_per_parameter(optimizer, precision).si();
  };
  CHECK(bytes(Optimizer::sgd, Precision::fp32) == 12);       // r w, r g, w w
  CHECK(bytes(Optimizer::momentum, Precision::fp32) == 20);  // + r m, w m
  CHECK(bytes(Optimizer::lars, Precision::fp32) == 28);      // r w, r g for the norms, then momentum's
  CHECK(bytes(Optimizer::adam, Precision::amp) == 28);       // + r v, w v
  CHECK(bytes(Optimizer::lamb, Precision::fp32) == 52);      // r g, r w; r g w m v, w m v u; r u; r u w, w w
  CHECK(bytes(Optimizer::lamb, Precision::fp16) == 50);
  CHECK(bytes(Optimizer::adam, Precision::pure_bf16) == 14);  // half of fp32's, and no copy
  CHECK(bytes(Optimizer::momentum, Precision::fp16) == 20);   // g in 2 bytes, and a 2-byte copy of w
  const Trace trace = make_trace(resnet({3, 4, 6, 3}), 1, Precision::fp32, Optimizer::momentum);
  CHECK(trace.ops.back().phase == Phase::optimizer);
  CHECK(trace.ops.back().bytes.si() == 20 * 25'557'032.0);
}

TEST_CASE("fp16 halves the activations' bytes, autocast also casts weights and gradients") {
  const Model model = resnet({1, 1, 1, 1});
  const Trace fp32 = make_trace(model, 4, Precision::fp32, Optimizer::sgd);
  const Trace fp16 = make_trace(model, 4, Precision::fp16, Optimizer::sgd);
  const Trace amp = make_trace(model, 4, Precision::amp, Optimizer::sgd);
  CHECK(2 * total_bytes(fp16, Phase::forward) == total_bytes(fp32, Phase::forward));
  REQUIRE(fp16.ops.size() == fp32.ops.size());
  const Op& cast = find_op(amp, Phase::forward, "fc.cast", OpKind::elementwise);
  CHECK(cast.bytes.si() == 6 * 2'049'000.0);
  const Op& back = find_op(amp, Phase::backward, "fc.cast", OpKind::elementwise);
  CHECK(back.gradients.size() == 2);  // ready only in fp32
  CHECK(find_op(amp, Phase::backward, "conv1", OpKind::conv_wgrad).gradients.empty());
}

TEST_CASE("twice the batch is twice the work of every op but casts and the optimizer's") {
  const Model model = resnet({1, 1, 1, 1});
  CHECK(rc::check([&] {
    const int batch = *rc::gen::inRange(1, 512);
    const Trace one = make_trace(model, batch, Precision::fp32, Optimizer::adam);
    const Trace two = make_trace(model, 2 * batch, Precision::fp32, Optimizer::adam);
    RC_ASSERT(one.ops.size() == two.ops.size());
    for (std::size_t i = 0; i + 1 < one.ops.size(); ++i) {
      RC_ASSERT(two.ops[i].flops == 2 * one.ops[i].flops);
      RC_ASSERT(two.ops[i].bytes <= 2 * one.ops[i].bytes);
      RC_ASSERT(two.ops[i].bytes > one.ops[i].bytes);
      RC_ASSERT(two.ops[i].gradients == one.ops[i].gradients);
    }
  }));
}

TEST_CASE("a batch below one is an input error") {
  CHECK_THROWS_AS(make_trace(resnet({1, 1, 1, 1}), 0, Precision::fp32, Optimizer::sgd), InputError);
}

TEST_CASE("a fused chain reads what its first op reads and writes what its last writes") {
  const std::vector<int> shape{4, 2, 2};
  const Model model{"m",
                    "",
                    {batch_norm_layer("bn", {4, 2, 2}), add_layer("add", shape), relu_layer("relu", shape),
                     dropout_layer("drop", shape)},
                    std::nullopt};
  Trace trace = make_trace(model, 2, Precision::fp16, Optimizer::sgd);
  const Trace apart = trace;
  fuse_elementwise(trace, model.layers);
  constexpr double values = 2 * 16;
  REQUIRE(trace.ops.size() == 4);
  CHECK(trace.ops[0].layer == "bn + add + relu + drop");
  CHECK(trace.ops[0].kind == OpKind::batch_norm_forward);
  // Twice x, the other summand, ReLU's output for backward, the output; the mask.
  CHECK(trace.ops[0].bytes == Bytes(5 * values * 2 + values));
  CHECK(trace.ops[1].layer == "drop + relu");
  CHECK(trace.ops[1].phase == Phase::backward);
  CHECK(trace.ops[1].bytes ==
        Bytes(3 * values * 2 + values));  // gradient in and out, ReLU's output; the mask
  CHECK(trace.ops[2] == apart.ops[6]);    // batch norm is not fused in backward
  CHECK(trace.ops[3] == apart.ops[7]);
  CHECK(total_flops(trace, Phase::forward) == total_flops(apart, Phase::forward));
  CHECK(total_flops(trace, Phase::backward) == total_flops(apart, Phase::backward));
  CHECK(first_layer(trace.ops[0].layer) == "bn");
}

TEST_CASE("what backward or another branch needs is written by a fused chain, too") {
  const std::vector<int> shape{2, 8, 8};
  const Model model{"m",
                    "",
                    {softmax_layer("soft", shape), dropout_layer("drop", shape), gelu_layer("gelu", shape),
                     relu_layer("first", shape), add_layer("add", shape), relu_layer("second", shape)},
                    std::nullopt};
  Trace trace = make_trace(model, 1, Precision::fp32, Optimizer::sgd);
  fuse_elementwise(trace, model.layers);
  constexpr double values = 128;
  REQUIRE(trace.ops.size() == 4);
  // in, probabilities and GELU's input kept, GELU's output not; ReLU's kept, the other summand, out; the mask
  CHECK(trace.ops[0].bytes == Bytes(6 * values * 4 + values));
  // gradient in, two masks of ReLU, gradient of the addition kept, GELU's input, dropout's mask, out
  CHECK(trace.ops[1].layer == "second + first + gelu + drop");
  CHECK(trace.ops[1].bytes == Bytes(6 * values * 4 + values));
  CHECK(trace.ops[2].kind == OpKind::softmax);
}

TEST_CASE("fusing BERT's ops changes neither gradients nor operations, and no cast") {
  const Model model = bert();
  Trace trace = make_trace(model, 4, Precision::amp, Optimizer::lamb);
  const Trace apart = trace;
  fuse_elementwise(trace, model.layers);
  CHECK(ready_tensors(trace) == ready_tensors(apart));
  CHECK(total_flops(trace, Phase::forward) ==
        doctest::Approx(total_flops(apart, Phase::forward)).epsilon(1e-12));
  // a layer's softmax and dropout, and two dropouts and additions; the embeddings' norm and dropout
  CHECK(trace.ops.size() == apart.ops.size() - 3 * 12 - 1);
  const Op& fused = find_op(trace, Phase::forward, "layer3.drop1 + layer3.add1", OpKind::elementwise);
  CHECK(fused.bytes == Bytes(4 * 128 * 768 * (3 * 2 + 1.0)));
  (void)find_op(trace, Phase::forward, "layer3.mlp.fc2.cast", OpKind::elementwise);
}
