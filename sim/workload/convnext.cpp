#include "workload/convnext.hpp"

#include "workload/list_entries.hpp"

#include <cstddef>
#include <fmt/format.h>

namespace trainyard {
namespace {

std::vector<ListedLayer> block_of(const ConvnextHyperparameters& parameters, int width, int side) {
  constexpr int expansion = 4;
  std::vector<ListedLayer> block{depthwise_entry(7, 1, {FollowingLayer::layer_norm}),
                                 plain_entry(&ListedLayer::tokens),
                                 linear_entry(expansion * width, {FollowingLayer::gelu})};
  if (parameters.version == 2) block.push_back(plain_entry(&ListedLayer::response_norm));
  std::vector<FollowingLayer> end;
  if (parameters.version == 1) end.push_back(FollowingLayer::layer_scale);
  if (parameters.drop_path) end.push_back(FollowingLayer::drop_path);
  block.push_back(linear_entry(width, end));
  block.push_back(map_entry(side));
  block.push_back(join_entry(&ListedLayer::add, {"previous", "input"}));
  return block;
}

}  // namespace

std::vector<Layer> convnext_layers(const ConvnextHyperparameters& parameters) {
  const int patch = parameters.patch;
  std::vector<ListedLayer> list{
      input_entry({3, parameters.image_size, parameters.image_size}),
      named("stem",
            conv_entry({.out = parameters.widths.front(), .kernel = patch, .stride = patch, .padding = 0},
                       {FollowingLayer::layer_norm}))};
  int side = parameters.image_size / patch;
  for (std::size_t stage = 0; stage < parameters.depths.size(); ++stage) {
    const int width = parameters.widths[stage];
    if (stage > 0) {
      list.push_back(plain_entry(&ListedLayer::layer_norm));
      list.push_back(conv_entry({.out = width, .kernel = 2, .stride = 2, .padding = 0}));
      side /= 2;
    }
    list.push_back(group_entry(fmt::format("stage{}", stage), block_of(parameters, width, side),
                               parameters.depths[stage]));
  }
  list.push_back(plain_entry(&ListedLayer::global_pool, {FollowingLayer::layer_norm}));
  list.push_back(named("head", linear_entry(parameters.classes)));
  list.push_back(plain_entry(&ListedLayer::softmax_cross_entropy));
  return layers_of_family(list);
}

}  // namespace trainyard
