#pragma once
// The devices joined by the link entries of a platform file, and the errors of entries that join none.

#include "config/problems.hpp"
#include "platform/device_pattern.hpp"
#include "platform/platform_file.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

/// A device of the node by kind and number within the kind.
struct DeviceName {
  DeviceKind kind{};
  int number = 0;

  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

/// "gpu3".
std::string to_string(DeviceName device);

/// One link of the node.
struct DevicePair {
  DeviceName one;
  DeviceName other;
};

/// Number of devices of each kind in the file; -1 if it could not be read.
DeviceCounts device_counts(const NodeFile& node, const config::Problems& problems);

/// For each entry of node.links, the pairs it joins, in the order of the lists. Reports unknown and missing
/// devices, lists of unequal lengths, self-links and pairs linked twice; the entry then has no pairs.
std::vector<std::vector<DevicePair>> link_ends(const NodeFile& node, config::Problems& problems);

}  // namespace trainyard
