#pragma once
// The first 1x1 convolution of ResNet-50 that widens, batch 16.

#include "workload/trace.hpp"

namespace trainyard {

inline constexpr ConvShape pointwise{.batch = 16,
                                     .in_channels = 64,
                                     .height = 56,
                                     .width = 56,
                                     .out_channels = 256,
                                     .kernel_h = 1,
                                     .kernel_w = 1};

}  // namespace trainyard
