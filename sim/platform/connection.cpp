#include "platform/connection.hpp"

#include "platform/node_routes.hpp"

#include <algorithm>
#include <optional>

namespace trainyard {
namespace {

bool is_xgmi(const NodeGraph& graph, const std::vector<DeviceId>& way) {
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    if (graph[edge(way[i], way[i + 1], graph).first].kind != LinkKind::xgmi) return false;
  }
  return true;
}

/// Lanes of the narrowest link of a path over NVLinks only; empty if it uses another link.
std::optional<int> nvlink_lanes(const NodeGraph& graph, const std::vector<DeviceId>& way) {
  std::optional<int> lanes;
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    const Link& link = graph[edge(way[i], way[i + 1], graph).first];
    if (!is_nvlink(link.kind)) return {};
    lanes = std::min(lanes.value_or(link.lanes), link.lanes);
  }
  return lanes;
}

}  // namespace

std::string connection(const Platform& platform, DeviceId one, DeviceId other) {
  if (one == other) return "X";
  const NodeGraph& graph = platform.node;
  const std::vector<DeviceId> way = devices_between(graph, one, other);
  if (way.empty()) return "-";
  if (is_xgmi(graph, way)) return "XGMI";
  if (const auto lanes = nvlink_lanes(graph, way)) return "NV" + std::to_string(*lanes);

  const auto is_cpu = [&](DeviceId device) { return graph[device].kind == DeviceKind::cpu; };
  const auto cpus = std::ranges::count_if(way, is_cpu);
  if (cpus > 1) return "SYS";
  if (cpus == 1) return graph[*std::ranges::find_if(way, is_cpu)].host_bridge_per_port ? "NODE" : "PHB";
  const auto bridges = std::ranges::count_if(
      way, [&](DeviceId device) { return graph[device].kind == DeviceKind::pcie_switch; });
  return bridges > 1 ? "PXB" : "PIX";
}

int nearest_cpu(const Platform& platform, DeviceId device) {
  const NodeGraph& graph = platform.node;
  int nearest = -1;
  std::size_t fewest = 0;
  for (DeviceId cpu = 0; cpu < num_vertices(graph); ++cpu) {
    if (graph[cpu].kind != DeviceKind::cpu) continue;
    const std::size_t length = devices_between(graph, device, cpu).size();
    if (length == 0 || (nearest >= 0 && length >= fewest)) continue;
    nearest = graph[cpu].number;
    fewest = length;
  }
  return nearest;
}

std::string connection_legend(bool has_xgmi) {
  return std::string("  X     the device itself\n") +
         (has_xgmi ? "  XGMI  links between AMD's GPUs, as rocm-smi names them\n"
                   : "  NV#   # bonded NVLink lanes, directly or through an NVSwitch\n") +
         "  PIX   PCIe, through one switch at most\n"
         "  PXB   PCIe, through several switches and no host bridge\n"
         "  PHB   PCIe, through one host bridge, usually the CPU's\n"
         "  NODE  PCIe, through two host bridges of one NUMA node\n"
         "  SYS   PCIe and the link between NUMA nodes (QPI, UPI, X-bus)\n";
}

}  // namespace trainyard
