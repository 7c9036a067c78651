#include "platform/nics_in_use.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

/// The new number of NIC `number`, of `count`, if `used` are used: the k-th in use is k * count / used.
std::optional<int> new_number(int number, int count, int used) {
  const int k = (number * used + count - 1) / count;
  return k < used && k * count / used == number ? std::optional(k) : std::nullopt;
}

}  // namespace

void check_nics_in_use(const PlatformFile& file, config::Problems& problems) {
  if (!file.node.nics || !problems.readable("node.devices.nic")) return;
  constexpr const char* key = "node.nics";
  const int count = file.node.devices.nic.count;
  if (*file.node.nics > count)
    problems.error(key, fmt::format("the node has {} NICs, and 'nics' leaves some of them out", count),
                   fmt::format("1 to {}; more need devices.nic and their links", count));
  if (file.fabric && (file.fabric->kind == FabricKind::custom || file.fabric->kind == FabricKind::routes))
    problems.error(key, "the links or routes of this fabric name each NIC", "change them");
}

void leave_out_nics(PlatformFile& file, std::vector<std::vector<DevicePair>>& pairs) {
  if (!file.node.nics) return;
  int& count = file.node.devices.nic.count;
  const int used = *file.node.nics;
  if (used >= count) return;
  const auto renumbered = [&](DeviceName& device) {
    if (device.kind != DeviceKind::nic) return true;
    const std::optional<int> number = new_number(device.number, count, used);
    if (number) device.number = *number;
    return number.has_value();
  };
  for (std::vector<DevicePair>& entry : pairs) {
    std::erase_if(entry, [&](DevicePair& pair) {
      const bool has_one = renumbered(pair.one);
      return !renumbered(pair.other) || !has_one;
    });
  }
  count = used;
}

}  // namespace trainyard
