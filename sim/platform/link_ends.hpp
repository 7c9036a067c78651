#pragma once
// The devices joined by the link entries of a platform file, and the errors of entries that join none.

#include "config/problems.hpp"
#include "platform/device_pattern.hpp"
#include "platform/platform_file.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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

/// By pair in ascending order: the entry that first linked it.
template <class End>
using LinkedBy = std::map<std::pair<End, End>, std::size_t>;

/// Reports at `path` a link between these ends if they are one, or if an earlier entry of `list` links them;
/// otherwise records the entry. `name` prints an end, `instead` is the hint for pairs linked twice.
template <class End, class Name>
bool check_pair(const End& one, const End& other, std::size_t entry, std::string_view list,
                LinkedBy<End>& linked_by, const std::string& path, std::string_view instead, const Name& name,
                config::Problems& problems) {
  if (one == other) {
    problems.error(path, name(one) + " is linked to itself", "name two different ends");
    return false;
  }
  const auto [first, is_new] = linked_by.try_emplace(std::minmax(one, other), entry);
  if (!is_new) {
    problems.error(
        path,
        fmt::format("{} and {} are already linked by {}[{}]", name(one), name(other), list, first->second),
        std::string(instead));
  }
  return is_new;
}

/// Number of devices of each kind in the file; -1 if it could not be read.
DeviceCounts device_counts(const NodeFile& node, const config::Problems& problems);

/// Key of the number of GPUs. Set from outside the file it leaves GPUs out (gpus_in_use.hpp), and links may
/// name more.
inline constexpr std::string_view gpu_count_key = "node.gpus.count";

/// For each entry of node.links, the pairs it joins, in the order of the lists. Reports unknown and missing
/// devices, lists of unequal lengths, self-links and pairs linked twice; the entry then has no pairs.
std::vector<std::vector<DevicePair>> link_ends(const NodeFile& node, config::Problems& problems);

}  // namespace trainyard
