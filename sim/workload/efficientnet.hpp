#pragma once
// EfficientNet (Tan and Le 2019, arXiv 1905.11946) and EfficientNetV2 (arXiv 2104.00298) from their
// hyper-parameters: stages of inverted bottlenecks with depthwise convolutions and squeeze-and-excitation, or
// with one convolution in place of two.

#include "config/keys.hpp"
#include "workload/image_keys.hpp"
#include "workload/layer.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct EfficientnetStage {
  int repeats = 1;   ///< blocks
  int channels = 0;  ///< of the output
  int kernel = 3;
  int stride = 1;  ///< of the first block
  int expansion = 6;
  bool fused = false;  ///< one convolution in place of the expansion and the depthwise one, no squeeze
};

struct EfficientnetHyperparameters {
  double width = 1;                            ///< factor on channels
  double depth = 1;                            ///< factor on blocks
  std::vector<EfficientnetStage> stages = {};  ///< default: those of EfficientNet-B0
  int stem = 32;                               ///< channels of the first convolution, before `width`
  std::optional<int> head = {};                ///< channels of the last one; default: 4 x the last stage's
  int image_size = 224;
  int classes = 1000;
  bool drop_path = false;
};

/// The layers in forward order, ending in the loss; channels are rounded to multiples of 8, blocks up
/// (section 3.3; pytorch/vision torchvision/models/efficientnet.py).
std::vector<Layer> efficientnet_layers(const EfficientnetHyperparameters& parameters);

namespace config {

template <>
struct Keys<EfficientnetStage> {
  static auto table() {
    using S = EfficientnetStage;
    return keys(
        required("repeats", &S::repeats, "blocks of the stage").at_least(1).at_most(1'000),
        required("channels", &S::channels, "channels of its output").at_least(1).at_most(100'000),
        optional("kernel", &S::kernel, "height and width of its convolutions").at_least(1).at_most(99),
        optional("stride", &S::stride, "stride of its first block").at_least(1).at_most(8),
        optional("expansion", &S::expansion, "channels inside a block per channel of its input")
            .at_least(1)
            .at_most(64),
        optional("fused", &S::fused,
                 "true: one convolution in place of expansion, depthwise convolution and squeeze"));
  }
};

template <>
struct Keys<EfficientnetHyperparameters> {
  static auto table() {
    using E = EfficientnetHyperparameters;
    return keys(optional("width", &E::width, "factor on the channels").positive(100),
                optional("depth", &E::depth, "factor on the blocks of a stage").positive(100),
                optional("stages", &E::stages, "stages; default: those of EfficientNet-B0"),
                optional("stem", &E::stem, "channels of the first convolution, before `width`")
                    .at_least(1)
                    .at_most(100'000),
                optional("head", &E::head, "channels of the last convolution; default: 4 x the last stage's")
                    .at_least(1)
                    .at_most(100'000),
                image_size_key<E>(), classes_key<E>(), drop_path_key<E>());
  }
};

}  // namespace config
}  // namespace trainyard
