// Models of workloads/models as lists of layers, against their families and publications.

#include "config/document.hpp"
#include "config/read.hpp"
#include "shipped_model.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/listed_layers.hpp"
#include "workload/listed_resnet50.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using testing::listed;
using testing::shipped_model;

namespace {

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
  CHECK(testing::named_layer(unet, "concat1").out_shape == std::vector<int>{1024, 56, 56});
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
