#include "platform/link_ends.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// Both ends of an entry; fewer than two if one could not be read.
std::vector<DeviceList> read_ends(const LinkFile& link, const std::string& path, const DeviceCounts& counts,
                                  config::Problems& problems) {
  std::vector<DeviceList> ends;
  if (!problems.readable(path)) return ends;
  if (link.between.size() != 2) {
    problems.error(path, fmt::format("a link has two ends, not {}", link.between.size()),
                   "between: [\"gpu[0-15]\", nvswitch]");
    return ends;
  }
  for (std::size_t end = 0; end < 2; ++end) {
    const auto parsed = parse_devices(link.between[end], counts);
    if (const auto* list = std::get_if<DeviceList>(&parsed)) {
      ends.push_back(*list);
    } else {
      const auto& wrong = std::get<PatternError>(parsed);
      problems.error(fmt::format("{}[{}]", path, end), wrong.message, wrong.hint);
    }
  }
  return ends;
}

/// Every device of one list with every device of the other; each pair once if the lists are equal.
std::vector<DevicePair> all_pairs(const DeviceList& ones, const DeviceList& opposite) {
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < ones.numbers.size(); ++i) {
    const bool is_same_list = ones == opposite && ones.numbers.size() > 1;
    for (std::size_t j = is_same_list ? i + 1 : 0; j < opposite.numbers.size(); ++j) {
      pairs.push_back({{ones.kind, ones.numbers[i]}, {opposite.kind, opposite.numbers[j]}});
    }
  }
  return pairs;
}

/// The longer list distributed over the shorter in equal runs; empty if that leaves a remainder.
std::vector<DevicePair> pairs_in_order(const DeviceList& ones, const DeviceList& opposite) {
  const std::size_t count = std::max(ones.numbers.size(), opposite.numbers.size());
  if (count % ones.numbers.size() != 0 || count % opposite.numbers.size() != 0) return {};
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back({{ones.kind, ones.numbers[i / (count / ones.numbers.size())]},
                     {opposite.kind, opposite.numbers[i / (count / opposite.numbers.size())]}});
  }
  return pairs;
}

}  // namespace

std::string to_string(DeviceName device) {
  return fmt::format("{}{}", config::name_of(device.kind), device.number);
}

DeviceCounts device_counts(const NodeFile& node, const config::Problems& problems) {
  const NodeDevicesFile& devices = node.devices;
  DeviceCounts counts(config::Names<DeviceKind>::table.size(), 0);
  const auto set = [&](DeviceKind kind, int count, const std::string& path) {
    counts[static_cast<std::size_t>(kind)] = problems.readable(path) ? count : -1;
  };
  set(DeviceKind::gpu, !node.gpus ? 0 : node.gpus->count > 0 ? node.gpus->count : -1, "node.gpus");
  set(DeviceKind::nvswitch, devices.nvswitch.count, "node.devices.nvswitch");
  set(DeviceKind::cpu, devices.cpu.count, "node.devices.cpu");
  set(DeviceKind::pcie_switch, devices.pcie_switch.count, "node.devices.pcie_switch");
  set(DeviceKind::nic, devices.nic.count, "node.devices.nic");
  return counts;
}

std::vector<std::vector<DevicePair>> link_ends(const NodeFile& node, config::Problems& problems) {
  DeviceCounts counts = device_counts(node, problems);
  if (problems.is_set(gpu_count_key)) counts[static_cast<std::size_t>(DeviceKind::gpu)] = -1;
  std::vector<std::vector<DevicePair>> result;
  LinkedBy<DeviceName> linked_by;
  for (std::size_t entry = 0; entry < node.links.size(); ++entry) {
    const LinkFile& link = node.links[entry];
    const std::string path = fmt::format("node.links[{}].between", entry);
    result.emplace_back();
    const std::vector<DeviceList> ends = read_ends(link, path, counts, problems);
    if (ends.size() != 2) continue;
    std::vector<DevicePair> pairs =
        link.pairing == Pairing::all ? all_pairs(ends[0], ends[1]) : pairs_in_order(ends[0], ends[1]);
    if (pairs.empty()) {
      problems.error(path,
                     fmt::format("{} devices cannot be distributed equally over {}",
                                 std::max(ends[0].numbers.size(), ends[1].numbers.size()),
                                 std::min(ends[0].numbers.size(), ends[1].numbers.size())),
                     "use lists whose lengths divide each other, or pairing: all");
      continue;
    }
    const auto name = [](DeviceName device) { return to_string(device); };
    const bool is_sound = std::ranges::all_of(pairs, [&](const DevicePair& pair) {
      return check_pair(pair.one, pair.other, entry, "node.links", linked_by, path,
                        "write one entry with more lanes", name, problems);
    });
    if (is_sound) result.back() = std::move(pairs);
  }
  return result;
}

}  // namespace trainyard
