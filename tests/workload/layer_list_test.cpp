#include "workload/layer_list.hpp"

#include "config/document.hpp"
#include "workload/eight_bits.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/listed_layers.hpp"
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
using testing::named_layer;

namespace {

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  return names;
}

}  // namespace

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
    const Model model = listed("  - input: [4, 2, 2]\n  - {conv: {out: 4, kernel: 1}, then: [" +
                               std::string(following.text) + "]}\n");
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
