#include "workload/resnet.hpp"

#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr int expansion = 4;  // a bottleneck's output has four times the channels of its convolutions

/// A convolution, its batch norm and, unless the name is empty, its ReLU.
struct ConvNames {
  std::string conv, batch_norm, relu;
};

FeatureMap append_conv(std::vector<Layer>& layers, const ConvNames& names, FeatureMap in, ConvWindow window) {
  layers.push_back(conv_layer(names.conv, in, window));
  const FeatureMap out = output_map(layers.back());
  layers.push_back(batch_norm_layer(names.batch_norm, out));
  if (!names.relu.empty()) layers.push_back(relu_layer(names.relu, dimensions(out)));
  return out;
}

struct Block {
  int channels = 0;
  int stride = 1;
  bool has_downsample = false;
};

/// From the input of the block to the sum of both paths; its last convolution gave `map`.
void append_shortcut(std::vector<Layer>& layers, const std::string& prefix, FeatureMap in, FeatureMap map,
                     Block block) {
  if (block.has_downsample) {
    const std::size_t conv = layers.size();
    append_conv(layers, {prefix + "downsample.0", prefix + "downsample.1", ""}, in,
                {map.channels, 1, block.stride, 0});
    layers[conv].saved_elements = 0;  // conv1 keeps the same input
  }
  layers.push_back(add_layer(prefix + "add", dimensions(map)));
}

FeatureMap append_basic(std::vector<Layer>& layers, const std::string& prefix, FeatureMap in, Block block) {
  FeatureMap map = append_conv(layers, {prefix + "conv1", prefix + "bn1", prefix + "relu1"}, in,
                               {block.channels, 3, block.stride, 1});
  map = append_conv(layers, {prefix + "conv2", prefix + "bn2", ""}, map, {block.channels, 3, 1, 1});
  append_shortcut(layers, prefix, in, map, block);
  layers.push_back(relu_layer(prefix + "relu2", dimensions(map)));
  return map;
}

FeatureMap append_bottleneck(std::vector<Layer>& layers, const std::string& prefix, FeatureMap in,
                             Block block, StridePlace place) {
  const int stride1 = place == StridePlace::conv1 ? block.stride : 1;
  const int stride2 = place == StridePlace::conv2 ? block.stride : 1;
  const int out_channels = block.channels * expansion;
  FeatureMap map = append_conv(layers, {prefix + "conv1", prefix + "bn1", prefix + "relu1"}, in,
                               {block.channels, 1, stride1, 0});
  map = append_conv(layers, {prefix + "conv2", prefix + "bn2", prefix + "relu2"}, map,
                    {block.channels, 3, stride2, 1});
  map = append_conv(layers, {prefix + "conv3", prefix + "bn3", ""}, map, {out_channels, 1, 1, 0});
  append_shortcut(layers, prefix, in, map, block);
  layers.push_back(relu_layer(prefix + "relu3", dimensions(map)));
  return map;
}

}  // namespace

std::vector<Layer> resnet_layers(const ResnetHyperparameters& parameters) {
  std::vector<Layer> layers;
  FeatureMap map{3, parameters.image_size, parameters.image_size};
  map = append_conv(layers, {"conv1", "bn1", "relu1"}, map, {parameters.width, 7, 2, 3});
  set_reads_data(layers.front());
  layers.push_back(max_pool_layer("maxpool", map, 3, 2, 1));
  map = output_map(layers.back());

  int channels = parameters.width;
  int block = 0;
  for (std::size_t stage = 0; stage < parameters.blocks.size(); ++stage) {
    for (int b = 0; b < parameters.blocks[stage]; ++b) {
      const std::string prefix = "layer" + std::to_string(stage + 1) + "." + std::to_string(b) + ".";
      const int stride = stage > 0 && b == 0 ? 2 : 1;
      const std::size_t first = layers.size();
      if (parameters.block == ResidualBlock::basic) {
        const bool changes_shape = stride > 1 || channels != map.channels;
        map = append_basic(layers, prefix, map, {channels, stride, changes_shape});
      } else {
        map = append_bottleneck(layers, prefix, map, {channels, stride, b == 0},
                                parameters.stride_on.value_or(StridePlace::conv2));
      }
      set_shares_input(layers[first]);  // with the shortcut
      set_block(layers, first, block++);
    }
    channels *= 2;
  }
  layers.push_back(average_pool_layer("avgpool", map));
  layers.push_back(linear_layer("fc", map.channels, parameters.classes));
  layers.push_back(softmax_cross_entropy_layer("loss", parameters.classes));
  return layers;
}

}  // namespace trainyard
