// Kernels of the layers of image models since 2018, of tied convolutions and of slices.
#include "lowering/lower.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

const Lowering& image_rules() {
  static const Lowering rules = load_lowering(
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/lowering/pytorch_2_11.yaml"));
  return rules;
}

Model image_model(const std::string& name) {
  return load_model(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/" + name + ".yaml"));
}

Model listed(const std::string& layers) {
  return load_model(config::parse("m.yaml", "name: m\nlayers:\n" + layers));
}

LoweredStep step_in(Precision precision, Layout layout = Layout::nchw) {
  return {.batch = 2, .precision = precision, .optimizer = Optimizer::adam, .layout = layout};
}

/// The launches of kernels whose names, LAYER.CLASS, end like this, in one phase.
int launches(const Trace& trace, Phase phase, const std::string& end) {
  int sum = 0;
  for (const Op& op : trace.ops) sum += op.phase == phase && op.layer.ends_with(end) ? op.launches : 0;
  return sum;
}

/// The bytes of these kernels.
double bytes(const Trace& trace, Phase phase, const std::string& end) {
  double sum = 0;
  for (const Op& op : trace.ops) sum += op.phase == phase && op.layer.ends_with(end) ? op.bytes.si() : 0;
  return sum;
}

}  // namespace

TEST_CASE("all layers of image models have rules of their own") {
  for (const char* const name : {"convnext_tiny", "efficientnet_b0", "efficientnet_v2_s", "regnet_y_400mf",
                                 "swin_tiny", "swin_v2_tiny", "stable_diffusion_1_5", "dit_xl_2"}) {
    for (const Layer& layer : image_model(name).layers) {
      INFO(name, " ", layer.name);
      CHECK(rules_of(image_rules(), layer) != nullptr);
    }
  }
}

TEST_CASE("a tied convolution casts its bias and sums the bias's gradient, as its owner does") {
  const Model model = listed(
      "  - input: [8, 16, 16]\n"
      "  - {name: own, conv: {out: 8, kernel: 3, padding: 1, bias: true}}\n"
      "  - {name: again, conv: {out: 8, kernel: 3, padding: 1, bias: true, tied: own}}\n"
      "  - {name: free, conv: {out: 8, kernel: 3, padding: 1, bias: false}}\n"
      "  - flatten: {}\n  - linear: 10\n  - softmax_cross_entropy: {}\n");
  const Trace trace = lowered_trace(model, image_rules(), step_in(Precision::amp_bf16));
  for (const char* const name : {"own", "again"}) {
    INFO(name);
    CHECK(launches(trace, Phase::forward, std::string(name) + ".broadcast") == 1);
    CHECK(launches(trace, Phase::backward, std::string(name) + ".column_sums") == 1);
    CHECK(bytes(trace, Phase::forward, std::string(name) + ".vector") >= 6 * (8 * 8 * 9 + 8));
  }
  CHECK(launches(trace, Phase::backward, "free.column_sums") == 0);
}

TEST_CASE("slices that make up a tensor concatenate their gradients, others copy them into zeros") {
  const auto trace_of = [](const std::string& second) {
    return lowered_trace(listed("  - input: [24]\n"
                                "  - {name: whole, linear: 24}\n"
                                "  - {name: left, slice: {size: 8}}\n"
                                "  - {name: right, from: whole, slice: " +
                                second +
                                "}\n"
                                "  - {name: a, from: left, linear: 5}\n"
                                "  - {name: b, from: right, linear: 5}\n"
                                "  - add: [a, b]\n  - softmax_cross_entropy: {}\n"),
                         image_rules(), step_in(Precision::fp32));
  };
  const Trace split = trace_of("{first: 8, size: 16}");
  CHECK(launches(split, Phase::backward, "a.join") == 1);
  CHECK(bytes(split, Phase::backward, "a.join") == 2 * 2 * 24 * 4);
  CHECK(launches(split, Phase::backward, "a.fill") == 0);
  CHECK(launches(split, Phase::backward, "a.vector") == 0);
  const Trace sliced = trace_of("{first: 8, size: 8}");
  CHECK(launches(sliced, Phase::backward, "a.join") == 0);
  CHECK(launches(sliced, Phase::backward, "a.fill") == 2);
  CHECK(bytes(sliced, Phase::backward, "a.fill") == 2 * 2 * 24 * 4);
  CHECK(bytes(sliced, Phase::backward, "a.head_copy_single") == 2 * 2 * 8 * 4 * 2);
  CHECK(launches(sliced, Phase::backward, "a.vector") == 1);  // the sum of both, of the whole tensor
  CHECK(bytes(sliced, Phase::backward, "a.vector") == 3 * 2 * 24 * 4);
}

TEST_CASE("a group norm is in fp32 under autocast, and in NHWC copies the map to NCHW and back") {
  const Model model = listed(
      "  - input: [8, 16, 16]\n"
      "  - {name: first, conv: {out: 32, kernel: 3, padding: 1}}\n"
      "  - {name: norm, group_norm: {}}\n"
      "  - {name: second, conv: {out: 32, kernel: 3, padding: 1}}\n"
      "  - global_pool: {}\n  - linear: 10\n  - softmax_cross_entropy: {}\n");
  constexpr double values = 2.0 * 32 * 16 * 16;
  const Trace cast = lowered_trace(model, image_rules(), step_in(Precision::amp_bf16));
  CHECK(bytes(cast, Phase::forward, "norm.mixed") == 6 * values);
  CHECK(bytes(cast, Phase::forward, "norm.row_sums") == 4 * values);
  CHECK(bytes(cast, Phase::backward, "norm.row_sums") == 2 * 4 * values);
  CHECK(launches(cast, Phase::forward, "norm.transpose_single") == 0);
  CHECK(bytes(cast, Phase::forward, "second.vector") >= 6 * values);  // its input is wide
  const Trace nhwc = lowered_trace(model, image_rules(), step_in(Precision::amp_bf16, Layout::nhwc));
  CHECK(launches(nhwc, Phase::forward, "norm.transpose_single") == 2);
  CHECK(launches(nhwc, Phase::backward, "norm.transpose_single") == 4);
}

TEST_CASE("a product with one factor per channel sums the factors' gradients, that of two maps does not") {
  const Trace trace =
      lowered_trace(image_model("efficientnet_b0"), image_rules(), step_in(Precision::amp_bf16));
  const Trace nhwc = lowered_trace(image_model("efficientnet_b0"), image_rules(),
                                   step_in(Precision::amp_bf16, Layout::nhwc));
  int products = 0;
  for (const Layer& layer : image_model("efficientnet_b0").layers) {
    if (layer.kind != LayerKind::multiply) continue;
    ++products;
    CHECK(launches(trace, Phase::forward, layer.name + ".broadcast") == 1);
    CHECK(launches(trace, Phase::backward, layer.name + ".row_sums") == 1);
    CHECK(launches(nhwc, Phase::backward, layer.name + ".column_sums") == 1);
  }
  CHECK(products == 16);
}

TEST_CASE("Swin rolls its tokens by a kernel for each direction and adds its bias in fp32") {
  const Trace trace = lowered_trace(image_model("swin_tiny"), image_rules(), step_in(Precision::amp_bf16));
  const auto copies = [&](const std::string& block) {
    int sum = 0;
    for (const Op& op : trace.ops) {
      const bool is_ours = op.phase == Phase::forward && op.layer.starts_with(block + ".reorder");
      sum += is_ours ? op.launches : 0;
    }
    return sum;
  };
  CHECK(copies("stage0_block0") == 2 + 1);
  CHECK(copies("stage0_block1") == 4 + 3);
  int casts = 0;  // of scores to fp32: the sum with the bias already is
  for (const Op& op : trace.ops)
    casts += op.phase == Phase::forward && op.layer.find("softmax") != std::string::npos &&
                     op.layer.ends_with(".mixed") && op.layer.starts_with("stage")
                 ? 1
                 : 0;
  CHECK(casts == 0);
}

TEST_CASE("queries, keys and values of diffusers are products of their own") {
  const Model model = image_model("stable_diffusion_1_5");
  const Trace trace = lowered_trace(model, image_rules(), step_in(Precision::amp_bf16));
  CHECK(launches(trace, Phase::forward, "down0_0_attention.layer.0.qkv.2") == 1);
  CHECK(launches(trace, Phase::forward, "down0_0_attention.layer.0.keys.1") == 1);
}
