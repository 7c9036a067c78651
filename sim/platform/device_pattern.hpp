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

/// Why a text names no devices, with what to write instead.
struct PatternError {
  std::string message;
  std::string hint;
};

/// How many devices of a kind a node has, indexed by DeviceKind; negative when that is not known because the
/// count itself could not be read.
using DeviceCounts = std::vector<int>;

/// The numbers of "0-3" or "0,2,8-15", in the order written; nothing if it is no such list.
std::optional<std::vector<int>> numbers_in_list(std::string_view list);

/// The devices a pattern means. A kind alone means its only device.
std::variant<DeviceList, PatternError> parse_devices(std::string_view pattern, const DeviceCounts& counts);

}  // namespace trainyard
