#pragma once
// Residual networks (He et al. 2015, arXiv 1512.03385) from their hyper-parameters: ResNet-18 and 34 have
// basic blocks, ResNet-50, 101 and 152 bottlenecks; otherwise they differ only in the number of blocks. Layer
// and tensor names are torchvision's.

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// The paper's two kinds of block (figure 5).
enum class ResidualBlock { bottleneck, basic };

/// Which convolution of a stage's first bottleneck halves the image: the paper's first 1x1 (v1), or the 3x3
/// (v1.5) as in torchvision and every framework's benchmark.
enum class StridePlace { conv1, conv2 };

struct ResnetHyperparameters {
  std::vector<int> blocks;  ///< per stage, four stages
  ResidualBlock block = ResidualBlock::bottleneck;
  std::optional<StridePlace> stride_on = {};  ///< of bottlenecks; default: conv2
  int width = 64;  ///< channels of the stem and of the first stage's 3x3 convolutions
  int image_size = 224;
  int classes = 1000;
};

/// The layers in forward order, ending in the loss. Throws InputError if the image is too small for the
/// strides.
std::vector<Layer> resnet_layers(const ResnetHyperparameters& parameters);

namespace config {

template <>
struct Names<ResidualBlock> {
  static constexpr std::string_view what = "residual block";
  static constexpr std::array table{
      Name{"bottleneck", ResidualBlock::bottleneck, "1x1, 3x3 and 1x1 convolutions: ResNet-50, 101, 152"},
      Name{"basic", ResidualBlock::basic, "two 3x3 convolutions: ResNet-18, 34"}};
};

template <>
struct Names<StridePlace> {
  static constexpr std::string_view what = "stride place";
  static constexpr std::array table{
      Name{"conv1", StridePlace::conv1, "the first 1x1 convolution: ResNet v1, as in the paper"},
      Name{"conv2", StridePlace::conv2, "the 3x3 convolution: ResNet v1.5"}};
};

template <>
struct Keys<ResnetHyperparameters> {
  static auto table() {
    using R = ResnetHyperparameters;
    return keys(
        required("blocks", &R::blocks, "blocks of each of the four stages").at_least(1).at_most(1000),
        optional("block", &R::block, "what a block consists of"),
        optional(
            "stride_on", &R::stride_on,
            "which convolution of a bottleneck halves the image: conv1 (v1) or conv2 (v1.5); default: conv2"),
        optional("width", &R::width,
                 "channels of the stem; stage s has width x 2^s inside its blocks, a bottleneck four times "
                 "as many outputs")
            .at_least(1)
            .at_most(4096),
        optional("image_size", &R::image_size, "width and height of the square RGB input, in pixels")
            .at_least(16)
            .at_most(8192),
        optional("classes", &R::classes, "classes (outputs of the last layer)")
            .at_least(1)
            .at_most(10'000'000));
  }
};

}  // namespace config
}  // namespace trainyard
