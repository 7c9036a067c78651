#include "workload/vit.hpp"

#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

ModelTotals totals_of(const VitHyperparameters& parameters) { return totals(vit_layers(parameters)); }

constexpr VitHyperparameters vit_b_16{.layers = 12, .hidden = 768, .heads = 12};

}  // namespace

TEST_CASE("Vision Transformers have the parameters and the arithmetic that torchvision states") {
  // num_params and GFLOPS (multiply-accumulates) of torchvision's ViT_B_16, ViT_L_16 and ViT_H_14 weights
  const ModelTotals base = totals_of(vit_b_16);
  CHECK(base.parameters == 86'567'656);
  CHECK(base.forward_macs == doctest::Approx(17.56e9).epsilon(5e-4));
  const ModelTotals large = totals_of({.layers = 24, .hidden = 1024, .heads = 16});
  CHECK(large.parameters == 304'326'632);
  CHECK(large.forward_macs == doctest::Approx(61.55e9).epsilon(5e-4));
  CHECK(totals_of({.layers = 32, .hidden = 1280, .heads = 16, .patch = 14, .image_size = 518}).parameters ==
        633'470'440);
}

TEST_CASE("an image of 224 pixels has 196 patches and a class token") {
  CHECK(vit_tokens(vit_b_16) == 197);
  const std::vector<Layer> layers = vit_layers(vit_b_16);
  CHECK_FALSE(layers.front().has_input_gradient);
  CHECK(layers.front().out_elements == 196 * 768);
  CHECK(std::ranges::count_if(layers, [](const Layer& layer) { return layer.kind == LayerKind::dropout; }) ==
        0);
}

TEST_CASE("fused attention changes no parameter") {
  VitHyperparameters fused = vit_b_16;
  fused.attention = AttentionKernel::flash;
  CHECK(totals_of(fused).parameters == totals_of(vit_b_16).parameters);
  CHECK(totals_of(fused).forward_macs == totals_of(vit_b_16).forward_macs);
}
