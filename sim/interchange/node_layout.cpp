#include "interchange/node_layout.hpp"

#include "config/fields.hpp"
#include "platform/names.hpp"
#include "platform/plausible_limits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// The devices from a device to its socket, itself first.
std::vector<int> way_up(const NodeLayout& layout, int place) {
  std::vector<int> way;
  for (int at = place; at >= 0; at = layout.devices[at].parent) way.push_back(at);
  return way;
}

}  // namespace

std::vector<int> NodeLayout::of_kind(DeviceKind kind) const {
  std::vector<int> places;
  for (int place = 0; place < std::ssize(devices); ++place) {
    if (devices[place].kind == kind) places.push_back(place);
  }
  return places;
}

int NodeLayout::count(DeviceKind kind) const {
  return static_cast<int>(std::ranges::count(devices, kind, &LayoutDevice::kind));
}

int NodeLayout::socket_of(int place) const {
  while (devices[place].parent >= 0) place = devices[place].parent;
  return place;
}

std::string_view pcie_connection(const NodeLayout& layout, int one, int other) {
  const std::vector<int> first = way_up(layout, one);
  const std::vector<int> second = way_up(layout, other);
  const auto meets =
      std::ranges::find_if(first, [&](int at) { return std::ranges::find(second, at) != second.end(); });
  if (meets == first.end()) return "SYS";
  if (layout.devices[*meets].kind == DeviceKind::cpu) return layout.host_bridge_per_port ? "NODE" : "PHB";
  const auto below = std::ranges::find(second, *meets) - second.begin();
  const auto switches = (meets - first.begin()) + below - 1;
  return switches <= 1 ? "PIX" : "PXB";
}

InputError too_many_devices(const std::string& file) {
  return input_error(file, 0, fmt::format("more than {} devices", most_layout_devices),
                     "a node has at most 256 of a kind");
}

void check_counts(const NodeLayout& layout, const std::string& file) {
  if (layout.count(DeviceKind::gpu) == 0) {
    throw input_error(file, 0, "the file names no GPU",
                      "write it on a node with GPUs, or answer without a file: trainyard init platform "
                      "--gpus 8 --gpu PROFILE");
  }
  for (const auto& kind : config::Names<DeviceKind>::table) {
    const int count = layout.count(kind.value);
    if (count > config::most_count) {
      throw input_error(file, 0, fmt::format("{} devices of kind {}", count, kind.text),
                        fmt::format("a node has at most {} of a kind", config::most_count));
    }
  }
}

std::string gpu_name(const NodeLayout& layout, int place) {
  const std::vector<int> gpus = layout.of_kind(DeviceKind::gpu);
  return fmt::format("gpu{}", std::ranges::find(gpus, place) - gpus.begin());
}

}  // namespace trainyard
