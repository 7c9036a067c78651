#include "workload/regnet.hpp"

#include "workload/list_entries.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

struct RegnetBlock {
  int in = 0, out = 0, stride = 1, groups = 1;
  bool squeeze_excite = false;
};

/// pytorch/vision torchvision/models/regnet.py: round(0.25 x input channels), half to even.
int squeezed(int channels) { return static_cast<int>(std::nearbyint(channels / 4.0)); }

std::vector<ListedLayer> bottleneck(const RegnetBlock& block) {
  using enum FollowingLayer;
  const bool projects = block.in != block.out || block.stride != 1;
  std::vector<ListedLayer> layers;
  if (projects)
    layers.push_back(named("shortcut", conv_entry({.out = block.out, .stride = block.stride}, {batch_norm})));
  layers.push_back(reading("input", conv_entry({.out = block.out}, {batch_norm, relu})));
  layers.push_back(named(
      "grouped", conv_entry({.out = block.out, .kernel = 3, .stride = block.stride, .groups = block.groups},
                            {batch_norm, relu})));
  if (block.squeeze_excite) append_squeeze_excite(layers, "grouped", block.out, squeezed(block.in), relu);
  layers.push_back(conv_entry({.out = block.out}, {batch_norm}));
  layers.push_back(join_entry(&ListedLayer::add, {"previous", projects ? "shortcut" : "input"}, {relu}));
  return layers;
}

}  // namespace

std::vector<Layer> regnet_layers(const RegnetHyperparameters& parameters) {
  std::vector<ListedLayer> list{
      input_entry({3, parameters.image_size, parameters.image_size}),
      named("stem", conv_entry({.out = parameters.stem, .kernel = 3, .stride = 2},
                               {FollowingLayer::batch_norm, FollowingLayer::relu}))};
  int in = parameters.stem;
  for (std::size_t stage = 0; stage < parameters.depths.size(); ++stage) {
    const int out = parameters.widths[stage];
    const RegnetBlock first{.in = in,
                            .out = out,
                            .stride = 2,
                            .groups = std::max(1, out / parameters.group_width),
                            .squeeze_excite = parameters.squeeze_excite};
    RegnetBlock later = first;
    later.in = out;
    later.stride = 1;
    list.push_back(group_entry(fmt::format("stage{}_first", stage), bottleneck(first)));
    if (parameters.depths[stage] > 1)
      list.push_back(
          group_entry(fmt::format("stage{}", stage), bottleneck(later), parameters.depths[stage] - 1));
    in = out;
  }
  append_classifier(list, parameters.classes);
  return layers_of_family(list);
}

}  // namespace trainyard
