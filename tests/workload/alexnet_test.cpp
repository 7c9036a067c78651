#include "workload/alexnet.hpp"

#include "workload/layer_rows.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// The network of MXNet's examples.
AlexnetHyperparameters mxnet_alexnet(int image_size) {
  return {.convs = {96, 256, 384, 384, 256},
          .first_padding = 0,
          .local_response_norm = true,
          .image_size = image_size};
}

}  // namespace

TEST_CASE("every column of every layer of torchvision's AlexNet equals the reference table") {
  check_layers(alexnet_layers({.convs = {64, 192, 384, 256, 256}}), "layers_alexnet.csv");
}

TEST_CASE("the AlexNets of TensorFlow and MXNet have the parameters of their definitions") {
  // Sums of the tensors as written in tf_cnn_benchmarks' alexnet_model.py and MXNet's symbols/alexnet.py.
  const ModelTotals tensorflow = totals(alexnet_layers(
      {.convs = {64, 192, 384, 384, 256}, .first_padding = 0, .image_size = 227, .classes = 1001}));
  CHECK(tensorflow.parameters ==
        23'296 + 307'392 + 663'936 + 1'327'488 + 884'992 + 37'752'832 + 16'781'312 + 4'101'097);
  CHECK(tensorflow.tensors == 16);
  // MXNet's table of 2017 lists its model with 203 MB.
  const ModelTotals mxnet = totals(alexnet_layers(mxnet_alexnet(224)));
  CHECK(mxnet.parameters == 50'844'008);
  CHECK(std::abs(mxnet.parameters * 4 - 203e6) < 0.5e6);
  // One tower of the network of 2012, on the image that fits its windows.
  CHECK(totals(alexnet_layers(mxnet_alexnet(227))).parameters == 62'378'344);
}

TEST_CASE("local response norm follows the first two poolings and keeps its input") {
  const auto layers = alexnet_layers(mxnet_alexnet(224));
  const auto is_norm = [](const Layer& layer) { return layer.kind == LayerKind::local_response_norm; };
  REQUIRE(std::ranges::count_if(layers, is_norm) == 2);
  const auto first = std::ranges::find_if(layers, is_norm);
  CHECK(first->name == "lrn0");
  CHECK(std::prev(first)->kind == LayerKind::max_pool);
  CHECK(first->in_shape == std::vector<int>{96, 26, 26});
  CHECK(first->saved_elements == 96 * 26 * 26);
  CHECK(first->forward_rw_elements == 2 * first->saved_elements);
  CHECK(first->backward_rw_elements == 4 * first->saved_elements);
}
