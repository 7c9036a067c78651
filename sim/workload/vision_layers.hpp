#pragma once
// Layers of image models since 2018, per sample: squeeze-and-excitation, layer scale, stochastic depth,
// windows of tokens, modulation by a condition, and the norms and losses of diffusion. Cost rules as in
// layer.hpp. Each op of PyTorch's eager mode is one kernel: passes are those of these kernels.

#include "workload/layer.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Normalisation of groups of channels (Wu and He 2018, arXiv 1803.08494). 8 and 14 FLOPs per value. Traffic
/// as batch_norm_layer(): statistics are a pass of their own. The number of groups does not change it.
Layer group_norm_layer(std::string name, FeatureMap in);

/// Global response normalisation (Woo et al. 2023, ConvNeXt V2, arXiv 2301.00808, equations 1 to 3): each
/// channel's norm over all pixels, relative to the mean of the channels', scales its values. Eight passes
/// forward (norm, product, scale and bias, sum with the input); assumed: twice as many and 14 FLOPs per value
/// backward. `shape`: tokens. Keeps its input. A scale and a bias per feature.
Layer response_norm_layer(std::string name, const std::vector<int>& shape);

/// Learned factor per channel (Touvron et al. 2021, arXiv 2103.17239, section 3). Forward two passes;
/// backward six: the input's gradient two, products for the factors' three, their sum one. Keeps its input.
Layer layer_scale_layer(std::string name, const std::vector<int>& shape);

/// Batch normalisation with frozen statistics and weights, as detectors are fine-tuned: a product and a sum,
/// four passes forward, two backward. Neither parameters nor kept values. Source: pytorch/vision
/// torchvision/ops/misc.py, FrozenBatchNorm2d.
Layer frozen_norm_layer(std::string name, FeatureMap in);

/// Stochastic depth: a factor per sample, 0 or 1 / (1 - p) (Huang et al. 2016, arXiv 1603.09382). A FLOP and
/// two passes each way; keeps nothing that counts.
Layer drop_path_layer(std::string name, const std::vector<int>& shape);

/// Product of values with one factor of the sample for each channel (squeeze-and-excitation, Hu et al. 2017,
/// arXiv 1709.01507, equation 4; the gates of DiT). Passes as layer_scale_layer(). Keeps the values; a list
/// also keeps the factors.
Layer channel_product_layer(std::string name, const std::vector<int>& shape);

/// Sum of values and one summand of the sample for each channel: forward two passes, backward one, the sum of
/// the gradient.
Layer channel_sum_layer(std::string name, const std::vector<int>& shape);

/// x (1 + scale) + shift with both of the sample for each channel (Peebles and Xie 2022, DiT, arXiv
/// 2212.09748, section 3.2). 2 and 4 FLOPs per value, four passes forward, seven backward:
/// channel_product_layer()'s and the sum of the gradient. Keeps its input.
Layer modulate_layer(std::string name, const std::vector<int>& shape);

/// A map of `factor` times the height and width, by the nearest value. Each pass moves input and output.
Layer upsample_layer(std::string name, FeatureMap in, int factor);

/// Copies values into another order or shape: two passes each way.
Layer copy_layer(std::string name, const std::vector<int>& in, const std::vector<int>& out);

/// Mean of squared differences to a target. 3 FLOPs per value and three passes each way. Keeps its input.
Layer squared_error_layer(std::string name, const std::vector<int>& shape);

}  // namespace trainyard
