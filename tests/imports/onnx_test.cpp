// ONNX models as lists of layers.

#include "config/document.hpp"
#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "imports/onnx_file.hpp"
#include "imports/onnx_layers.hpp"
#include "shipped_model.hpp"
#include "workload/trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <initializer_list>
#include <random>
#include <string>

using namespace trainyard;
using testing::onnx_number;
using testing::onnx_numbers;
using testing::onnx_tensor;
using testing::OnnxFile;
using testing::small_onnx;

namespace {

OnnxModel imported_onnx(const std::string& bytes, const std::vector<std::int64_t>& sample = {}) {
  return onnx_layers(read_onnx(testing::ProfileFile(bytes).path()), {.name = "net", .sample = sample});
}

std::string onnx_problem(const OnnxFile& file) {
  const auto errors = errors_of([&] { (void)imported_onnx(file.bytes()); });
  return errors.empty() ? "" : errors.front().message;
}

Model model_of(const OnnxModel& onnx) { return load_model(config::parse("net.yaml", onnx.yaml)); }

double parameters_in(const Model& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) sum += parameter_elements(layer);
  return sum;
}

double macs_in(const Model& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) sum += layer.forward_macs;
  return sum;
}

/// A model that grows layer by layer; each reads the one before.
struct OnnxNet {
  OnnxFile file;
  std::string last = "x";
  int count = 0;

  std::string add(const std::string& kind, std::vector<std::string> weights = {},
                  std::initializer_list<std::string> attributes = {}) {
    weights.insert(weights.begin(), last);
    last = "t" + std::to_string(++count);
    file.node(kind, weights, last, attributes);
    return last;
  }
  void conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool relu = true) {
    const std::string w = "w" + std::to_string(count);
    const std::int64_t pad = kernel / 2;
    file.weight(w, {out, in, kernel, kernel});
    add("Conv", {w},
        {onnx_numbers("kernel_shape", {kernel, kernel}), onnx_numbers("strides", {stride, stride}),
         onnx_numbers("pads", {pad, pad, pad, pad})});
    for (const char* name : {"scale", "bias", "mean", "var"}) file.weight(w + name, {out});
    add("BatchNormalization", {w + "scale", w + "bias", w + "mean", w + "var"});
    if (relu) add("Relu");
  }
};

/// ResNet-50 v1.5 as torchvision exports it.
OnnxFile resnet50_onnx() {
  OnnxNet net;
  net.file.input("x", {0, 3, 224, 224});
  net.conv(3, 64, 7, 2);
  net.add("MaxPool", {},
          {onnx_numbers("kernel_shape", {3, 3}), onnx_numbers("strides", {2, 2}),
           onnx_numbers("pads", {1, 1, 1, 1})});
  std::int64_t in = 64;
  const std::vector<int> blocks{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const std::string before = net.last;
      net.conv(in, width, 1, 1);
      net.conv(width, width, 3, stride);
      net.conv(width, 4 * width, 1, 1, false);
      std::string shortcut = before;
      if (block == 0) {
        const std::string main = net.last;
        net.last = before;
        net.conv(in, 4 * width, 1, stride, false);
        shortcut = net.last;
        net.last = main;
      }
      net.add("Add", {shortcut});
      net.add("Relu");
      in = 4 * width;
    }
  }
  net.add("GlobalAveragePool");
  net.add("Flatten");
  net.file.weight("fc", {1000, 2048}).weight("fb", {1000});
  net.add("Gemm", {"fc", "fb"}, {onnx_number("transB", 1)});
  net.file.output(net.last);
  return net.file;
}

}  // namespace

TEST_CASE("an ONNX model is a model file with a list of layers") {
  const OnnxModel onnx = imported_onnx(small_onnx().bytes());
  CHECK(onnx.yaml.find("  - input: [3, 32, 32]\n"
                       "  - {conv: {out: 8, kernel: 3, stride: 2, padding: 1, bias: true}}\n"
                       "  - relu\n"
                       "  - global_pool\n"
                       "  - {linear: {out: 10, bias: true}}\n"
                       "  - softmax_cross_entropy\n") != std::string::npos);
  CHECK(onnx.parameters == 8 * 27 + 8 + 90);
  const Model model = model_of(onnx);
  CHECK(parameters_in(model) == onnx.parameters);
  CHECK(macs_in(model) == 16.0 * 16 * 8 * 27 + 80);
  CHECK(onnx.warnings.size() == 1);  // batch normalisation may be folded
  CHECK(onnx.kinds.at("Conv") == 1);
}

TEST_CASE("ResNet-50 as an ONNX model is the shipped ResNet-50") {
  const OnnxModel onnx = imported_onnx(resnet50_onnx().bytes());
  const Model model = model_of(onnx);
  const Model shipped = testing::shipped_model("resnet50");
  CHECK(parameters_in(model) == parameters_in(shipped));
  CHECK(parameters_in(model) == 25'557'032);
  CHECK(macs_in(model) == macs_in(shipped));
  CHECK(onnx.running_values == 53'120);
  CHECK(onnx.warnings.empty());
}

TEST_CASE("shapes that the exporter computes in the graph are followed") {
  OnnxFile file;
  file.input("x", {0, 4, 2, 2}).output("y").values("zero", {0}).values("axis", {0}).values("rest", {-1});
  file.node("Shape", {"x"}, "s").node("Gather", {"s", "zero"}, "n").node("Unsqueeze", {"n", "axis"}, "n1");
  file.node("Concat", {"n1", "rest"}, "to", {onnx_number("axis", 0)}).node("Reshape", {"x", "to"}, "f");
  file.values("shape", {16, 5}).node("ConstantOfShape", {"shape"}, "w").node("MatMul", {"f", "w"}, "m");
  file.weight("b", {5}).node("Add", {"m", "b"}, "a").node("Softmax", {"a"}, "y");
  const OnnxModel onnx = imported_onnx(file.bytes());
  CHECK(onnx.parameters == 85);
  CHECK(onnx.yaml.find("{linear: {out: 5, bias: true}}\n  - softmax_cross_entropy\n") != std::string::npos);
  CHECK(parameters_in(model_of(onnx)) == 85);
}

TEST_CASE("branches are named, joined and concatenated") {
  OnnxFile file;
  file.input("x", {1, 8, 8, 8}).output("y");
  for (const char* name : {"a", "b", "d"}) file.weight(std::string(name) + "w", {8, 8, 1, 1});
  file.weight("gw", {8, 1, 3, 3});
  file.node("Conv", {"x", "aw"}, "a").node("Conv", {"x", "bw"}, "b").node("Sum", {"a", "b", "x"}, "s");
  file.node("Conv", {"s", "dw"}, "d").node("Concat", {"s", "d"}, "c", {onnx_number("axis", 1)});
  file.node("Sigmoid", {"c"}, "g").node("Mul", {"c", "g"}, "si").node("GlobalAveragePool", {"si"}, "y");
  const OnnxModel onnx = imported_onnx(file.bytes());
  CAPTURE(onnx.yaml);
  const Model model = model_of(onnx);
  CHECK(macs_in(model) == 3.0 * 64 * 64);
  CHECK(std::ranges::count(model.layers, LayerKind::add, &Layer::kind) == 2);
  CHECK(std::ranges::count(model.layers, LayerKind::concat, &Layer::kind) == 1);
  CHECK(std::ranges::count(model.layers, LayerKind::swish, &Layer::kind) == 1);
}

TEST_CASE("groups, depthwise convolutions and asymmetric padding keep their sizes") {
  OnnxFile file;
  file.input("x", {1, 8, 15, 15}).output("y");
  file.weight("g", {16, 4, 3, 3}).weight("dw", {16, 1, 3, 3});
  file.node("Conv", {"x", "g"}, "a", {onnx_number("group", 2), onnx_numbers("pads", {1, 1, 1, 1})});
  file.node("Conv", {"a", "dw"}, "b",
            {onnx_number("group", 16), onnx_numbers("pads", {0, 0, 1, 1}), onnx_numbers("strides", {2, 2})});
  file.node("MaxPool", {"b"}, "c",
            {onnx_numbers("kernel_shape", {2, 2}), onnx_numbers("strides", {2, 2}),
             onnx_numbers("pads", {0, 0, 1, 1})});
  file.node("GlobalAveragePool", {"c"}, "y");
  const OnnxModel onnx = imported_onnx(file.bytes());
  CAPTURE(onnx.yaml);
  CHECK(onnx.yaml.find("depthwise_conv") != std::string::npos);
  CHECK(onnx.yaml.find("groups: 2") != std::string::npos);
  const Model model = model_of(onnx);
  CHECK(macs_in(model) == 15.0 * 15 * 16 * 36 + 7.0 * 7 * 16 * 9);
  CHECK(std::ranges::find(model.layers, LayerKind::max_pool, &Layer::kind)->out_shape ==
        std::vector<int>{16, 4, 4});
}

TEST_CASE("uneven padding has the symmetric one with as much on both sides together") {
  for (const auto& [pads, padding] : {std::pair{onnx_numbers("pads", {0, 0, 2, 2}), "padding: 1"},
                                      std::pair{onnx_numbers("pads", {3, 1, 1, 3}), "padding: 2"}}) {
    OnnxFile file;
    file.input("x", {0, 8, 14, 14}).output("y");
    file.node("MaxPool", {"x"}, "p",
              {onnx_numbers("kernel_shape", {3, 3}), pads, onnx_numbers("strides", {1, 1})});
    file.node("GlobalAveragePool", {"p"}, "y");
    const OnnxModel model = imported_onnx(file.bytes());
    CAPTURE(model.yaml);
    CHECK(model.yaml.find(padding) != std::string::npos);
  }
}

TEST_CASE("a scale and a bias behind a batch normalisation are its own, also with sizes of 1 put in") {
  OnnxFile file;
  file.input("x", {0, 3, 8, 8}).output("y").weight("w", {4, 3, 1, 1});
  for (const char* name : {"one", "zero", "mean", "variance", "scale", "shift"}) file.weight(name, {4});
  file.node("Conv", {"x", "w"}, "c")
      .node("BatchNormalization", {"c", "one", "zero", "mean", "variance"}, "n");
  file.node("Unsqueeze", {"scale"}, "s", {onnx_numbers("axes", {1, 2})}).node("Mul", {"n", "s"}, "m");
  file.node("Unsqueeze", {"shift"}, "b", {onnx_numbers("axes", {-1, -2})}).node("Add", {"m", "b"}, "a");
  file.node("Relu", {"a"}, "r").node("GlobalAveragePool", {"r"}, "y");
  const OnnxModel model = imported_onnx(file.bytes());
  CHECK(model.parameters == 4 * 3 + 2 * 4);
  CHECK(model.yaml.find("batch_norm") != std::string::npos);
  CHECK(model.yaml.find("multiply") == std::string::npos);
}

TEST_CASE("a squeeze takes away the sizes of a weight that it names, or all of 1") {
  // a matrix of 8 x 1 fits, one of 1 x 8 or a list of 8 does not
  const auto problem = [](const std::vector<std::int64_t>& sizes, const std::vector<std::string>& inputs,
                          std::initializer_list<std::string> attributes = {}) {
    OnnxFile file;
    file.input("x", {0, 8, 2, 2}).output("y").weight("w", sizes);
    file.values("last", {-1}).values("first", {0}).values("second", {1}).values("outside", {3});
    file.node("GlobalAveragePool", {"x"}, "p").node("Flatten", {"p"}, "f");
    file.node("Squeeze", inputs, "s", attributes).node("MatMul", {"f", "s"}, "y");
    return onnx_problem(file);
  };
  CHECK(problem({1, 8, 1}, {"w", "first"}).empty());
  CHECK(problem({1, 8, 1}, {"w"}, {onnx_numbers("axes", {0})}).empty());
  CHECK(problem({8, 1, 1}, {"w", "last"}).empty());
  CHECK(problem({1, 8, 1, 1}, {"w"}, {onnx_numbers("axes", {0, -1})}).empty());
  CHECK_FALSE(problem({1, 8, 1}, {"w", "last"}).empty());
  CHECK_FALSE(problem({1, 8, 1}, {"w"}).empty());
  for (const char* axes : {"second", "outside"})
    CHECK(problem({1, 8, 1}, {"w", axes}).find("axes do not fit") != std::string::npos);
}

TEST_CASE("a bias of channels behind a convolution without one is its bias") {
  OnnxFile file;
  file.input("x", {0, 3, 8, 8}).output("y").weight("w", {4, 3, 1, 1}).weight("b", {4, 1, 1});
  file.node("Conv", {"x", "w"}, "c").node("Add", {"c", "b"}, "a").node("GlobalAveragePool", {"a"}, "y");
  const OnnxModel model = imported_onnx(file.bytes());
  CHECK(model.parameters == 4 * 3 + 4);
  CHECK(model.yaml.find("bias: true") != std::string::npos);
}

TEST_CASE("a shuffle of channels is left out with a note, any other order of sizes is refused") {
  const auto shuffled = [](std::initializer_list<std::int64_t> order) {
    OnnxFile file;
    file.input("x", {0, 6, 8, 8}).output("y");
    file.values("groups", {0, 2, 3, 8, 8}).values("map", {0, 6, 8, 8});
    file.node("Reshape", {"x", "groups"}, "g").node("Transpose", {"g"}, "t", {onnx_numbers("perm", order)});
    return file.node("Reshape", {"t", "map"}, "m").node("GlobalAveragePool", {"m"}, "y");
  };
  const OnnxModel model = imported_onnx(shuffled({0, 2, 1, 3, 4}).bytes());
  CHECK(model.layers == 2);
  CHECK(model.notes.front().find("shuffles") != std::string::npos);
  CHECK(onnx_problem(shuffled({0, 3, 4, 1, 2})).find("changes the order of sizes") != std::string::npos);
}

TEST_CASE("tokens of a table are read") {
  OnnxFile file;
  file.input("ids", {0, 0}).output("y").weight("t", {100, 16}).weight("s", {16}).weight("w", {16, 32});
  file.node("Gather", {"t", "ids"}, "e")
      .node("LayerNormalization", {"e", "s"}, "n")
      .node("MatMul", {"n", "w"}, "y");
  CHECK(onnx_problem(file) == "size 1 of the input 'ids' is dynamic: 'N'");
  const OnnxModel onnx = imported_onnx(file.bytes(), {12});
  const Model model = model_of(onnx);
  CHECK(parameters_in(model) == 1600 + 16 + 512);
  CHECK(model.sequence_length == 12);
}

TEST_CASE("what a list of layers does not have is refused by operator and node") {
  const auto with = [](const std::string& kind, std::vector<std::string> inputs,
                       std::initializer_list<std::string> attributes = {}) {
    OnnxFile file;
    file.input("x", {1, 8, 8, 8}).weight("w", {8, 8, 3, 3}).output("y").node(kind, inputs, "y", attributes);
    return onnx_problem(file);
  };
  CHECK(with("Einsum", {"x"}) == "'Einsum' (the node 'node_y'): a list of layers has no such layer");
  CHECK(with("Conv", {"x", "w"}, {onnx_numbers("dilations", {2, 2})}) ==
        "'Conv' (the node 'node_y'): it is dilated");
  CHECK(with("Conv", {"x", "w"}, {onnx_numbers("strides", {2, 1})}).find("strides differ") !=
        std::string::npos);
  CHECK(with("Conv", {"x", "x"}).find("input 1 is no weight: 'x'") != std::string::npos);
  CHECK(with("Conv", {"z", "w"}).find("input 0 is no output of a layer") != std::string::npos);
  CHECK(with("Conv", {"x", "w"}, {onnx_number("group", -3)}).find("does not fit") != std::string::npos);
  CHECK(with("Conv", {"x", "w"}, {onnx_numbers("pads", {-1, 0, 0, 0})}).find("impossible") !=
        std::string::npos);
  CHECK(with("MatMul", {"x", "x"}).find("outputs of two layers") != std::string::npos);
  CHECK(with("Add", {"x", "w"}).find("adds a constant") != std::string::npos);
  CHECK(with("Relu", {}).find("input 0 is no output") != std::string::npos);
  OnnxFile two = small_onnx();
  two.input("z", {1, 2});
  CHECK(onnx_problem(two) == "the model has 2 inputs: 'x', 'z'");
  OnnxFile shared;
  shared.input("x", {1, 4}).output("y").weight("w", {4, 4});
  shared.node("Gemm", {"x", "w"}, "a").node("Gemm", {"a", "w"}, "y");
  CHECK(onnx_problem(shared).find("the weight 'w' belongs to another layer") != std::string::npos);
}

TEST_CASE("the response normalisation of AlexNet is a layer of maps") {
  OnnxFile file;
  file.input("x", {1, 3, 32, 32}).output("y").weight("w", {8, 3, 3, 3});
  file.node("Conv", {"x", "w"}, "a").node("LRN", {"a"}, "b", {onnx_number("size", 5)});
  file.node("Flatten", {"b"}, "y");
  const Model model = model_of(imported_onnx(file.bytes()));
  const auto norm = std::ranges::find(model.layers, LayerKind::local_response_norm, &Layer::kind);
  REQUIRE(norm != model.layers.end());
  CHECK(norm->out_shape == std::vector<int>{8, 30, 30});
  CHECK(norm->parameters.empty());
  OnnxFile vector;
  vector.input("x", {1, 4})
      .output("y")
      .weight("w", {4, 4})
      .node("Gemm", {"x", "w"}, "a")
      .node("LRN", {"a"}, "y");
  CHECK(onnx_problem(vector).find("is no map") != std::string::npos);
}

TEST_CASE("a bias that does not fit its layer is refused") {
  OnnxFile gemm;
  gemm.input("x", {1, 4}).output("y").weight("w", {4, 8}).weight("b", {1}).weight("s", {});
  OnnxFile scalar = gemm;
  CHECK(onnx_problem(gemm.node("Gemm", {"x", "w", "b"}, "y")).ends_with("its bias does not fit the output"));
  CHECK(
      onnx_problem(scalar.node("Gemm", {"x", "w", "s"}, "y")).ends_with("its bias does not fit the output"));
  OnnxFile conv;
  conv.input("x", {1, 3, 8, 8}).output("y").weight("w", {8, 3, 1, 1}).weight("b", {3});
  CHECK(onnx_problem(conv.node("Conv", {"x", "w", "b"}, "y")).ends_with("its bias does not fit the output"));
  OnnxFile norm;
  norm.input("x", {1, 4}).output("y").weight("w", {4}).weight("b", {1});
  CHECK(onnx_problem(norm.node("LayerNormalization", {"x", "w", "b"}, "y"))
            .ends_with("its bias does not fit the output"));
}

TEST_CASE("a weight and its transpose are one weight") {
  for (const char* kind : {"Transpose", "Identity", "Cast"}) {
    OnnxFile file;
    file.input("x", {1, 4}).output("y").weight("w", {4, 4}).node(kind, {"w"}, "t");
    file.node("Gemm", {"x", "w"}, "a").node("Gemm", {"a", "t"}, "y");
    CHECK(onnx_problem(file).find("the weight 't' belongs to another layer") != std::string::npos);
  }
}

TEST_CASE("nodes without effect on the output are left out") {
  OnnxFile file = small_onnx();
  file.node("Relu", {"c"}, "unused").node("LRN", {"unused"}, "unused_2");
  const OnnxModel onnx = imported_onnx(file.bytes());
  CHECK(onnx.notes.front() == "left out: 2 nodes without effect on the output");
  CHECK(onnx.kinds.at("Relu") == 1);
  CHECK(onnx.yaml == imported_onnx(small_onnx().bytes()).yaml);
}

TEST_CASE("a weight in a Constant node has its shape") {
  OnnxFile file;
  file.input("x", {1, 4}).output("y").node("Constant", {}, "w", {onnx_tensor("value", {4, 8})});
  file.node("Gemm", {"x", "w"}, "y");
  const OnnxModel onnx = imported_onnx(file.bytes());
  CHECK(onnx.parameters == 32);
  CHECK(parameters_in(model_of(onnx)) == 32);
}

TEST_CASE("the name of an ONNX model is text") {
  const testing::ProfileFile file(small_onnx().bytes());
  for (const char* name : {"null", "123", "a: b #c", "say \"x\""}) {
    const OnnxModel onnx = onnx_layers(read_onnx(file.path()), {.name = name});
    CHECK(load_model(config::parse(std::string(name) + ".yaml", onnx.yaml)).name == name);
  }
}

TEST_CASE("impossible shapes and lists of an ONNX model are refused") {
  OnnxFile many = small_onnx();
  many.weight("big", std::vector<std::int64_t>(65, 1));
  CHECK(onnx_problem(many) == "the tensor 'big' has an impossible shape");
  OnnxFile no_number = small_onnx();
  std::vector<std::int64_t> sizes(40, std::int64_t{1} << 62U);
  sizes.push_back(0);
  CHECK(onnx_problem(no_number.weight("nan", sizes)) == "the tensor 'nan' has an impossible shape");
  OnnxFile list = small_onnx();
  std::string numbers;
  for (int i = 0; i < 5000; ++i) numbers += '\1';
  list.node("Relu", {"x"}, "z", {testing::wire_text(1, "axes") + testing::wire_text(8, numbers)});
  CHECK(onnx_problem(list) == "an attribute has more than 4096 numbers");
  OnnxFile made;
  made.input("x", {1, 4}).output("y").values("shape", {4, -8}).node("ConstantOfShape", {"shape"}, "w");
  CHECK(onnx_problem(made.node("Gemm", {"x", "w"}, "y")).ends_with("its shape is impossible"));
}

TEST_CASE("a message names eight of many inputs of an ONNX model") {
  OnnxFile file = small_onnx();
  for (int i = 0; i < 2000; ++i) file.input("in" + std::to_string(i), {1, 2});
  CHECK(onnx_problem(file) ==
        "the model has 2001 inputs: 'x', 'in0', 'in1', 'in2', 'in3', 'in4', 'in5', 'in6' and 1,993 more");
}

TEST_CASE("the sizes of a sample fit those of the file") {
  OnnxFile file = small_onnx();
  CHECK(imported_onnx(file.bytes(), {3, 32, 32}).layers == 5);
  CHECK(errors_of([&] { (void)imported_onnx(file.bytes(), {3, 64, 64}); }).size() == 1);
  CHECK(errors_of([&] { (void)imported_onnx(file.bytes(), {3}); }).size() == 1);
}

TEST_CASE("a damaged ONNX model is an error with the byte, or a model") {
  const std::string bytes = small_onnx().bytes();
  const auto message = [](const std::string& damaged) {
    const auto errors = errors_of([&] { (void)imported_onnx(damaged); });
    return errors.empty() ? "" : errors.front().message;
  };
  CHECK(message(bytes.substr(0, bytes.size() / 2)).find("damaged or cut off at byte ") == 0);
  CHECK(message("") == "no ONNX model: it has no graph");
  CHECK_THROWS_AS((void)read_onnx("/nonexistent/net.onnx"), FileError);
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 2; ++k) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      (void)imported_onnx(damaged);
    } catch (const InputError&) {
    }
  }
}
