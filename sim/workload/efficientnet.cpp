#include "workload/efficientnet.hpp"

#include "workload/list_entries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

namespace trainyard {
namespace {

using enum FollowingLayer;

/// EfficientNet-B0 (arXiv 1905.11946, table 1).
constexpr std::array b0_stages{
    EfficientnetStage{.repeats = 1, .channels = 16, .kernel = 3, .stride = 1, .expansion = 1},
    EfficientnetStage{.repeats = 2, .channels = 24, .kernel = 3, .stride = 2},
    EfficientnetStage{.repeats = 2, .channels = 40, .kernel = 5, .stride = 2},
    EfficientnetStage{.repeats = 3, .channels = 80, .kernel = 3, .stride = 2},
    EfficientnetStage{.repeats = 3, .channels = 112, .kernel = 5, .stride = 1},
    EfficientnetStage{.repeats = 4, .channels = 192, .kernel = 5, .stride = 2},
    EfficientnetStage{.repeats = 1, .channels = 320, .kernel = 3, .stride = 1}};

/// The nearest multiple of 8, but not less than 90 % of the channels.
int rounded(double channels) {
  constexpr int unit = 8;
  const int near = std::max(unit, static_cast<int>(channels + unit / 2.0) / unit * unit);
  return near < 0.9 * channels ? near + unit : near;
}

std::vector<ListedLayer> block_of(const EfficientnetStage& stage, int in, int stride, bool drop_path) {
  const int inner = rounded(in * stage.expansion);
  const bool has_sum = stride == 1 && in == stage.channels;
  std::vector<FollowingLayer> end{batch_norm};
  if (stage.fused && inner == in) end.push_back(silu);
  if (drop_path && has_sum) end.push_back(FollowingLayer::drop_path);
  std::vector<ListedLayer> block;
  if (stage.fused) {
    if (inner != in)
      block.push_back(
          conv_entry({.out = inner, .kernel = stage.kernel, .stride = stride}, {batch_norm, silu}));
    block.push_back(inner == in
                        ? conv_entry({.out = stage.channels, .kernel = stage.kernel, .stride = stride}, end)
                        : conv_entry({.out = stage.channels}, end));
  } else {
    if (inner != in) block.push_back(conv_entry({.out = inner}, {batch_norm, silu}));
    block.push_back(named("depthwise", depthwise_entry(stage.kernel, stride, {batch_norm, silu})));
    append_squeeze_excite(block, "depthwise", inner, std::max(1, in / 4), silu);
    block.push_back(conv_entry({.out = stage.channels}, end));
  }
  if (has_sum) block.push_back(join_entry(&ListedLayer::add, {"previous", "input"}));
  return block;
}

}  // namespace

std::vector<Layer> efficientnet_layers(const EfficientnetHyperparameters& parameters) {
  std::vector<EfficientnetStage> stages = parameters.stages;
  if (stages.empty()) stages.assign(b0_stages.begin(), b0_stages.end());
  int in = rounded(parameters.stem * parameters.width);
  std::vector<ListedLayer> list{
      input_entry({3, parameters.image_size, parameters.image_size}),
      named("stem", conv_entry({.out = in, .kernel = 3, .stride = 2}, {batch_norm, silu}))};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    EfficientnetStage stage = stages[i];
    stage.channels = rounded(stage.channels * parameters.width);
    stage.repeats = static_cast<int>(std::ceil(stage.repeats * parameters.depth));
    list.push_back(group_entry(fmt::format("stage{}_first", i),
                               block_of(stage, in, stage.stride, parameters.drop_path)));
    in = stage.channels;
    if (stage.repeats > 1)
      list.push_back(group_entry(fmt::format("stage{}", i), block_of(stage, in, 1, parameters.drop_path),
                                 stage.repeats - 1));
  }
  list.push_back(conv_entry({.out = parameters.head.value_or(4 * in)}, {batch_norm, silu}));
  append_classifier(list, parameters.classes, true);
  return layers_of_family(list);
}

}  // namespace trainyard
