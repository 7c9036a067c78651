#include "workload/resnet.hpp"

#include "config/diagnostic.hpp"
#include "workload/layer_rows.hpp"
#include "workload/model.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

ModelTotals totals_of(std::vector<int> blocks, StridePlace place = StridePlace::conv2) {
  ResnetHyperparameters parameters;
  parameters.blocks = std::move(blocks);
  parameters.stride_on = place;
  return totals(resnet_layers(parameters));
}

}  // namespace

TEST_CASE("every column of every layer of ResNet-50 v1.5 equals the reference table") {
  const std::vector<Layer> layers = resnet_layers({.blocks = {3, 4, 6, 3}});
  CHECK(layers.size() == 175);
  check_layers(layers, "layers_resnet50_v15.csv");
}

TEST_CASE("ResNet-50 v1.5 adds up to the published totals") {
  const ModelTotals sum = totals_of({3, 4, 6, 3});
  CHECK(sum.parameters == 25'557'032);
  CHECK(sum.tensors == 161);
  CHECK(sum.forward_macs == 4'089'184'256);
  CHECK(sum.forward_flops.si() == 8'239'864'200);
  CHECK(sum.backward_flops.si() == 16'221'138'384);
  CHECK(sum.saved_elements == 20'976'616);
  CHECK(saved_activations(sum, Bytes(4)).si() == 85'512'096);  // 85.5 MB
  CHECK(sum.forward_rw_elements == 117'507'705);
  CHECK(sum.backward_rw_elements == 180'272'394);
}

TEST_CASE("ResNet-50 v1, 101 and 152 add up to the published totals") {
  const ModelTotals v1 = totals_of({3, 4, 6, 3}, StridePlace::conv1);
  CHECK(v1.parameters == 25'557'032);
  CHECK(v1.forward_macs == 3'857'973'248);
  CHECK(v1.saved_elements == 19'922'920);

  const ModelTotals r101 = totals_of({3, 4, 23, 3});
  CHECK(r101.parameters == 44'549'160);
  CHECK(r101.tensors == 314);
  CHECK(r101.forward_macs == 7'801'405'440);
  CHECK(r101.saved_elements == 31'212'520);

  const ModelTotals r152 = totals_of({3, 8, 36, 3});
  CHECK(r152.parameters == 60'192'808);
  CHECK(r152.tensors == 467);
  CHECK(r152.forward_macs == 11'513'626'624);
  CHECK(r152.saved_elements == 43'856'872);
}

TEST_CASE("ResNet-18 and 34 of basic blocks add up to torchvision's totals") {
  const auto totals_of_basic = [](std::vector<int> blocks) {
    return totals(resnet_layers({.blocks = std::move(blocks), .block = ResidualBlock::basic}));
  };
  const ModelTotals r18 = totals_of_basic({2, 2, 2, 2});
  CHECK(r18.parameters == 11'689'512);
  CHECK(r18.tensors == 62);
  CHECK(r18.forward_macs == 1'814'073'344);
  const ModelTotals r34 = totals_of_basic({3, 4, 6, 3});
  CHECK(r34.parameters == 21'797'672);
  CHECK(r34.tensors == 110);
  CHECK(r34.forward_macs == 3'663'761'408);
}

TEST_CASE("parameters are registered as in torchvision") {
  const std::vector<Layer> layers = resnet_layers({.blocks = {1, 1, 1, 1}});
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    for (const Parameter& parameter : layer.parameters) names.push_back(parameter.name);
  }
  const std::vector<std::string> first{"conv1.weight",          "bn1.weight",          "bn1.bias",
                                       "layer1.0.conv1.weight", "layer1.0.bn1.weight", "layer1.0.bn1.bias"};
  CHECK(std::vector<std::string>(names.begin(), names.begin() + 6) == first);
  const std::vector<std::string> last{"layer4.0.downsample.0.weight", "layer4.0.downsample.1.weight",
                                      "layer4.0.downsample.1.bias", "fc.weight", "fc.bias"};
  CHECK(std::vector<std::string>(names.end() - 5, names.end()) == last);
}

TEST_CASE("a window that does not fit in its input is an input error") {
  CHECK_THROWS_AS(conv_layer("conv", {3, 2, 2}, {8, 5, 1, 1}), InputError);
}
