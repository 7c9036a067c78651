#include "workload/swin.hpp"

#include "workload/list_entries.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>

namespace trainyard {
namespace {

/// The layer of queries, keys and values.
constexpr const char* joint_projection = "qkv";

struct SwinBlock {
  int hidden = 0, heads = 0, window = 0;
  bool shifted = false;
};

void append_copies(std::vector<ListedLayer>& block, int count) {
  for (int i = 0; i < count; ++i) block.push_back(plain_entry(&ListedLayer::reorder));
}

/// The end of a half: a norm of version 2, stochastic depth, and the sum with `input`.
void append_sum(std::vector<ListedLayer>& block, const SwinHyperparameters& parameters,
                const std::string& name, const std::string& input) {
  if (parameters.version == 2) block.push_back(plain_entry(&ListedLayer::layer_norm));
  if (parameters.drop_path) block.push_back(plain_entry(&ListedLayer::drop_path));
  block.push_back(named(name, join_entry(&ListedLayer::add, {"previous", input})));
}

std::vector<ListedLayer> block_of(const SwinHyperparameters& parameters, const SwinBlock& size) {
  constexpr int expansion = 4;
  const int shifts = size.shifted ? 2 : 0;  // torch.roll: a kernel for each direction
  std::vector<ListedLayer> block;
  if (parameters.version == 1) block.push_back(plain_entry(&ListedLayer::layer_norm));
  append_copies(block, 2 + shifts);  // F.pad copies, though by 0 tokens; the windows
  block.push_back(named(joint_projection, linear_entry(3 * size.hidden)));
  ListedLayer attention;
  attention.window_attention = ListedWindowAttention{.heads = size.heads,
                                                     .window = size.window,
                                                     .shifted = size.shifted,
                                                     .cosine = parameters.version == 2,
                                                     .kernel = parameters.attention};
  block.push_back(attention);
  block.push_back(linear_entry(size.hidden));
  append_copies(block, 1 + shifts);
  append_sum(block, parameters, "attended", "input");
  if (parameters.version == 1) block.push_back(plain_entry(&ListedLayer::layer_norm));
  block.push_back(linear_entry(expansion * size.hidden, {FollowingLayer::gelu}));
  block.push_back(linear_entry(size.hidden));
  append_sum(block, parameters, "sum", "attended");
  return block;
}

void append_merging(std::vector<ListedLayer>& list, int version, int hidden) {
  append_copies(list, 1);  // F.pad
  ListedLayer merge;
  merge.merge_patches = ListedFactor{2};
  list.push_back(merge);
  if (version == 1) list.push_back(plain_entry(&ListedLayer::layer_norm));
  list.push_back(linear_without_bias(hidden));
  if (version == 2) list.push_back(plain_entry(&ListedLayer::layer_norm));
}

/// Removes the biases of keys from the joint projections.
void remove_key_biases(std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    if (layer.name.ends_with(std::string(".") + joint_projection))
      layer.parameters.back().elements -= layer.in_shape.back();
  }
}

}  // namespace

std::vector<Layer> swin_layers(const SwinHyperparameters& parameters) {
  const int patch = parameters.patch;
  std::vector<ListedLayer> list{
      input_entry({3, parameters.image_size, parameters.image_size}),
      named("patches",
            conv_entry({.out = parameters.hidden, .kernel = patch, .stride = patch, .padding = 0})),
      plain_entry(&ListedLayer::tokens, {FollowingLayer::layer_norm})};
  int side = parameters.image_size / patch;
  SwinBlock block{.hidden = parameters.hidden, .heads = 0, .window = parameters.window};
  for (std::size_t stage = 0; stage < parameters.depths.size(); ++stage) {
    block.heads = parameters.heads[stage];
    if (stage > 0) {
      block.hidden *= 2;
      append_merging(list, parameters.version, block.hidden);
      side /= 2;
    }
    for (int i = 0; i < parameters.depths[stage]; ++i) {
      block.shifted = i % 2 == 1 && parameters.window < side;
      list.push_back(group_entry(fmt::format("stage{}_block{}", stage, i), block_of(parameters, block)));
    }
  }
  list.push_back(plain_entry(&ListedLayer::layer_norm));
  list.push_back(map_entry(side));
  append_classifier(list, parameters.classes);
  std::vector<Layer> layers = layers_of_family(list);
  if (!parameters.key_bias) remove_key_biases(layers);
  return layers;
}

}  // namespace trainyard
