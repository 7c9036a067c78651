#pragma once
// A GPU made faster by a factor: for what-ifs, without another profile.

#include "compute/gpu_profile.hpp"

namespace trainyard {

/// Every kernel takes 1 / `speed` of its time: peak rates and memory bandwidth are multiplied by `speed`,
/// fixed and measured times divided by it. Communication then needs a smaller fraction of the memory
/// bandwidth. Memory capacity, power and image decoder do not change.
void make_faster(GpuProfile& gpu, double speed);

}  // namespace trainyard
