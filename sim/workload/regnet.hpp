#pragma once
// RegNet (Radosavovic et al. 2020, arXiv 2003.13678) from its hyper-parameters: stages of bottlenecks with
// convolutions in groups, in RegNetY with squeeze-and-excitation.

#include "config/keys.hpp"
#include "workload/image_keys.hpp"
#include "workload/layer.hpp"

#include <vector>

namespace trainyard {

struct RegnetHyperparameters {
  std::vector<int> depths;  ///< blocks of each stage
  std::vector<int> widths;  ///< channels of each stage
  int group_width = 1;      ///< channels of a group, at most a stage's
  bool squeeze_excite =
      false;      ///< RegNetY: a quarter of a block's input channels between its two convolutions
  int stem = 32;  ///< channels of the first convolution
  int image_size = 224;
  int classes = 1000;
};

/// The layers in forward order, ending in the loss. Throws InputError if a group's channels do not divide a
/// stage's.
std::vector<Layer> regnet_layers(const RegnetHyperparameters& parameters);

namespace config {

template <>
struct Keys<RegnetHyperparameters> {
  static auto table() {
    using R = RegnetHyperparameters;
    return keys(depths_key<R>(), widths_key<R>(),
                required("group_width", &R::group_width, "channels of a group of a 3 x 3 convolution")
                    .at_least(1)
                    .at_most(100'000),
                optional("squeeze_excite", &R::squeeze_excite, "true: RegNetY; false: RegNetX"),
                optional("stem", &R::stem, "channels of the first convolution").at_least(1).at_most(100'000),
                image_size_key<R>(), classes_key<R>());
  }
};

}  // namespace config
}  // namespace trainyard
