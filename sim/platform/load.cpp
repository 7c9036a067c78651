#include "platform/load.hpp"

#include "config/problems.hpp"
#include "config/read.hpp"
#include "platform/link_ends.hpp"
#include "platform/node_routes.hpp"
#include "platform/platform_checks.hpp"
#include "platform/platform_file.hpp"

#include <fmt/format.h>
#include <map>
#include <string>

namespace trainyard {
namespace {

/// A figure that names no source of its own has that of its entry, which then is a specification.
template <class T>
Sourced<T> with_source(Sourced<T> figure, const std::string& source) {
  if (figure.provenance == Provenance::unstated && !source.empty()) {
    figure.provenance = Provenance::specified;
    figure.source = source;
  }
  return figure;
}

Link build_link(const LinkFile& file, const EffectiveFile& effective) {
  Link link{.kind = file.kind,
            .lanes = file.lanes,
            .bandwidth = with_source(file.bandwidth, file.source),
            .effective = with_source(file.bandwidth, file.source),
            .latency = with_source(file.latency, file.source)};
  if (file.effective) {
    link.effective = with_source(*file.effective, file.source);
  } else if (const Sourced<Bandwidth>* lane = effective_per_lane(effective, file.kind)) {
    link.effective = *lane;
    link.effective.value = lane->value * file.lanes;
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
  add(DeviceKind::gpu, file.gpus.count, file.gpus.profile);
  add(DeviceKind::nvswitch, devices.nvswitch.count, devices.nvswitch.model);
  add(DeviceKind::cpu, devices.cpu.count, devices.cpu.model, devices.cpu.host_bridge_per_port);
  add(DeviceKind::pcie_switch, devices.pcie_switch.count, devices.pcie_switch.model);
  add(DeviceKind::nic, devices.nic.count, devices.nic.model);
  return ids;
}

Fabric build_fabric(const std::optional<FabricFile>& file) {
  Fabric fabric;
  if (!file || file->kind == FabricKind::none) return fabric;
  fabric.kind = file->kind;
  fabric.nic = *file->nic;
  const bool is_as_specified = file->efficiency == FabricFile{}.efficiency;
  fabric.effective = is_as_specified ? *file->nic
                                     : Sourced<Bandwidth>{.value = file->nic->value * file->efficiency.value,
                                                          .provenance = file->efficiency.provenance,
                                                          .source = file->efficiency.source};
  fabric.latency = *file->latency;
  fabric.nodes_per_leaf = file->nodes_per_leaf;
  fabric.oversubscription = file->oversubscription;
  return fabric;
}

Platform build(const PlatformFile& file, const std::vector<std::vector<DevicePair>>& pairs) {
  Platform platform;
  platform.name = file.name;
  platform.title = file.title;
  platform.gpu_profile = file.node.gpus.profile;
  const DeviceIds ids = add_devices(file.node, platform.node);
  for (const auto& [name, id] : ids) {
    if (name.kind == DeviceKind::gpu) platform.gpus.push_back(id);
    if (name.kind == DeviceKind::nic) platform.nics.push_back(id);
  }
  for (std::size_t entry = 0; entry < pairs.size(); ++entry) {
    const Link link = build_link(file.node.links[entry], file.node.effective);
    for (const auto& [one, other] : pairs[entry]) add_edge(ids.at(one), ids.at(other), link, platform.node);
  }
  platform.fabric = build_fabric(file.fabric);
  if (file.node.power) platform.power_max = file.node.power->max;
  if (file.node.price) {
    platform.price = with_source(file.node.price->list, file.node.price->source);
    platform.price_date = file.node.price->date;
  }
  platform.sources = file.source;
  return platform;
}

// A machine with a loose GPU can be described, drawn and used with fewer ranks; only a run that needs the GPU
// fails.
void warn_of_loose_gpus(const Platform& platform, config::Problems& problems) {
  const NodeRoutes routes = node_routes(platform);
  const auto name = [&](std::size_t gpu) { return platform.node[platform.gpus[gpu]].name; };
  for (std::size_t gpu = 1; gpu < platform.gpus.size(); ++gpu) {
    if (routes.gpu_to_gpu[0][gpu].reachable) continue;
    problems.warning("node.links", fmt::format("{} cannot be reached from {}", name(gpu), name(0)),
                     "a link to a switch, a cpu or another GPU");
  }
  if (platform.fabric.kind == FabricKind::none) return;
  for (std::size_t gpu = 0; gpu < platform.gpus.size(); ++gpu) {
    if (routes.nearest_nic[gpu] >= 0) continue;
    problems.warning("node.links", fmt::format("{} cannot reach a NIC", name(gpu)),
                     "links from the GPU over switches or a cpu to a nic");
  }
}

}  // namespace

Platform load_platform(const config::Document& document, std::vector<Diagnostic>* warnings) {
  std::vector<std::vector<DevicePair>> pairs;
  const auto file = config::read<PlatformFile>(
      document,
      [&](const PlatformFile& read, config::Problems& problems) {
        check_platform_file(read, problems);
        pairs = link_ends(read.node, problems);
      },
      warnings);

  Platform platform = build(file, pairs);
  config::Problems doubts(document);
  warn_of_loose_gpus(platform, doubts);
  doubts.finish(warnings);
  return platform;
}

}  // namespace trainyard
