#pragma once
// Entries of a list of layers (layer_list.hpp) as C++ writes them, for families that are lists made from a
// few hyper-parameters.

#include "workload/layer_list.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// A shape of the model's input; a name is needed for all but the first.
ListedLayer input_entry(std::vector<int> shape, std::optional<std::string> name = {});

/// Keys of a convolution with a square window. `padding`: half of the kernel unless given, so that a stride
/// of 1 keeps the size of a map.
struct ConvEntry {
  int out = 0, kernel = 1, stride = 1, groups = 1;
  std::optional<int> padding = {};
};
ListedLayer conv_entry(const ConvEntry& conv, std::vector<FollowingLayer> then = {});
/// Without channels: each channel alone.
ListedLayer depthwise_entry(int kernel, int stride, std::vector<FollowingLayer> then = {});

ListedLayer linear_entry(int out, std::vector<FollowingLayer> then = {});
ListedLayer linear_without_bias(int out);

/// A kind with its default keys: `ListedLayer::gelu`.
template <class T>
ListedLayer plain_entry(std::optional<T> ListedLayer::*kind, std::vector<FollowingLayer> then = {}) {
  ListedLayer entry;
  entry.*kind = T{};
  entry.then = std::move(then);
  return entry;
}

/// A kind with several inputs: `ListedLayer::add`.
ListedLayer join_entry(std::optional<ListedJoin> ListedLayer::*kind, std::vector<std::string> inputs,
                       std::vector<FollowingLayer> then = {});

/// Tokens to a square map.
ListedLayer map_entry(int side);

/// A group; with a number of repetitions its layers are called NAME.0.LAYER and so on.
ListedLayer group_entry(std::string name, std::vector<ListedLayer> layers, std::optional<int> repeat = {});

ListedLayer named(std::string name, ListedLayer entry);
/// An entry that reads another layer than the one before it.
ListedLayer reading(std::string from, ListedLayer entry);

/// The layers of a family's list. Throws InputError as listed_layers(), without the place in the list, which
/// no file of the family has.
std::vector<Layer> layers_of_family(const std::vector<ListedLayer>& list);

/// Squeeze-and-excitation of the layer called `of` (Hu et al. 2017, arXiv 1709.01507): a mean of each
/// channel, two 1 x 1 convolutions with `squeezed` channels between them, and the product of the map with the
/// result.
void append_squeeze_excite(std::vector<ListedLayer>& list, const std::string& of, int channels, int squeezed,
                           FollowingLayer activation);

/// Mean of each channel, dropout if wanted, the classes and the loss.
void append_classifier(std::vector<ListedLayer>& list, int classes, bool dropout = false);

/// The height or width of a map after a window that is padded by half of its kernel, an odd number.
constexpr int strided(int size, int stride) { return (size + stride - 1) / stride; }

}  // namespace trainyard
