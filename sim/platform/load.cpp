#include "platform/load.hpp"

#include "config/problems.hpp"
#include "config/read.hpp"
#include "platform/gpus_in_use.hpp"
#include "platform/link_ends.hpp"
#include "platform/nics_in_use.hpp"
#include "platform/node_routes.hpp"
#include "platform/platform_checks.hpp"
#include "platform/platform_file.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace trainyard {
namespace {

/// A figure without a source gets the source of its entry and counts as specified.
template <class T>
Sourced<T> with_source(Sourced<T> figure, const std::string& source) {
  if (figure.provenance == Provenance::unstated && !source.empty()) {
    figure.provenance = Provenance::specified;
    figure.source = source;
  }
  return figure;
}

/// The result is assumed: nobody has specified or measured it.
void make_faster(Sourced<Bandwidth>& bandwidth, double speed) {
  bandwidth = {.value = speed * bandwidth.value,
               .provenance = Provenance::assumed,
               .source = fmt::format("node.speed: {} x {}", shortest(speed), human(bandwidth.value))};
}

/// More or fewer lanes, each as fast as before; assumed, as above.
void set_lanes(Link& link, int lanes) {
  if (lanes == link.lanes) return;
  for (Sourced<Bandwidth>* const rate : {&link.bandwidth, &link.effective}) {
    *rate = {.value = rate->value / link.lanes * lanes,
             .provenance = Provenance::assumed,
             .source = fmt::format("node.lanes: {} x {}", lanes, human(rate->value / link.lanes))};
  }
  link.lanes = lanes;
}

/// Whether a link has other lanes than are set for all.
bool changes_lanes(const NodeFile& node) {
  return node.lanes.nvlink && std::ranges::any_of(node.links, [&](const LinkFile& link) {
           return is_nvlink(link.kind) && link.lanes != *node.lanes.nvlink;
         });
}

Link build_link(const LinkFile& file, const NodeFile& node) {
  Link link{.kind = file.kind,
            .lanes = file.lanes,
            .bandwidth = with_source(file.bandwidth, file.source),
            .effective = with_source(file.bandwidth, file.source),
            .latency = with_source(file.latency, file.source)};
  if (file.effective) {
    link.effective = with_source(*file.effective, file.source);
  } else if (const Sourced<Bandwidth>* lane = effective_per_lane(node.effective, file.kind)) {
    link.effective = *lane;
    link.effective.value = lane->value * file.lanes;
  }
  if (node.lanes.nvlink && is_nvlink(file.kind)) set_lanes(link, *node.lanes.nvlink);
  if (const double speed = node.speed.*speed_key(file.kind); speed != 1) {
    make_faster(link.bandwidth, speed);
    make_faster(link.effective, speed);
  }
  return link;
}

using DeviceIds = std::map<DeviceName, DeviceId>;

DeviceIds add_devices(const NodeFile& file, NodeGraph& graph) {
  DeviceIds ids;
  const auto add = [&](DeviceKind kind, int count, const std::string& model,
                       bool host_bridge_per_port = false) {
    for (int number = 0; number < count; ++number) {
      const DeviceName name{kind, number};
      ids[name] = add_vertex(Device{kind, number, to_string(name), model, host_bridge_per_port}, graph);
    }
  };
  const NodeDevicesFile& devices = file.devices;
  if (file.gpus) add(DeviceKind::gpu, file.gpus->count, file.gpus->profile);
  add(DeviceKind::nvswitch, devices.nvswitch.count, devices.nvswitch.model);
  add(DeviceKind::cpu, devices.cpu.count, devices.cpu.model, devices.cpu.host_bridge_per_port);
  add(DeviceKind::pcie_switch, devices.pcie_switch.count, devices.pcie_switch.model);
  add(DeviceKind::nic, devices.nic.count, devices.nic.model);
  return ids;
}

Platform build(const PlatformFile& file, const std::vector<std::vector<DevicePair>>& pairs, Fabric fabric) {
  Platform platform;
  platform.name = file.name;
  platform.title = file.title.empty() ? file.name : file.title;
  platform.year = file.year;
  if (file.node.gpus) platform.gpu_profile = file.node.gpus->profile;
  if (const std::optional<ProcessorsFile>& processors = file.node.processors) {
    platform.ranks_on_processors = true;
    platform.gpu_profile = processors->profile;
    platform.memory_mode = processors->memory_mode;
  }
  const DeviceKind holds_ranks = platform.ranks_on_processors ? DeviceKind::cpu : DeviceKind::gpu;
  const DeviceIds ids = add_devices(file.node, platform.node);
  for (const auto& [name, id] : ids) {
    if (name.kind == holds_ranks) platform.gpus.push_back(id);
    if (name.kind == DeviceKind::nic) platform.nics.push_back(id);
    if (name.kind == DeviceKind::cpu) platform.cpus.push_back(id);
  }
  for (std::size_t entry = 0; entry < pairs.size(); ++entry) {
    const Link link = build_link(file.node.links[entry], file.node);
    for (const auto& [one, other] : pairs[entry]) add_edge(ids.at(one), ids.at(other), link, platform.node);
  }
  platform.speeds = used_speeds(file.node);
  if (changes_lanes(file.node)) platform.lanes = file.node.lanes;
  platform.has_peer_to_peer = file.node.peer_to_peer;
  if (file.node.effective.staged) platform.staged = *file.node.effective.staged;
  platform.fabric = std::move(fabric);
  platform.cores_per_cpu = file.node.devices.cpu.cores;
  platform.host_memory_bandwidth = file.node.devices.cpu.memory_bandwidth;
  if (const std::optional<StorageFile>& storage = file.node.storage) {
    platform.storage = storage->bandwidth;
    platform.shared_storage = storage->shared;
  }
  platform.host_launch = file.node.host.launch;
  platform.power = file.node.power.value_or(NodePower{});
  platform.price = file.node.price.value_or(NodePrice{});
  for (auto* price : {&platform.price.list, &platform.price.hour}) {
    if (*price) *price = with_source(**price, platform.price.source);
  }
  platform.sources = file.source;
  return platform;
}

// A machine with an unlinked device can be described, drawn and used with fewer ranks; only a run that needs
// it fails.
void warn_of_loose_gpus(const Platform& platform, config::Problems& problems) {
  const NodeRoutes routes = node_routes(platform);
  const auto name = [&](std::size_t gpu) { return platform.node[platform.gpus[gpu]].name; };
  for (std::size_t gpu = 1; gpu < platform.gpus.size(); ++gpu) {
    if (routes.gpu_to_gpu[0][gpu].reachable) continue;
    problems.warning(
        "node.links", fmt::format("{} cannot be reached from {}", name(gpu), name(0)),
        platform.ranks_on_processors ? "link both sockets" : "link it to a switch, a cpu or another GPU");
  }
  if (!platform.fabric.exists()) return;
  for (std::size_t gpu = 0; gpu < platform.gpus.size(); ++gpu) {
    if (routes.nearest_nic[gpu] >= 0) continue;
    problems.warning("node.links", fmt::format("{} cannot reach a NIC", name(gpu)),
                     platform.ranks_on_processors ? "link it to a nic or another socket"
                                                  : "link it over switches or a cpu to a nic");
  }
}

/// GPUs linked to an NVSwitch.
std::set<DeviceId> gpus_of(const NodeGraph& graph, DeviceId nvswitch) {
  std::set<DeviceId> gpus;
  for (auto [edge, end] = out_edges(nvswitch, graph); edge != end; ++edge) {
    if (graph[target(*edge, graph)].kind == DeviceKind::gpu) gpus.insert(target(*edge, graph));
  }
  return gpus;
}

// A message uses one path, so lanes to a second switch between the same GPUs would be idle.
void warn_of_parallel_nvswitches(const NodeGraph& graph, config::Problems& problems) {
  std::map<DeviceId, std::set<DeviceId>> gpus;
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind == DeviceKind::nvswitch) gpus[device] = gpus_of(graph, device);
  }
  for (auto one = gpus.begin(); one != gpus.end(); ++one) {
    for (auto other = std::next(one); other != gpus.end(); ++other) {
      std::vector<DeviceId> shared;
      std::ranges::set_intersection(one->second, other->second, std::back_inserter(shared));
      if (shared.size() < 2) continue;
      problems.warning("node.links",
                       fmt::format("{} and {} are joined by both {} and {}: messages use only the first",
                                   graph[shared[0]].name, graph[shared[1]].name, graph[one->first].name,
                                   graph[other->first].name),
                       "write one nvswitch with the lanes of both");
      return;
    }
  }
}

}  // namespace

Platform load_platform(const config::Document& document, std::vector<Diagnostic>* warnings) {
  std::vector<std::vector<DevicePair>> pairs;
  Fabric fabric;
  PlatformFile file;
  config::read<PlatformFile>(
      document,
      [&](const PlatformFile& read, config::Problems& problems) {
        check_platform_file(read, problems);
        check_nics_in_use(read, problems);
        pairs = link_ends(read.node, problems);
        file = read;
        leave_out_gpus(file, pairs, problems);
        leave_out_nics(file, pairs);
        fabric = read_fabric(file, problems);
      },
      warnings);

  Platform platform = build(file, pairs, std::move(fabric));
  config::Problems doubts(document);
  warn_of_loose_gpus(platform, doubts);
  warn_of_parallel_nvswitches(platform.node, doubts);
  doubts.finish(warnings);
  return platform;
}

}  // namespace trainyard
