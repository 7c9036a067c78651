#pragma once
// A GPU that is so many times as fast: for what-ifs, in place of another profile.

#include "compute/gpu_profile.hpp"

namespace trainyard {

/// Every kernel takes 1 / `speed` of its time: peak rates and the memory's bandwidth times `speed`, fixed and
/// measured times over it. What communication takes of the memory is a smaller part of it then. Memory
/// capacity, power and image decoder stay.
void make_faster(GpuProfile& gpu, double speed);

}  // namespace trainyard
