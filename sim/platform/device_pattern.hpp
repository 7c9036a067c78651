#pragma once
// The ends of a link entry in a platform file: "gpu3", "nvswitch", "gpu[0-7]", "gpu[0,2,8-15]".

#include "platform/platform.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

/// Some devices of one kind, by number within the kind, in the order written.
struct DeviceList {
  DeviceKind kind{};
  std::vector<int> numbers;

  friend bool operator==(const DeviceList&, const DeviceList&) = default;
};

/// Why a text names no devices, with a hint for correction.
struct PatternError {
  std::string message;
  std::string hint;
};

/// Number of devices of each kind in a node, indexed by DeviceKind; negative if unknown because the count
/// could not be read.
using DeviceCounts = std::vector<int>;

/// Larger than any count of devices in a file, small enough that a range of this size costs nothing.
inline constexpr int largest_device_number = 9999;

/// The numbers of "0-3" or "0,2,8-15", in the order written; empty if it is not such a list, has a number
/// above `largest`, or more numbers than there are from 0 to `largest`.
std::optional<std::vector<int>> numbers_in_list(std::string_view list, int largest = largest_device_number);

/// The devices that a pattern names. A kind without numbers names its only device.
std::variant<DeviceList, PatternError> parse_devices(std::string_view pattern, const DeviceCounts& counts);

}  // namespace trainyard
