#include "workload/inception_v3.hpp"

#include <string>
#include <utility>

namespace trainyard {
namespace {

// The paper's windows. They keep the size of the map unless the name says otherwise.
constexpr Window conv1x1{1, 1};
constexpr Window conv3x3{3, 3, 1, 1, 1};
constexpr Window conv5x5{5, 5, 1, 2, 2};
constexpr Window conv1x3{1, 3, 1, 0, 1};
constexpr Window conv3x1{3, 1, 1, 1, 0};
constexpr Window conv1x7{1, 7, 1, 0, 3};
constexpr Window conv7x1{7, 1, 1, 3, 0};
constexpr Window inner3x3{3, 3};  // without padding
constexpr Window halving3x3{3, 3, 2};

struct Network {
  std::vector<Layer> layers;
  bool has_scale = true;
};

/// A convolution of a branch.
struct Unit {
  std::string name;
  int channels = 0;
  Window window;
};

/// Appends units one after the other, each with batch norm and ReLU; returns the last map.
FeatureMap append_branch(Network& network, const std::string& block, FeatureMap map,
                         const std::vector<Unit>& units) {
  for (const Unit& unit : units) {
    const std::string name = block + unit.name;
    network.layers.push_back(conv_layer(name + ".conv", map, unit.channels, unit.window));
    map = output_map(network.layers.back());
    network.layers.push_back(batch_norm_layer(name + ".bn", map, network.has_scale));
    network.layers.push_back(relu_layer(name + ".relu", dimensions(map)));
  }
  return map;
}

FeatureMap append_max_pool(Network& network, const std::string& name, FeatureMap map) {
  network.layers.push_back(max_pool_layer(name, map, 3, 2, 0));
  return output_map(network.layers.back());
}

/// The last branch of all blocks but two: mean of 3 x 3, then a 1x1 convolution.
FeatureMap append_pool_branch(Network& network, const std::string& block, FeatureMap in, int channels) {
  network.layers.push_back(average_pool_layer(block + "ap", in, conv3x3));
  network.layers.back().saved_elements = 0;  // the parallel convolutions keep the same input
  return append_branch(network, block, in, {{"bp", channels, conv1x1}});
}

FeatureMap append_stem(Network& network, FeatureMap image) {
  FeatureMap map =
      append_branch(network, "", image, {{"1a", 32, halving3x3}, {"2a", 32, inner3x3}, {"2b", 64, conv3x3}});
  map = append_max_pool(network, "p1", map);
  map = append_branch(network, "", map, {{"3b", 80, conv1x1}, {"4a", 192, inner3x3}});
  return append_max_pool(network, "p2", map);
}

/// Blocks of 35 x 35: branches with windows up to 5 x 5.
FeatureMap append_block35(Network& network, const std::string& block, FeatureMap in, int pool_channels) {
  append_branch(network, block, in, {{"1x1", 64, conv1x1}});
  append_branch(network, block, in, {{"5x5_1", 48, conv1x1}, {"5x5_2", 64, conv5x5}});
  append_branch(network, block, in, {{"d1", 64, conv1x1}, {"d2", 96, conv3x3}, {"d3", 96, conv3x3}});
  append_pool_branch(network, block, in, pool_channels);
  return {64 + 64 + 96 + pool_channels, in.height, in.width};
}

/// From 35 x 35 to 17 x 17.
FeatureMap append_first_reduction(Network& network, const std::string& block, FeatureMap in) {
  append_branch(network, block, in, {{"3", 384, halving3x3}});
  append_branch(network, block, in, {{"d1", 64, conv1x1}, {"d2", 96, conv3x3}, {"d3", 96, halving3x3}});
  const FeatureMap out = append_max_pool(network, block + "mp", in);
  return {384 + 96 + in.channels, out.height, out.width};
}

/// Blocks of 17 x 17: 7 x 7 windows in two factors.
FeatureMap append_block17(Network& network, const std::string& block, FeatureMap in, int channels) {
  append_branch(network, block, in, {{"1", 192, conv1x1}});
  append_branch(network, block, in,
                {{"7_1", channels, conv1x1}, {"7_2", channels, conv1x7}, {"7_3", 192, conv7x1}});
  append_branch(network, block, in,
                {{"d1", channels, conv1x1},
                 {"d2", channels, conv7x1},
                 {"d3", channels, conv1x7},
                 {"d4", channels, conv7x1},
                 {"d5", 192, conv1x7}});
  append_pool_branch(network, block, in, 192);
  return {4 * 192, in.height, in.width};
}

/// The second classifier is a side branch: the next layer reads the same input.
void append_auxiliary(Network& network, FeatureMap in, int classes) {
  network.layers.push_back(average_pool_layer("aux.ap", in, {5, 5, 3}));
  network.layers.back().saved_elements = 0;  // the next block keeps the same input
  const FeatureMap pooled = output_map(network.layers.back());
  const FeatureMap map = append_branch(network, "aux.", pooled, {{"0", 128, conv1x1}, {"1", 768, {5, 5}}});
  if (map.height * map.width > 1) network.layers.push_back(average_pool_layer("aux.gap", map));
  network.layers.push_back(linear_layer("aux.fc", map.channels, classes));
}

/// From 17 x 17 to 8 x 8.
FeatureMap append_second_reduction(Network& network, const std::string& block, FeatureMap in) {
  append_branch(network, block, in, {{"3_1", 192, conv1x1}, {"3_2", 320, halving3x3}});
  append_branch(
      network, block, in,
      {{"7_1", 192, conv1x1}, {"7_2", 192, conv1x7}, {"7_3", 192, conv7x1}, {"7_4", 192, halving3x3}});
  const FeatureMap out = append_max_pool(network, block + "mp", in);
  return {320 + 192 + in.channels, out.height, out.width};
}

/// Blocks of 8 x 8: two branches fork into a 1x3 and a 3x1 convolution.
FeatureMap append_block8(Network& network, const std::string& block, FeatureMap in) {
  const auto append_fork = [&](const std::string& name, FeatureMap map) {
    append_branch(network, block, map, {{name + "a", 384, conv1x3}});
    append_branch(network, block, map, {{name + "b", 384, conv3x1}});
  };
  append_branch(network, block, in, {{"1", 320, conv1x1}});
  append_fork("3_2", append_branch(network, block, in, {{"3_1", 384, conv1x1}}));
  append_fork("d3", append_branch(network, block, in, {{"d1", 448, conv1x1}, {"d2", 384, conv3x3}}));
  append_pool_branch(network, block, in, 192);
  return {320 + 4 * 384 + 192, in.height, in.width};
}

}  // namespace

std::vector<Layer> inception_v3_layers(const InceptionV3Hyperparameters& parameters) {
  Network network{{}, parameters.batch_norm_scale};
  FeatureMap map = append_stem(network, {3, parameters.image_size, parameters.image_size});
  set_reads_data(network.layers.front());
  int blocks = 0;
  const auto append = [&](auto append_block, const char* name, auto... parameter) {
    const std::size_t first = network.layers.size();
    map = append_block(network, name, map, parameter...);
    set_block(network.layers, first, blocks++);
  };
  append(append_block35, "5b.", 32);
  append(append_block35, "5c.", 64);
  append(append_block35, "5d.", 64);
  append(append_first_reduction, "6a.");
  append(append_block17, "6b.", 128);
  append(append_block17, "6c.", 160);
  append(append_block17, "6d.", 160);
  append(append_block17, "6e.", 192);
  if (parameters.auxiliary) {
    const std::size_t first = network.layers.size();
    append_auxiliary(network, map, parameters.classes);
    set_block(network.layers, first, blocks - 1);
  }
  append(append_second_reduction, "7a.");
  append(append_block8, "7b.");
  append(append_block8, "7c.");
  network.layers.push_back(average_pool_layer("gap", map));
  network.layers.push_back(linear_layer("fc", map.channels, parameters.classes));
  return std::move(network.layers);
}

}  // namespace trainyard
