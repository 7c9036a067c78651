#include "workload/layer_list.hpp"

#include "config/document.hpp"
#include "config/read.hpp"
#include "errors_of.hpp"
#include "shipped_model.hpp"
#include "workload/eight_bits.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/listed_layers.hpp"
#include "workload/listed_resnet50.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using testing::error_of_listed;
using testing::listed;
using testing::shipped_model;

namespace {

const Layer& named_layer(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  INFO(name);
  REQUIRE(found != model.layers.end());
  return *found;
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  return names;
}

/// Everything but names.
void check_same(const std::vector<Layer>& layers, const std::vector<Layer>& reference) {
  REQUIRE(layers.size() == reference.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& a = layers[i];
    const Layer& b = reference[i];
    INFO(a.name, " and ", b.name);
    CHECK(a.kind == b.kind);
    CHECK(a.in_shape == b.in_shape);
    CHECK(a.out_shape == b.out_shape);
    CHECK(a.has_input_gradient == b.has_input_gradient);
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p)
      CHECK(a.parameters[p].elements == b.parameters[p].elements);
    CHECK(a.forward_macs == b.forward_macs);
    CHECK(a.forward_flops == b.forward_flops);
    CHECK(a.backward_flops == b.backward_flops);
    CHECK(a.saved_elements == b.saved_elements);
    CHECK(a.saved_fixed == b.saved_fixed);
    CHECK(a.forward_rw_elements == b.forward_rw_elements);
    CHECK(a.backward_rw_elements == b.backward_rw_elements);
    CHECK(a.weight_rw_elements == b.weight_rw_elements);
    CHECK(a.gemm == b.gemm);
    CHECK(a.block == b.block);
  }
}

void check_same(const Trace& trace, const Trace& reference) {
  REQUIRE(trace.ops.size() == reference.ops.size());
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& a = trace.ops[i];
    const Op& b = reference.ops[i];
    INFO(a.layer, " and ", b.layer);
    CHECK(a.phase == b.phase);
    CHECK(a.kind == b.kind);
    CHECK(a.shape == b.shape);
    CHECK(a.flops == b.flops);
    CHECK(a.bytes == b.bytes);
    REQUIRE(a.gradients.size() == b.gradients.size());
    for (std::size_t g = 0; g < a.gradients.size(); ++g)
      CHECK(a.gradients[g].elements == b.gradients[g].elements);
  }
}

/// Layers, memory and traces, also with fused element-wise ops.
void check_same(const Model& model, const Model& reference) {
  check_same(model.layers, reference.layers);
  for (const Precision precision : {Precision::fp32, Precision::amp, Precision::bf16}) {
    const MemorySetting setting{.batch = 32, .precision = precision, .optimizer = Optimizer::adam};
    CHECK(total(memory_per_rank(model.layers, setting)) == total(memory_per_rank(reference.layers, setting)));
    Trace trace = make_trace(model, 32, precision, Optimizer::momentum);
    Trace other = make_trace(reference, 32, precision, Optimizer::momentum);
    check_same(trace, other);
    fuse_elementwise(trace, model.layers);
    fuse_elementwise(other, reference.layers);
    check_same(trace, other);
  }
}

}  // namespace

TEST_CASE("ResNet-50 as a list of layers is the family's model: layers, blocks, memory and traces") {
  Model model = load_model(config::parse("listed.yaml", testing::listed_resnet50()));
  // The last ReLU keeps its output, since the mean behind it does not; the families do not count that.
  const auto relu = std::find_if(model.layers.rbegin(), model.layers.rend(),
                                 [](const Layer& layer) { return layer.kind == LayerKind::relu; });
  CHECK(std::exchange(relu->saved_elements, 0) == 2048 * 7 * 7);
  check_same(model, shipped_model("resnet50"));
}

TEST_CASE("VGG-16 as a list of layers is the family's model, without a block") {
  std::string layers = "  - input: [3, 224, 224]\n";
  for (const auto& [channels, convs] :
       std::vector<std::pair<int, int>>{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    layers += "  - repeat: " + std::to_string(convs) +
              "\n    layers:\n      - {conv: {out: " + std::to_string(channels) +
              ", kernel: 3, padding: 1}, then: [relu]}\n  - max_pool: 2\n";
  }
  layers +=
      "  - flatten\n  - {linear: 4096, then: [relu]}\n  - {linear: {out: 4096}, then: [relu]}\n  - linear: "
      "1000\n";
  check_same(listed(layers), shipped_model("vgg16"));
}

TEST_CASE("shipped lists have the parameters and multiply-accumulates that torchvision documents") {
  // "num_params" and "_ops" (G, three decimals) of the weights in torchvision/models/*.py
  struct Published {
    std::string name;
    double parameters = 0, giga_macs = 0;
  };
  const std::vector<Published> published{
      {"resnet18", 11'689'512, 1.814},     {"resnet34", 21'797'672, 3.664},
      {"densenet121", 7'978'856, 2.834},   {"densenet201", 20'013'928, 4.291},
      {"squeezenet1_0", 1'248'424, 0.819}, {"squeezenet1_1", 1'235'496, 0.349},
      {"mobilenet_v2", 3'504'872, 0.301}};
  for (const Published& row : published) {
    INFO(row.name);
    const Model model = shipped_model(row.name);
    CHECK(totals(model.layers).parameters == row.parameters);
    CHECK(std::round(totals(model.layers).forward_macs / 1e6) == std::round(row.giga_macs * 1e3));
    REQUIRE(model.samples_per_epoch);
    CHECK(model.samples_per_epoch->value == 1'281'167);
  }
}

TEST_CASE("U-Net has the paper's maps and published parameters, and MACs that follow from its figure") {
  const Model unet = shipped_model("unet");
  CHECK(totals(unet.layers).parameters == 31'030'658);
  CHECK(named_layer(unet, "concat1").out_shape == std::vector<int>{1024, 56, 56});
  const Layer& loss = unet.layers.back();
  CHECK(loss.in_shape == std::vector<int>{388 * 388, 2});
  // figure 1: channels and outputs of every convolution
  double macs = 0;
  const auto conv = [&](double in, double out, int kernel, double size) {
    macs += in * out * kernel * kernel * size * size;
  };
  const std::vector<double> channels{64, 128, 256, 512, 1024};
  const std::vector<double> down{570, 282, 138, 66, 30};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    conv(i == 0 ? 1 : channels[i - 1], channels[i], 3, down[i]);
    conv(channels[i], channels[i], 3, down[i] - 2);
  }
  const std::vector<double> up{390, 198, 102, 54};
  for (std::size_t i = 0; i < up.size(); ++i) {
    conv(channels[i + 1], channels[i], 1, up[i] + 2);  // each output of an up-convolution sees one input
    conv(channels[i + 1], channels[i], 3, up[i]);
    conv(channels[i], channels[i], 3, up[i] - 2);
  }
  conv(64, 2, 1, 388);
  CHECK(totals(unet.layers).forward_macs == macs);
}

TEST_CASE("a grouped convolution has 1/groups of the weights and FLOPs, and its op says so") {
  const Model dense = listed("  - input: [64, 28, 28]\n  - conv: {out: 128, kernel: 3, padding: 1}\n");
  const Model grouped =
      listed("  - input: [64, 28, 28]\n  - conv: {out: 128, kernel: 3, padding: 1, groups: 32}\n");
  CHECK(totals(grouped.layers).parameters - 128 == (totals(dense.layers).parameters - 128) / 32);
  CHECK(totals(grouped.layers).forward_macs == totals(dense.layers).forward_macs / 32);
  const Trace trace = make_trace(grouped, 4, Precision::fp32, Optimizer::sgd);
  CHECK(std::get<ConvShape>(trace.ops[0].shape).groups == 32);
  const Model depthwise = listed("  - input: [64, 28, 28]\n  - depthwise_conv: {kernel: 3, stride: 2}\n");
  CHECK(depthwise.layers[0].groups == 64);
  CHECK(depthwise.layers[0].out_shape == std::vector<int>{64, 13, 13});
  CHECK(totals(depthwise.layers).parameters == 64 * 9 + 64);
}

TEST_CASE("a transposed convolution runs the passes of the convolution from its output to its input") {
  const Model model = listed(
      "  - input: [1, 8, 8]\n  - conv: {out: 4, kernel: 1}\n"
      "  - conv_transpose: {out: 2, kernel: 4, stride: 2, padding: 1}\n");
  const Layer& up = model.layers[1];
  CHECK(up.out_shape == std::vector<int>{2, 16, 16});
  CHECK(up.forward_macs == 4 * 2 * 4 * 4 * 8 * 8);
  CHECK(parameter_elements(up) == 4 * 2 * 4 * 4 + 2);
  const Trace trace = make_trace(model, 3, Precision::fp32, Optimizer::sgd);
  const ConvShape mirrored{3, 2, 16, 16, 4, 4, 4, 2, 1, 1};
  CHECK(trace.ops[1].phase == Phase::forward);
  CHECK(trace.ops[1].kind == OpKind::conv_dgrad);
  CHECK(trace.ops[1].shape == Shape(mirrored));
  CHECK(trace.ops[2].kind == OpKind::conv_forward);
  CHECK(trace.ops[2].phase == Phase::backward);
  CHECK(trace.ops[3].kind == OpKind::conv_wgrad);
  CHECK(trace.ops[3].gradients.size() == 2);
}

TEST_CASE("layers are called after their kinds, given names are free of them, groups come in front") {
  const Model model = listed(R"(  - input: [4, 8, 8]
  - {conv: {out: 4, kernel: 1}, then: [batch_norm, relu]}
  - {name: conv2, conv: {out: 4, kernel: 1}}
  - conv: {out: 4, kernel: 1}
  - name: stage
    repeat: 2
    layers:
      - conv: {out: 4, kernel: 1}
      - layers:
          - relu
)");
  CHECK(names_of(model) == std::vector<std::string>{"conv1", "batch_norm1", "relu1", "conv2", "conv3",
                                                    "stage.0.conv1", "stage.0.block1.relu1", "stage.1.conv1",
                                                    "stage.1.block1.relu1"});
  CHECK(model.layers[0].parameters.size() == 1);  // batch_norm follows: no bias
  CHECK(model.layers[3].parameters.size() == 2);
}

TEST_CASE("a name means the layer of the innermost list, and a group's name its last output") {
  const Model model = listed(R"(  - input: [4, 8, 8]
  - {name: a, conv: {out: 8, kernel: 1}}
  - name: g
    layers:
      - {name: a, conv: {out: 16, kernel: 1}}
      - conv: {out: 16, kernel: 1}
      - add: [a, previous]
  - concat: [a, g]
)");
  CHECK(model.layers.back().out_shape == std::vector<int>{24, 8, 8});
}

TEST_CASE("parts in which several tensors pass are blocks, with the group around them") {
  const Model model = listed(R"(  - input: [4, 8, 8]
  - conv: {out: 4, kernel: 1}
  - repeat: 2
    layers:
      - conv: {out: 4, kernel: 1}
      - {add: [previous, input], then: [relu]}
  - repeat: 2
    layers:
      - conv: {out: 4, kernel: 1}
  - {name: x, relu: {}}
  - conv: {out: 4, kernel: 1}
  - concat: [x, previous]
)");
  std::vector<std::optional<int>> blocks;
  for (const Layer& layer : model.layers) blocks.push_back(layer.block);
  const std::optional<int> none;
  CHECK(blocks == std::vector<std::optional<int>>{none, 0, 0, 0, 1, 1, 1, none, none, none, 2, 2});
}

TEST_CASE("a tensor that two layers keep is kept once, and a ReLU before copies keeps its output") {
  const Model model = listed(R"(  - input: [4, 8, 8]
  - {name: x, conv: {out: 4, kernel: 1}, then: [relu]}
  - {name: a, conv: {out: 4, kernel: 1}, then: [relu]}
  - {name: b, from: x, conv: {out: 4, kernel: 1}}
  - concat: [a, b]
  - conv: {out: 4, kernel: 1}
)");
  const double values = 4 * 8 * 8;
  CHECK(named_layer(model, "a").saved_elements == values);
  CHECK(named_layer(model, "b").saved_elements == 0);
  CHECK(named_layer(model, "relu1").saved_elements == 0);
  CHECK(named_layer(model, "relu2").saved_elements == values);
  CHECK(named_layer(model, "concat1").saved_elements == 0);
  CHECK(named_layer(model, "conv1").saved_elements == 2 * values);
}

TEST_CASE("a ReLU keeps its output unless the next layer does") {
  const auto kept = [](const std::string& reader) {
    return named_layer(
               listed("  - input: [4, 8, 8]\n  - {conv: {out: 4, kernel: 1}, then: [relu]}\n" + reader),
               "relu1")
        .saved_elements;
  };
  const double values = 4 * 8 * 8;
  CHECK(kept("  - global_pool\n") == values);
  CHECK(kept("  - dropout\n") == values);
  CHECK(kept("  - {tokens: {}}\n  - softmax_cross_entropy\n") == values);
  CHECK(kept("  - max_pool: 2\n") == 0);
  CHECK(kept("  - average_pool: 2\n") == 0);
  CHECK(kept("  - conv: {out: 4, kernel: 1}\n") == 0);
  CHECK(kept("  - {flatten: {}}\n  - sigmoid_cross_entropy\n") == 0);
}

TEST_CASE("an average of windows keeps its input, once with another reader, and a global one keeps nothing") {
  const auto kept = [](const std::string& layers) {
    return listed("  - input: [4, 8, 8]\n  - {name: x, conv: {out: 4, kernel: 1}}\n" + layers)
        .layers.back()
        .saved_elements;
  };
  const double values = 4 * 8 * 8;
  CHECK(kept("  - average_pool: 2\n") == values);
  CHECK(kept("  - global_pool\n") == 0);
  CHECK(kept("  - conv: {out: 1, kernel: 1}\n  - softmax_cross_entropy\n"
             "  - {from: x, average_pool: 2}\n") == 0);
}

TEST_CASE("a crop is a view: the first layer that keeps it keeps the whole tensor, others nothing") {
  const auto kept = [](const std::string& layers) {
    const Model model = listed("  - input: [4, 8, 8]\n  - {name: x, conv: {out: 4, kernel: 1}}\n" + layers);
    return std::pair(named_layer(model, "a").saved_elements, named_layer(model, "b").saved_elements);
  };
  const std::string loss = "  - {tokens: {}}\n  - softmax_cross_entropy\n";
  const std::string conv = ", conv: {out: 4, kernel: 1}}\n";
  const std::pair<double, double> first_only{4 * 8 * 8, 0};
  CHECK(kept("  - crop: 2\n  - {name: a" + conv + loss + "  - {name: b, from: x" + conv) == first_only);
  CHECK(kept("  - {name: a" + conv + loss + "  - {name: part, from: x, crop: 2}\n  - {name: b" + conv) ==
        first_only);
}

TEST_CASE("a product of two layers keeps its inputs, but none that another layer keeps") {
  const std::string start =
      "  - input: [6]\n  - {name: x, linear: 6}\n  - {name: a, linear: 6}\n  - {name: y, gelu: {}}\n";
  const Model model = listed(start + "  - {name: p, multiply: [x, y]}\n");
  CHECK(named_layer(model, "a").saved_elements == 6);
  CHECK(named_layer(model, "p").saved_elements == 6);  // y alone: a keeps x
  CHECK(
      named_layer(listed("  - input: [6]\n  - {name: x, linear: 6}\n  - {name: p, multiply: [x, x]}\n"), "p")
          .saved_elements == 6);
}

TEST_CASE("a tied embedding and the layers behind it have a backward pass") {
  const Model model = listed(
      "  - {name: source, input: [9]}\n  - {name: target, input: [4]}\n"
      "  - {name: e, from: source, embedding: {entries: 50, features: 6}}\n  - softmax_cross_entropy\n"
      "  - {name: words, from: target, embedding: {entries: 50, features: 6, tied: e}}\n"
      "  - dropout\n  - {name: l, linear: 6}\n");
  CHECK(named_layer(model, "l").has_input_gradient);
  CHECK(named_layer(model, "dropout1").backward_flops.si() > 0);
  const Trace trace = make_trace(model, 1, Precision::fp32, Optimizer::sgd);
  const auto backward = [&](const std::string& name) {
    return std::ranges::count_if(
        trace.ops, [&](const Op& op) { return op.phase == Phase::backward && op.layer == name; });
  };
  CHECK(backward("words") == 1);
  CHECK(backward("dropout1") == 1);
  CHECK(backward("l") == 2);
}

TEST_CASE("GNMT computes the gradient of everything behind its embeddings, also of its tied one") {
  const Model gnmt = shipped_model("gnmt");
  for (const Layer& layer : gnmt.layers) {
    INFO(layer.name);
    CHECK(layer.has_input_gradient);
    CHECK((layer.backward_flops.si() > 0 || layer.kind == LayerKind::add || layer.kind == LayerKind::concat));
  }
  double products = 0;  // backward has two for each one of forward
  for (const Layer& layer : gnmt.layers) products += 4 * layer.forward_macs;
  const Trace trace = make_trace(gnmt, 1, Precision::fp32, Optimizer::sgd);
  double found = 0;
  for (const Op& op : trace.ops) {
    if (op.phase == Phase::backward && op.kind == OpKind::gemm) found += op.flops.si();
  }
  CHECK(found == products);
}

TEST_CASE("attention before the first parameter has no backward pass, with any kernel") {
  for (const std::string kernel : {"unfused", "flash"}) {
    const Model model = listed("  - input: [8, 24]\n  - attention: {heads: 2, kernel: " + kernel +
                               "}\n  - {name: l, linear: 3}\n");
    const Trace trace = make_trace(model, 1, Precision::fp32, Optimizer::sgd);
    for (const Op& op : trace.ops) {
      INFO(op.layer);
      CHECK((op.phase != Phase::backward || op.layer == "l"));
    }
  }
}

TEST_CASE("layers before the first parameter have no backward pass") {
  const Model model = listed("  - input: [4, 8, 8]\n  - max_pool: 2\n  - conv: {out: 4, kernel: 1}\n");
  CHECK(model.layers[0].saved_elements == 0);
  CHECK_FALSE(model.layers[1].has_input_gradient);
  const Trace trace = make_trace(model, 1, Precision::fp32, Optimizer::sgd);
  CHECK(std::ranges::count(trace.ops, Phase::backward, &Op::phase) == 1);
}

TEST_CASE("only ops that follow each other in the model are fused") {
  const Model model = listed(R"(  - input: [4, 8, 8]
  - {name: x, conv: {out: 4, kernel: 1}}
  - {name: a, relu: {}}
  - {name: b, from: x, gelu: {}}
  - add: [a, b]
)");
  Trace trace = make_trace(model, 1, Precision::fp32, Optimizer::sgd);
  fuse_elementwise(trace, model.layers);
  std::vector<std::string> forward;
  for (const Op& op : trace.ops) {
    if (op.phase == Phase::forward) forward.push_back(op.layer);
  }
  CHECK(forward == std::vector<std::string>{"x", "a", "b + add1"});
}

TEST_CASE("a transformer as a list is GPT-2 small but for the tied projection") {
  const Model model = listed(R"(  - input: [1024]
  - embedding: {entries: 50257, features: 768}
  - {positions: {}, then: [dropout]}
  - repeat: 12
    layers:
      - layer_norm
      - linear: 2304
      - attention: {heads: 12, causal: true, dropout: true}
      - {linear: 768, then: [dropout]}
      - {name: half, add: [previous, input]}
      - layer_norm
      - {linear: 3072, then: [gelu]}
      - {linear: 768, then: [dropout]}
      - add: [previous, half]
  - layer_norm
  - linear: {out: 50257, bias: false}
  - softmax_cross_entropy
)");
  const Model gpt2 = shipped_model("gpt2_small");
  CHECK(model.sequence_length == 1024);
  CHECK(totals(model.layers).forward_macs == totals(gpt2.layers).forward_macs);
  CHECK(totals(model.layers).parameters == totals(gpt2.layers).parameters + 50257.0 * 768);
  CHECK(totals(model.layers).forward_rw_elements == totals(gpt2.layers).forward_rw_elements + 50257.0 * 768);
  REQUIRE(model.layers.size() == gpt2.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    INFO(gpt2.layers[i].name);
    CHECK(model.layers[i].kind == gpt2.layers[i].kind);
    CHECK(model.layers[i].saved_elements == gpt2.layers[i].saved_elements);
    CHECK(model.layers[i].block == gpt2.layers[i].block);
  }
}

TEST_CASE("a pooling that rounds up covers the end of a map, but never begins in the padding") {
  const auto size_of = [](const std::string& keys) {
    return listed("  - input: [1, 6, 6]\n  - max_pool: {" + keys + "}\n").layers[0].out_shape[1];
  };
  CHECK(size_of("kernel: 3, stride: 2") == 2);
  CHECK(size_of("kernel: 3, stride: 2, round_up: true") == 3);
  CHECK(size_of("kernel: 2, stride: 3, padding: 1, round_up: true") == 3);
}

TEST_CASE("errors of a list say where they are and which shapes meet") {
  const std::string input = "  - input: [3, 8, 8]\n";
  const Diagnostic sum =
      error_of_listed(input + "  - conv: {out: 4, kernel: 1}\n  - add: [previous, input]\n");
  CHECK(sum.line == 5);
  CHECK(sum.message.find("[4, 8, 8]") != std::string::npos);
  CHECK(sum.message.find("[3, 8, 8]") != std::string::npos);

  const Diagnostic rows = error_of_listed(input + "  - linear: 10\n");
  CHECK(rows.key_path == "layers[1].linear");
  CHECK(rows.hint.find("flatten") != std::string::npos);

  const Diagnostic nested =
      error_of_listed(input + "  - repeat: 3\n    layers:\n      - max_pool: 2\n      - max_pool: 2\n");
  CHECK(nested.key_path == "layers[1].layers[1].max_pool");
  CHECK(nested.message.find("[3, 1, 1]") != std::string::npos);

  const Diagnostic name = error_of_listed(input + "  - {from: cnv1, relu: {}}\n");
  CHECK(name.key_path == "layers[1].from");
  CHECK(name.message.find("'cnv1'") != std::string::npos);

  const Diagnostic unread = error_of_listed(
      input + "  - conv: {out: 4, kernel: 1}\n  - {from: input, conv: {out: 4, kernel: 1}}\n");
  CHECK(unread.key_path == "layers[1].conv");
  CHECK(unread.message.find("'conv1'") != std::string::npos);

  CHECK(error_of_listed(input + "  - conv: {out: 5, kernel: 1, groups: 3}\n").key_path ==
        "layers[1].conv.groups");
  CHECK(error_of_listed(input + "  - {relu: {}, gelu: {}}\n").key_path == "layers[1].gelu");
  CHECK(error_of_listed(input + "  - {name: relu1}\n").key_path == "layers[1]");
  CHECK(error_of_listed(input + "  - {repeat: 2, relu: {}}\n").key_path == "layers[1].repeat");
  CHECK(error_of_listed(input + "  - {name: a, relu: {}}\n  - {name: a, relu: {}}\n").key_path ==
        "layers[2].name");
  CHECK(error_of_listed(input + "  - {name: input, relu: {}}\n").key_path == "layers[1].name");
  CHECK(error_of_listed(input + input).key_path == "layers[1].input");
  CHECK(error_of_listed(input + "  - concat: [input]\n").key_path == "layers[1].concat");
  CHECK(error_of_listed(input + "  - attention: {heads: 2}\n").key_path == "layers[1].attention");
  CHECK(error_of_listed(input + "  - {tokens: {}}\n  - attention: {heads: 2}\n")
            .message.starts_with("3 features"));
  CHECK(error_of_listed(input + "  - crop: 9\n").key_path == "layers[1].crop");
  CHECK(error_of_listed(input + "  - conv: {out: 4, kernel: 9}\n").message.find("9 x 9") !=
        std::string::npos);
  CHECK(error_of_listed("  - relu\n").key_path == "layers");
  CHECK(error_of_listed(input).key_path == "layers");
  const Diagnostic large = error_of_listed("  - input: [1, 60000, 60000]\n  - conv: {out: 4, kernel: 1}\n");
  CHECK(large.message.find("2^31") != std::string::npos);
}

// Too many layers and entries are in tests/cli/models_test.cpp: sanitized, they take half a minute.
TEST_CASE("lists that repeat nothing, or too many steps, end with an error") {
  CHECK(error_of_listed("  - input: [3, 8, 8]\n  - {repeat: 10000, layers: []}\n").key_path ==
        "layers[1].layers");
  const Diagnostic steps = error_of_listed("  - input: [10000000, 1]\n  - lstm: 1\n");
  CHECK(steps.key_path == "layers[1].lstm");
  CHECK(steps.message.find("100000 steps") != std::string::npos);
  CHECK(error_of_listed("  - input: [10000, 1]\n  - {repeat: 11, layers: [lstm: 1]}\n").key_path ==
        "layers[1].layers[0].lstm");
}

TEST_CASE("a name has letters, digits, '_' and '-', so that traces and rules can hold it") {
  for (const std::string name :
       {"\"x\\ny\"", "\"a;b\"", "\"a + b\"", "\"a*\"", "\"a?\"", "a.b", "\"\"", "ä"}) {
    INFO(name);
    CHECK(error_of_listed("  - input: [3]\n  - {name: " + name + ", linear: 1}\n").key_path ==
          "layers[1].name");
  }
  const Model model = listed("  - input: [3]\n  - {name: A-1_b, linear: 1}\n");
  const std::string text = write_trace(make_trace(model, 1, Precision::fp32, Optimizer::sgd));
  CHECK(write_trace(read_trace("t.csv", text)) == text);
}

TEST_CASE("an embedding in a group makes a model of tokens") {
  const std::string layers =
      "layers:\n  - input: [7]\n  - layers:\n      - embedding: {entries: 50, features: 6}\n";
  const auto problems = errors_of(
      [&] { load_model(config::parse("m.yaml", "name: m\ninput: {bytes_per_token: 2 B}\n" + layers)); });
  CHECK(problems.empty());
}

TEST_CASE("in fp8 the linear layers of a list's blocks run in 8 bits only beside attention") {
  const auto in_8_bits = [](const std::string& inner) {
    const Model model = listed("  - input: [8, 12]\n  - linear: 12\n  - layers:\n" + inner +
                               "      - {name: l, linear: 12}\n      - add: [previous, input]\n");
    return runs_in_8_bits(named_layer(model, "block1.l"));
  };
  CHECK_FALSE(in_8_bits("      - gelu\n"));
  CHECK(in_8_bits("      - linear: 36\n      - attention: {heads: 2}\n"));
  CHECK(in_8_bits("      - linear: 36\n      - attention: {heads: 2, kernel: flash}\n"));
  CHECK_FALSE(in_8_bits("      - additive_attention: {inputs: [input, input], features: 4}\n"));
}

TEST_CASE("every kind without keys that may follow a layer adds a layer of its own") {
  for (const auto& following : config::Names<FollowingLayer>::table) {
    const Model model =
        listed("  - input: [4]\n  - {linear: 4, then: [" + std::string(following.text) + "]}\n");
    REQUIRE(model.layers.size() == 2);
    CHECK(model.layers[1].name == std::string(following.text) + "1");
  }
}

TEST_CASE("a PReLU has a slope per channel of a map, and per feature of tokens or a vector") {
  const auto slopes = [](const std::string& shape) {
    return totals(listed("  - input: " + shape + "\n  - prelu\n").layers).parameters;
  };
  CHECK(slopes("[3, 8, 8]") == 3);
  CHECK(slopes("[5, 7]") == 7);
  CHECK(slopes("[9]") == 9);
}

TEST_CASE("the entries that rules of published runs set by their place are those they mean") {
  // workloads/published/runs/published.yaml: model.layers[14].linear.out, model.layers[5].tables.features
  const auto entry = [](const std::string& model, std::size_t place) {
    const auto file = config::read<ModelFile>(testing::shipped_model_file(model));
    REQUIRE(file.layers);
    return file.layers->at(place);
  };
  const ListedLayer classes = entry("insightface_r100", 14);
  CHECK(classes.name == "classes");
  CHECK(classes.linear);
  const ListedLayer table = entry("wide_deep", 5);
  CHECK(table.name == "deep_embedding");
  CHECK(table.tables);
}

TEST_CASE("a loss has no readers") {
  CHECK(
      error_of_listed("  - input: [3]\n  - linear: 4\n  - softmax_cross_entropy\n  - linear: 4\n").key_path ==
      "layers[3].linear");
  CHECK(error_of_listed(
            "  - input: [3]\n  - {name: s, linear: 4}\n  - {name: loss, sigmoid_cross_entropy: {}}\n"
            "  - concat: [s, loss]\n")
            .key_path == "layers[3].concat");
}

TEST_CASE("a transposed convolution whose sums pass 2^31 on the way has a map of the right size") {
  const Model model = listed(
      "  - input: [1, 32769, 1]\n"
      "  - conv_transpose: {out: 1, kernel: [1, 1], stride: 65536, padding: [65536, 0]}\n");
  CHECK(model.layers[0].out_shape == std::vector<int>{1, 2147352577, 1});
}

TEST_CASE("a block counts the tensors that layers write, not the model's inputs") {
  const Model model = listed(
      "  - {name: a, input: [4]}\n  - {name: b, input: [4]}\n  - {from: a, linear: 4}\n  - relu\n"
      "  - concat: [previous, b]\n  - linear: 1\n");
  for (const Layer& layer : model.layers) {
    INFO(layer.name);
    CHECK_FALSE(layer.block);
  }
}

TEST_CASE("normalised weights cost two passes forward and three backward, and a copy of them in memory") {
  const auto head = [](const std::string& keys) {
    return listed("  - input: [512]\n  - linear: 512\n  - {name: classes, linear: {out: 1000, bias: false" +
                  keys + "}}\n  - margin\n  - softmax_cross_entropy\n");
  };
  const Model plain = head("");
  const Model normalised = head(", normalised: true");
  constexpr double weights = 512 * 1000;
  CHECK(totals(plain.layers).parameters == totals(normalised.layers).parameters);
  std::vector<const Op*> found;
  const Trace trace = make_trace(normalised, 8, Precision::fp32, Optimizer::sgd);
  for (const Op& op : trace.ops) {
    if (op.layer == "classes.normalise") found.push_back(&op);
  }
  REQUIRE(found.size() == 2);
  CHECK(found[0]->phase == Phase::forward);
  CHECK(found[0]->bytes.si() == 4 * 2 * weights);
  CHECK(found[1]->bytes.si() == 4 * 3 * weights);
  CHECK(found[1]->gradients.size() == 1);  // complete only now
  for (const Op* op : found) CHECK(is_cast(*op, named_layer(normalised, "classes")));
  CHECK(totals(plain.layers).forward_flops == totals(normalised.layers).forward_flops);  // per sample
  CHECK(trace.ops.size() == make_trace(plain, 8, Precision::fp32, Optimizer::sgd).ops.size() + 2);
  const MemorySetting setting{.batch = 8, .precision = Precision::fp32, .optimizer = Optimizer::sgd};
  CHECK(memory_per_rank(normalised.layers, setting).activations ==
        memory_per_rank(plain.layers, setting).activations + Bytes(4 * weights));
  CHECK(error_of_listed("  - input: [7]\n  - {name: e, embedding: {entries: 50, features: 6}}\n"
                        "  - {linear: {out: 50, tied: e, normalised: true}}\n")
            .key_path == "layers[2].linear.normalised");
}

TEST_CASE("a misspelt kind of layer and a wrong short form are errors at their place") {
  const Diagnostic kind = error_of_listed("  - input: [3, 8, 8]\n  - rleu\n");
  CHECK(kind.line == 4);
  CHECK(kind.hint == "did you mean 'relu'?");
  const Diagnostic kernel = error_of_listed("  - input: [3, 8, 8]\n  - max_pool: two\n");
  CHECK(kernel.line == 4);
  const auto missing = errors_of([] { listed("  - input: [3, 8, 8]\n  - conv\n"); });
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].key_path == "layers[1].conv.out");
  CHECK(missing[1].line == 4);
}

TEST_CASE("a model has a family or layers") {
  const Diagnostic both = only_error([] {
    load_model(config::parse(
        "m.yaml", "name: m\nfamily: vgg\nvgg: {convs: [1]}\nlayers:\n  - input: [3]\n  - linear: 1\n"));
  });
  CHECK(both.key_path == "layers");
  CHECK(errors_of([] { load_model(config::parse("m.yaml", "name: m\n")); }).size() == 1);
}
