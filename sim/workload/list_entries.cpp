#include "workload/list_entries.hpp"

#include "config/diagnostic.hpp"

#include <utility>

namespace trainyard {

ListedLayer input_entry(std::vector<int> shape, std::optional<std::string> name) {
  ListedLayer entry;
  entry.name = std::move(name);
  entry.input = std::move(shape);
  return entry;
}

ListedLayer conv_entry(const ConvEntry& conv, std::vector<FollowingLayer> then) {
  const int padding = conv.padding.value_or(conv.kernel / 2);
  ListedLayer entry;
  entry.conv = ListedConv{.out = conv.out,
                          .kernel = {conv.kernel, conv.kernel},
                          .stride = conv.stride,
                          .padding = {padding, padding},
                          .groups = conv.groups};
  entry.then = std::move(then);
  return entry;
}

ListedLayer depthwise_entry(int kernel, int stride, std::vector<FollowingLayer> then) {
  ListedLayer entry;
  entry.depthwise_conv =
      ListedDepthwiseConv{.kernel = {kernel, kernel}, .stride = stride, .padding = {kernel / 2, kernel / 2}};
  entry.then = std::move(then);
  return entry;
}

ListedLayer linear_entry(int out, std::vector<FollowingLayer> then) {
  ListedLayer entry;
  entry.linear = ListedLinear{.out = out};
  entry.then = std::move(then);
  return entry;
}

ListedLayer linear_without_bias(int out) {
  ListedLayer entry;
  entry.linear = ListedLinear{.out = out, .bias = false};
  return entry;
}

ListedLayer join_entry(std::optional<ListedJoin> ListedLayer::*kind, std::vector<std::string> inputs,
                       std::vector<FollowingLayer> then) {
  ListedLayer entry;
  entry.*kind = ListedJoin{std::move(inputs)};
  entry.then = std::move(then);
  return entry;
}

ListedLayer map_entry(int side) {
  ListedLayer entry;
  entry.map = Extent{side, side};
  return entry;
}

ListedLayer group_entry(std::string name, std::vector<ListedLayer> layers, std::optional<int> repeat) {
  ListedLayer entry;
  entry.name = std::move(name);
  entry.layers = std::move(layers);
  entry.repeat = repeat;
  return entry;
}

ListedLayer named(std::string name, ListedLayer entry) {
  entry.name = std::move(name);
  return entry;
}

ListedLayer reading(std::string from, ListedLayer entry) {
  entry.from = std::move(from);
  return entry;
}

std::vector<Layer> layers_of_family(const std::vector<ListedLayer>& list) {
  try {
    return listed_layers(list).layers;
  } catch (const InputError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) diagnostic.key_path.clear();
    throw InputError(std::move(diagnostics));
  }
}

void append_squeeze_excite(std::vector<ListedLayer>& list, const std::string& of, int channels, int squeezed,
                           FollowingLayer activation) {
  list.push_back(reading(of, plain_entry(&ListedLayer::global_pool)));
  list.push_back(named("squeeze", conv_entry({.out = squeezed}, {activation})));
  list.push_back(named("excite", conv_entry({.out = channels}, {FollowingLayer::sigmoid})));
  list.push_back(join_entry(&ListedLayer::multiply, {of, "excite"}));
}

void append_classifier(std::vector<ListedLayer>& list, int classes, bool dropout) {
  list.push_back(plain_entry(&ListedLayer::global_pool));
  if (dropout) list.push_back(plain_entry(&ListedLayer::dropout));
  list.push_back(named("head", linear_entry(classes)));
  list.push_back(plain_entry(&ListedLayer::softmax_cross_entropy));
}

}  // namespace trainyard
