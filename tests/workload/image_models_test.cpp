// Models of images since 2018 against figures that others published, and the work of their parts.

#include "errors_of.hpp"
#include "shipped_model.hpp"
#include "workload/listed_layers.hpp"
#include "workload/vision_layers.hpp"

#include <doctest/doctest.h>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace trainyard;
using testing::error_of_listed;
using testing::listed;
using testing::named_layer;
using testing::shipped_model;

namespace {

struct Published {
  std::string name;
  double parameters = 0;
  double giga_macs = 0;  ///< 0: none published
};

// torchvision/models/*.py: "num_params" and "_ops" (G, three decimals)
const std::vector<Published> torchvision{
    {"convnext_tiny", 28'589'128, 4.456},      {"convnext_small", 50'223'688, 8.684},
    {"convnext_base", 88'591'464, 15.355},     {"convnext_large", 197'767'336, 34.361},
    {"efficientnet_b0", 5'288'548, 0.386},     {"efficientnet_b1", 7'794'184, 0.687},
    {"efficientnet_b2", 9'109'994, 1.088},     {"efficientnet_b3", 12'233'232, 1.827},
    {"efficientnet_b4", 19'341'616, 4.394},    {"efficientnet_b5", 30'389'784, 10.266},
    {"efficientnet_b6", 43'040'704, 19.068},   {"efficientnet_b7", 66'347'960, 37.746},
    {"efficientnet_v2_s", 21'458'488, 8.366},  {"efficientnet_v2_m", 54'139'356, 24.582},
    {"efficientnet_v2_l", 118'515'272, 56.08}, {"regnet_y_400mf", 4'344'144, 0.402},
    {"regnet_y_800mf", 6'432'512, 0.834},      {"regnet_y_1_6gf", 11'202'430, 1.612},
    {"regnet_y_3_2gf", 19'436'338, 3.176},     {"regnet_y_8gf", 39'381'472, 8.473},
    {"regnet_y_16gf", 83'590'140, 15.912},     {"regnet_y_32gf", 145'046'770, 32.28},
    {"regnet_y_128gf", 644'812'894, 127.518},  {"regnet_x_400mf", 5'495'976, 0.414},
    {"regnet_x_800mf", 7'259'656, 0.8},        {"regnet_x_1_6gf", 9'190'136, 1.603},
    {"regnet_x_3_2gf", 15'296'552, 3.177},     {"regnet_x_8gf", 39'572'648, 7.995},
    {"regnet_x_16gf", 54'278'536, 15.941},     {"regnet_x_32gf", 107'811'560, 31.736},
    {"swin_tiny", 28'288'354, 4.491},          {"swin_small", 49'606'258, 8.741},
    {"swin_base", 87'768'224, 15.431},         {"retinanet_r50", 34'014'999, 151.54}};

// torchvision also counts the network that computes the bias of scores, 0.2 to 0.3 % of the products.
const std::vector<Published> swin_v2{{"swin_v2_tiny", 28'351'570, 5.94},
                                     {"swin_v2_small", 49'737'442, 11.546},
                                     {"swin_v2_base", 87'930'848, 20.325}};

// diffusers' num_parameters(), flux's and DiT's checkpoints; DiT: arXiv 2212.09748, table 1 (its 118.64
// "Gflops" are MACs), without the 294,912 values of its fixed positions.
const std::vector<Published> diffusion{{"stable_diffusion_1_5", 859'520'964},
                                       {"stable_diffusion_2", 865'910'724},
                                       {"sdxl", 2'567'463'684},
                                       {"dit_xl_2", 675'129'632 - 294'912, 118.64},
                                       {"flux_dev", 11'901'408'320}};

void check_published(const Published& published, double part) {
  INFO(published.name);
  const ModelTotals sums = totals(shipped_model(published.name).layers);
  CHECK(sums.parameters == published.parameters);
  if (published.giga_macs > 0)
    CHECK(sums.forward_macs / 1e9 == doctest::Approx(published.giga_macs).epsilon(part));
}

}  // namespace

TEST_CASE("models of images have the parameters and multiply-accumulates that torchvision documents") {
  constexpr double rounding = 0.0006;
  for (const Published& published : torchvision) check_published(published, rounding);
  for (const Published& published : swin_v2) check_published(published, 0.0035);
}

TEST_CASE("models of diffusion have the parameters of their checkpoints") {
  for (const Published& published : diffusion) check_published(published, 0.0003);
}

TEST_CASE("the U-Net of Stable Diffusion 1.5 has the multiply-accumulates that profilers of modules see") {
  // 339 G per step (BK-SDM, arXiv 2305.15798), without the products of attention
  double macs = 0;
  for (const Layer& layer : shipped_model("stable_diffusion_1_5").layers) {
    if (layer.kind != LayerKind::flash_attention) macs += layer.forward_macs;
  }
  CHECK(macs / 1e9 == doctest::Approx(339).epsilon(0.0015));
}

TEST_CASE("Swin's large model has the parameters that timm prints, in millions") {
  CHECK(totals(shipped_model("swin_large").layers).parameters / 1e6 == doctest::Approx(196.53).epsilon(1e-4));
}

TEST_CASE(
    "a product with one factor per channel reads and writes the map, backward sums the factors' gradients") {
  const Model model = listed(
      "  - input: [8, 6, 6]\n  - {name: map, conv: {out: 8, kernel: 1}}\n  - global_pool\n"
      "  - {name: factors, conv: {out: 8, kernel: 1}}\n  - {name: scaled, multiply: [map, factors]}\n"
      "  - global_pool\n  - linear: 2\n  - softmax_cross_entropy\n");
  const Layer& scaled = named_layer(model, "scaled");
  CHECK(scaled.forward_rw_elements == 2 * 288);
  CHECK(scaled.backward_rw_elements == 6 * 288);
  CHECK(scaled.saved_elements == 288 + 8);  // the map and the factors
  CHECK(error_of_listed("  - input: [8, 6, 6]\n  - {name: map, conv: {out: 8, kernel: 1}}\n"
                        "  - {name: v, conv: {out: 4, kernel: 6}}\n  - multiply: [map, v]\n")
            .key_path == "layers[3].multiply");
}

TEST_CASE(
    "attention inside windows has the products of its windows, a bias per distance and a mask if shifted") {
  const std::string head =
      "  - input: [12, 8, 8]\n  - {conv: {out: 96, kernel: 1}}\n  - tokens\n"
      "  - {name: qkv, linear: 144}\n";
  const Model model =
      listed(head + "  - {name: a, window_attention: {heads: 6, window: 4, shifted: true}}\n");
  const double windows = 4;
  const double tokens = 16;
  CHECK(named_layer(model, "a.qk").forward_macs == windows * 6 * tokens * tokens * 8);
  CHECK(named_layer(model, "a.av").forward_macs == windows * 6 * tokens * tokens * 8);
  CHECK(parameter_elements(named_layer(model, "a.bias")) == 6 * 7 * 7);
  CHECK(named_layer(model, "a.mask").backward_rw_elements == 0);
  const Model plain = listed(head + "  - {name: a, window_attention: {heads: 6, window: 4}}\n");
  CHECK(plain.layers.size() + 1 == model.layers.size());
  // A window as large as the map is attention to all tokens.
  const Model whole = listed(head + "  - {name: a, window_attention: {heads: 6, window: 99}}\n");
  const Model all = listed(head + "  - {name: a, attention: {heads: 6}}\n");
  CHECK(named_layer(whole, "a.qk").forward_macs == named_layer(all, "a.qk").forward_macs);
  CHECK(error_of_listed(head + "  - window_attention: {heads: 6, window: 3}\n").key_path ==
        "layers[4].window_attention");
}

TEST_CASE("attention to other tokens has as many scores as both have tokens") {
  const Model model = listed(
      "  - input: [16, 8]\n  - {name: text, input: [5, 12]}\n  - {from: text, name: kv, linear: 64}\n"
      "  - {from: input, linear: 32}\n  - {name: c, cross_attention: {inputs: [previous, kv], heads: 4}}\n");
  CHECK(named_layer(model, "c.qk").forward_macs == 4.0 * 16 * 5 * 8);
  CHECK(model.layers.back().out_shape == std::vector{4, 16, 8});
  CHECK(error_of_listed("  - input: [16, 8]\n  - {name: kv, linear: 48}\n"
                        "  - cross_attention: {inputs: [input, kv], heads: 4}\n")
            .key_path == "layers[2].cross_attention");
}

TEST_CASE(
    "convolutions that share weights count them once; their gradient is complete with the first one's") {
  const Model model = listed(
      "  - input: [4, 8, 8]\n  - {name: large, conv: {out: 4, kernel: 3, padding: 1}}\n"
      "  - {name: small, conv: {out: 4, kernel: 3, padding: 1, stride: 2, tied: large}}\n"
      "  - {conv: {out: 1, kernel: 4}}\n  - squared_error\n");
  CHECK(totals(model.layers).parameters == (4 * 9 * 4 + 4) + (4 * 16 + 1));
  CHECK(named_layer(model, "small").parameters.empty());
  CHECK(named_layer(model, "small").tied_to == "large");
  CHECK(named_layer(model, "small").forward_macs == 16.0 * 4 * 9 * 4);
  CHECK(error_of_listed("  - input: [4, 8, 8]\n  - {name: a, conv: {out: 4, kernel: 3}}\n"
                        "  - conv: {out: 4, kernel: 5, tied: a}\n")
            .key_path == "layers[2].conv.tied");
}

TEST_CASE("a vector with a factor and a summand per channel modulates tokens") {
  const Model model = listed(
      "  - input: [16, 8]\n  - {name: t, linear: 8}\n  - {name: v, input: [3]}\n  - {from: v, name: m, "
      "linear: 16}\n"
      "  - {name: mod, modulate: [t, m]}\n  - squared_error\n");
  CHECK(named_layer(model, "mod").forward_rw_elements == 4 * 128);
  CHECK(named_layer(model, "mod").backward_rw_elements == 7 * 128);
  CHECK(named_layer(model, "mod").saved_elements == 128 + 16);
  CHECK(
      error_of_listed("  - input: [16, 8]\n  - {name: v, input: [8]}\n  - modulate: [input, v]\n").key_path ==
      "layers[2].modulate");
}

TEST_CASE("parts of a tensor are free, and within it") {
  const Model model = listed(
      "  - input: [16, 8]\n  - {name: t, linear: 8}\n  - {name: a, slice: {size: 6}}\n"
      "  - {name: b, from: t, slice: {first: 4, size: 12, of: tokens}}\n  - {from: a, name: x, linear: 3}\n"
      "  - {from: b, name: y, linear: 3}\n  - {from: x, squared_error: {}}\n  - {from: y, squared_error: "
      "{}}\n");
  CHECK(named_layer(model, "x").forward_macs == 16.0 * 6 * 3);
  CHECK(named_layer(model, "y").forward_macs == 12.0 * 8 * 3);
  CHECK(error_of_listed("  - input: [16, 8]\n  - slice: {first: 4, size: 5}\n").key_path ==
        "layers[1].slice");
}

TEST_CASE("layer scale and stochastic depth of DINOv2 and ConvNeXt are layers of their own") {
  const Layer scale = layer_scale_layer("s", {10, 4});
  CHECK(parameter_elements(scale) == 4);
  CHECK(scale.backward_rw_elements == 6 * 40);
  CHECK(parameter_elements(layer_scale_layer("s", {4, 10, 10})) == 4);
  const Model with = shipped_model("convnext_tiny");
  const Model without = shipped_model("convnext_tiny", "convnext.drop_path", "false");
  CHECK(with.layers.size() == without.layers.size() + 18);  // one for each block
  CHECK(totals(with.layers).parameters == totals(without.layers).parameters);
  CHECK(totals(with.layers).saved_elements == totals(without.layers).saved_elements);
}

TEST_CASE("a list of numbers for stages has one for each") {
  const auto key = [](const std::string& text) {
    return only_error([&] { load_model(config::parse("m.yaml", "name: m\n" + text)); }).key_path;
  };
  CHECK(key("family: convnext\nconvnext: {depths: [3, 3], widths: [96]}\n") == "convnext.widths");
  CHECK(key("family: swin\nswin: {depths: [2, 2], hidden: 96, heads: [3]}\n") == "swin.heads");
  CHECK(key("family: regnet\nregnet: {depths: [2], widths: [8, 8], group_width: 8}\n") == "regnet.widths");
  CHECK(key("family: diffusion_unet\ndiffusion_unet: {channels: [32], transformer_layers: [1], heads: [1, "
            "2]}\n") == "diffusion_unet.heads");
}

TEST_CASE("sizes that do not fit together are errors of the family, whose file has no list") {
  const auto error = [](const std::string& text) {
    return only_error([&] { load_model(config::parse("m.yaml", "name: m\n" + text)); });
  };
  const Diagnostic windows = error(
      "family: swin\nswin: {depths: [2, 2, 6, 2], hidden: 96, heads: [3, 6, 12, 24], image_size: 320}\n");
  CHECK(windows.key_path == "swin");
  CHECK(windows.message.find("7 x 7") != std::string::npos);
  CHECK(error("family: regnet\nregnet: {depths: [1], widths: [20], group_width: 7}\n").key_path ==
        "regnet.group_width");
  CHECK(
      error("family: convnext\nconvnext: {depths: [1, 1, 1], widths: [8, 8, 8], image_size: 4}\n").key_path ==
      "convnext");
  CHECK(error("family: diffusion_unet\ndiffusion_unet: {channels: [32, 64], transformer_layers: [1, 1], "
              "heads: [1, "
              "1], latent_size: 9}\n")
            .key_path == "diffusion_unet");
}

TEST_CASE("a condition that all blocks read does not join them to one block") {
  for (const auto& [name, repeated, prefix] :
       {std::tuple{"dit_xl_2", 28, "block.27."}, std::tuple{"flux_dev", 19, "double.18."},
        std::tuple{"flux_dev", 38, "single.37."}}) {
    INFO(name, " ", prefix);
    std::set<int> blocks;
    const Model model = shipped_model(name);
    const std::string kind = std::string(prefix).substr(0, std::string(prefix).find('.') + 1);
    for (const Layer& layer : model.layers) {
      if (layer.name.starts_with(kind) && layer.block) blocks.insert(*layer.block);
    }
    CHECK(static_cast<int>(blocks.size()) == repeated);
  }
}
