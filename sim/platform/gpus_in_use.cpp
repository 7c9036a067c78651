#include "platform/gpus_in_use.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

void leave_out_gpus(const PlatformFile& file, std::vector<std::vector<DevicePair>>& pairs,
                    config::Problems& problems) {
  if (!file.node.gpus || !problems.is_set(gpu_count_key) || !problems.readable(gpu_count_key)) return;
  const int count = file.node.gpus->count;
  int linked = 0;
  const auto is_left_out = [&](DeviceName device) {
    if (device.kind != DeviceKind::gpu) return false;
    linked = std::max(linked, device.number + 1);
    return device.number >= count;
  };
  for (std::vector<DevicePair>& entry : pairs) {
    std::erase_if(entry, [&](const DevicePair& pair) {
      const bool is_one = is_left_out(pair.one);
      return is_left_out(pair.other) || is_one;
    });
  }
  if (linked > 0 && count > linked)
    problems.error(gpu_count_key, fmt::format("the node's links name gpu0 to gpu{}", linked - 1),
                   fmt::format("1 to {}; more need links", linked));
}

}  // namespace trainyard
