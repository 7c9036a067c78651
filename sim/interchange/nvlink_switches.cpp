#include "interchange/nvlink_switches.hpp"

#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace trainyard {
namespace {

constexpr int most_nvlinks = 18;  // of a GPU, of any generation up to 5

int own_nvlinks(const KnownGpu* gpu) {
  return gpu != nullptr && gpu->nvlink_lanes > 0 ? gpu->nvlink_lanes : most_nvlinks;
}

/// GPUs that all have as many NVLinks to each other as one of them has in all: a crossbar joins them. Returns
/// a comment.
std::string put_on_switches(NodeLayout& layout, const KnownGpu* gpu, const std::set<int>& members,
                            int crossbar, const std::map<int, std::set<int>>& peers, int listed) {
  std::vector<GpuLink>& links = layout.gpu_links;
  const auto is_inside = [&](const GpuLink& link) {
    return members.contains(link.one) && members.contains(link.other);
  };
  const int lanes = std::ranges::find_if(links, is_inside)->lanes;
  const bool are_all_joined = std::ranges::all_of(members, [&](int member) {
    std::set<int> with_itself = peers.at(member);
    with_itself.insert(member);
    return with_itself == members;
  });
  const bool are_equal = std::ranges::all_of(
      links, [&](const GpuLink& link) { return !is_inside(link) || link.lanes == lanes; });
  const bool is_too_many = gpu != nullptr && gpu->nvlink_lanes > 0 && lanes > gpu->nvlink_lanes;
  if (!are_all_joined || !are_equal || is_too_many) {
    throw InputError(
        fmt::format("{}: {} has {} to other GPUs, more than the {} of a GPU", layout.origin,
                    gpu_name(layout, *members.begin()), plural(listed, "NVLink"), own_nvlinks(gpu)),
        fmt::format("--nvlink {} for all GPUs on NVSwitches, in place of the file's", own_nvlinks(gpu)));
  }
  std::erase_if(links, is_inside);
  for (const int member : members) links.push_back({member, crossbar, lanes});
  return fmt::format(
      "{} between all pairs{} are more than a GPU has: NVSwitches, as one crossbar", plural(lanes, "NVLink"),
      std::ssize(members) == layout.count(DeviceKind::gpu) ? std::string()
                                                           : fmt::format(" of {} GPUs", members.size()));
}

}  // namespace

bool is_to_socket(const NodeLayout& layout, const GpuLink& link) {
  return link.other >= 0 && layout.devices[link.other].kind == DeviceKind::cpu;
}

std::vector<std::string> join_through_switches(NodeLayout& layout, const KnownGpu* gpu) {
  std::vector<std::string> comments;
  std::map<int, std::set<int>> peers;  // of each GPU with NVLinks to others
  std::map<int, int> lanes_of;
  for (const GpuLink& link : layout.gpu_links) {
    if (link.other < 0 || is_to_socket(layout, link)) continue;
    peers[link.one].insert(link.other);
    peers[link.other].insert(link.one);
    lanes_of[link.one] += link.lanes;
    lanes_of[link.other] += link.lanes;
  }
  std::set<int> done;
  int next_switch = GpuLink::to_switches;
  for (const auto& [member, linked] : peers) {
    if (done.contains(member) || lanes_of[member] <= own_nvlinks(gpu)) continue;
    std::set<int> members = linked;
    members.insert(member);
    comments.push_back(put_on_switches(layout, gpu, members, next_switch--, peers, lanes_of[member]));
    done.insert(members.begin(), members.end());
  }
  return comments;
}

}  // namespace trainyard
