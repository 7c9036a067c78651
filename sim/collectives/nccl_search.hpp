#pragma once
// Trials of NCCL's search for channels in one node since the Hopper generation: the rate that it assumes for
// a lane of NVLink, and the speeds of channels, the highest first. Sources: NVIDIA/nccl v2.22.3-1 to
// v2.30.7-1, src/graph/topo.h (SM90_NVLINK_BW, SM100_NVLINK_BW), src/graph/search.cc (sm90SpeedArrayIntra,
// sm100SpeedArrayIntra).

#include <array>
#include <span>

namespace trainyard {

constexpr bool is_blackwell(int compute_capability) { return compute_capability >= 100; }

/// GB/s. `compute_capability`: 90 or more.
constexpr double searched_lane(int compute_capability) {
  return is_blackwell(compute_capability) ? 40.1 : 20.6;
}

/// GB/s, in falling order. `compute_capability`: 90 or more.
inline std::span<const double> searched_speeds(int compute_capability) {
  static constexpr std::array<double, 11> hopper{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static constexpr std::array<double, 12> blackwell{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  if (is_blackwell(compute_capability)) return blackwell;
  return hopper;
}

}  // namespace trainyard
