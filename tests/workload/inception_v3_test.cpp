#include "workload/inception_v3.hpp"

#include "workload/layer_rows.hpp"
#include "workload/make_trace.hpp"
#include "workload/model.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

FeatureMap input_of(const std::vector<Layer>& layers, const std::string& name) {
  const auto layer = std::ranges::find(layers, name, &Layer::name);
  REQUIRE(layer != layers.end());
  return {layer->in_shape.at(0), layer->in_shape.at(1), layer->in_shape.at(2)};
}

}  // namespace

TEST_CASE("every column of every layer of Inception v3 equals the reference tables") {
  check_layers(inception_v3_layers({}), "layers_inception_v3_noaux.csv");
  check_layers(inception_v3_layers({.auxiliary = true}), "layers_inception_v3.csv");
}

TEST_CASE("Inception v3 adds up to the published totals") {
  const ModelTotals plain = totals(inception_v3_layers({}));
  CHECK(plain.parameters == 23'834'568);  // torchvision
  CHECK(plain.tensors == 284);
  CHECK(plain.forward_macs == 5'713'216'096);
  CHECK(totals(inception_v3_layers({.auxiliary = true})).parameters == 27'161'264);
  // Keras has no scales, and the same number of trainable parameters; tf_cnn_benchmarks has one class more.
  const ModelTotals keras = totals(inception_v3_layers({.batch_norm_scale = false}));
  CHECK(keras.parameters == 23'817'352);
  CHECK(keras.tensors == 284 - 94);
  CHECK(keras.forward_macs == plain.forward_macs);
  CHECK(totals(inception_v3_layers({.batch_norm_scale = false, .classes = 1001})).parameters ==
        23'817'352 + 2'049);
}

TEST_CASE("the blocks of Inception v3 read the maps of the paper's table 1") {
  const auto layers = inception_v3_layers({});
  const auto checks = [&](const std::string& name, FeatureMap map) {
    INFO(name);
    CHECK(dimensions(input_of(layers, name)) == dimensions(map));
  };
  checks("5b.1x1.conv", {192, 35, 35});
  checks("6a.3.conv", {288, 35, 35});
  checks("6b.1.conv", {768, 17, 17});
  checks("7b.1.conv", {1280, 8, 8});
  checks("gap", {2048, 8, 8});
}

TEST_CASE("a window of 1 x 7 reaches the trace with its padding") {
  const Trace trace = make_trace({"m", "m", inception_v3_layers({}), {}}, 2, Precision::fp32, Optimizer::sgd);
  const auto op = std::ranges::find(trace.ops, "6b.7_2.conv", &Op::layer);
  REQUIRE(op != trace.ops.end());
  CHECK(to_string(op->shape) == "n2 c128 h17 w17 k128 r1x7 s1 p0x3");
}

TEST_CASE("a larger image leaves the classifiers as they are") {
  const auto layers = inception_v3_layers({.auxiliary = true, .image_size = 448});
  CHECK(totals(layers).parameters == 27'161'264);
  CHECK(std::ranges::count(layers, "aux.gap", &Layer::name) == 1);
}
