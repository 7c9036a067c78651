#include "platform/platform_checks.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

constexpr Bandwidth little_for_nic{125e6};  // 1 Gbps

/// A key that only some kinds of fabric have.
struct KindKey {
  std::string_view name;
  bool is_there;
  std::vector<FabricKind> kinds;
  std::string_view required;  ///< hint if the key is missing; empty: the key is optional
};

std::vector<KindKey> kind_keys(const FabricFile& fabric) {
  using enum FabricKind;
  return {
      {"nodes_per_leaf", fabric.nodes_per_leaf.has_value(), {fat_tree}, ""},
      {"levels", !fabric.levels.empty(), {fat_tree}, ""},
      {"oversubscription", fabric.oversubscription.has_value(), {fat_tree, rail_optimised}, ""},
      {"nodes_per_rail", fabric.nodes_per_rail.has_value(), {rail_optimised}, "nodes_per_rail: 32"},
      {"pxn", fabric.pxn.has_value(), {rail_optimised}, ""},
      {"dimensions",
       !fabric.dimensions.empty(),
       {torus2d, torus3d},
       "dimensions: [8, 8] for torus2d, [4, 4, 4] for torus3d"},
      {"link", fabric.link.has_value(), {torus2d, torus3d}, "link: 100 Gbps"},
      {"groups", fabric.groups.has_value(), {dragonfly}, "groups: 8"},
      {"routers_per_group", fabric.routers_per_group.has_value(), {dragonfly}, "routers_per_group: 96"},
      {"nodes_per_router", fabric.nodes_per_router.has_value(), {dragonfly}, "nodes_per_router: 4"},
      {"local_link", fabric.local_link.has_value(), {dragonfly}, "local_link: 5.25 GB/s"},
      {"global_link", fabric.global_link.has_value(), {dragonfly}, "global_link: 100 GB/s"},
      {"switches", !fabric.switches.empty(), {custom}, ""},
      {"links",
       !fabric.links.empty(),
       {custom},
       "links: [{between: [\"node[0-3].nic0\", leaf0], bandwidth: 100 Gbps}]"},
  };
}

/// Keys of other kinds would have no effect, and a kind does not work without its own keys.
void check_kind_keys(const FabricFile& fabric, config::Problems& problems) {
  const std::string_view kind = config::name_of(fabric.kind);
  for (const KindKey& key : kind_keys(fabric)) {
    const std::string path = fmt::format("fabric.{}", key.name);
    const bool belongs = std::ranges::find(key.kinds, fabric.kind) != key.kinds.end();
    if (key.is_there && !belongs) {
      std::vector<std::string_view> kinds;
      for (const FabricKind other : key.kinds) kinds.push_back(config::name_of(other));
      problems.error(path, fmt::format("'{}' does not apply to a fabric of kind {}", key.name, kind),
                     fmt::format("kind: {}", fmt::join(kinds, " or kind: ")));
    } else if (!key.is_there && belongs && !key.required.empty() && problems.readable(path)) {
      problems.error(path, fmt::format("key '{}' is missing", key.name), std::string(key.required));
    }
  }
  const bool has_hops = fabric.kind != FabricKind::single_switch && fabric.kind != FabricKind::custom;
  const bool needs_hops = fabric.kind == FabricKind::torus2d || fabric.kind == FabricKind::torus3d ||
                          fabric.kind == FabricKind::dragonfly;
  if (fabric.hop_latency && !has_hops) {
    problems.error("fabric.hop_latency",
                   fmt::format("'hop_latency' does not apply to a fabric of kind {}", kind),
                   fabric.kind == FabricKind::custom ? "give its links a latency" : "include it in latency");
  } else if (!fabric.hop_latency && needs_hops && problems.readable("fabric.hop_latency")) {
    problems.error("fabric.hop_latency", "key 'hop_latency' is missing", "hop_latency: 0.1 us");
  }
}

void check_levels(const FabricFile& fabric, config::Problems& problems) {
  if (!problems.readable("fabric.levels") || fabric.levels.empty()) return;
  if (fabric.nodes_per_leaf || fabric.oversubscription) {
    problems.error(fabric.nodes_per_leaf ? "fabric.nodes_per_leaf" : "fabric.oversubscription",
                   "'levels' already states this for each level",
                   "levels: [{nodes_per_switch: 16, oversubscription: 2}], or nodes_per_leaf and "
                   "oversubscription alone");
  }
  for (std::size_t i = 1; i < fabric.levels.size(); ++i) {
    const int below = fabric.levels[i - 1].nodes_per_switch.value;
    const int here = fabric.levels[i].nodes_per_switch.value;
    if (here > below && here % below == 0) continue;
    problems.error(
        fmt::format("fabric.levels[{}].nodes_per_switch", i),
        fmt::format("{} nodes are no multiple of the {} nodes per switch of the level below", here, below),
        fmt::format("nodes_per_switch: {}, {}, ...", 2LL * below, 3LL * below));
  }
}

void check_torus(const FabricFile& fabric, config::Problems& problems) {
  if (!problems.readable("fabric.dimensions") || fabric.dimensions.empty()) return;
  const std::size_t wanted = fabric.kind == FabricKind::torus2d ? 2 : 3;
  if (fabric.dimensions.size() != wanted) {
    problems.error("fabric.dimensions",
                   fmt::format("a {} has {} dimensions, not {}", config::name_of(fabric.kind), wanted,
                               fabric.dimensions.size()),
                   wanted == 2 ? "dimensions: [8, 8]" : "dimensions: [4, 4, 4]");
    return;
  }
  double routers = 1;
  for (const int size : fabric.dimensions) routers *= size;
  if (routers > config::most_nodes) {
    problems.error("fabric.dimensions", fmt::format("the torus has {} routers", routers),
                   fmt::format("{} at most", config::most_nodes));
  }
}

void check_dragonfly(const FabricFile& fabric, config::Problems& problems) {
  if (!fabric.groups || !fabric.routers_per_group || !fabric.nodes_per_router) return;
  for (const char* path : {"fabric.groups", "fabric.routers_per_group", "fabric.nodes_per_router"}) {
    if (!problems.readable(path)) return;
  }
  const double groups = fabric.groups->value;
  const double routers = fabric.routers_per_group->value;
  const double links = groups * (routers * (routers - 1) + groups - 1);
  constexpr double most_links = 1 << 24;
  if (links > most_links || groups * routers * fabric.nodes_per_router->value > config::most_nodes) {
    problems.error(
        "fabric.routers_per_group",
        fmt::format("{} groups of {} routers with {} nodes have {} nodes and {} links", groups, routers,
                    fabric.nodes_per_router->value, groups * routers * fabric.nodes_per_router->value, links),
        fmt::format("{} nodes and {} links at most", config::most_nodes, most_links));
  }
}

void check_nic(const PlatformFile& file, config::Problems& problems) {
  const FabricFile& fabric = *file.fabric;
  if (!fabric.nic) {
    problems.error("fabric.nic", "key 'nic' is missing", "nic: 100 Gbps (bits) or 12.5 GB/s (bytes)");
  } else if (fabric.nic->value < little_for_nic) {
    problems.warning("fabric.nic", fmt::format("{} is low for a NIC", human(fabric.nic->value)),
                     "bits or bytes, M or G? 100 Gbps is 12.5 GB/s");
  }
  if (!fabric.latency) problems.error("fabric.latency", "key 'latency' is missing", "latency: 2 us");
  if (fabric.nic && fabric.per_flow && problems.readable("fabric.nic") &&
      problems.readable("fabric.per_flow") && fabric.per_flow->value > fabric.nic->value) {
    problems.warning("fabric.per_flow", fmt::format("no effect: {} per connection is more than the NIC's {}",
                                                    human(fabric.per_flow->value), human(fabric.nic->value)));
  }
  if (file.node.devices.nic.count == 0 && problems.readable("node.devices.nic")) {
    problems.error("fabric", "a fabric needs NICs, and the node has none", "node.devices: {nic: {count: 1}}");
  }
  if (!fabric.gpudirect.value && file.node.devices.cpu.count == 0 && problems.readable("node.devices.cpu")) {
    problems.error("fabric.gpudirect", "data goes through host memory, but the node has no cpu",
                   "node.devices: {cpu: {count: 1}}, or gpudirect: true");
  }
}

}  // namespace

void check_fabric(const PlatformFile& file, config::Problems& problems) {
  if (!file.fabric || file.fabric->kind == FabricKind::none || !problems.readable("fabric.kind")) return;
  check_nic(file, problems);
  check_kind_keys(*file.fabric, problems);
  if (file.fabric->kind == FabricKind::fat_tree) check_levels(*file.fabric, problems);
  if (file.fabric->kind == FabricKind::torus2d || file.fabric->kind == FabricKind::torus3d)
    check_torus(*file.fabric, problems);
  if (file.fabric->kind == FabricKind::dragonfly) check_dragonfly(*file.fabric, problems);
}

Fabric build_fabric(const std::optional<FabricFile>& file, CustomShape custom) {
  Fabric fabric;
  if (!file || file->kind == FabricKind::none) return fabric;
  fabric.kind = file->kind;
  fabric.transport = file->transport;
  fabric.nic = *file->nic;
  const bool is_as_specified = file->efficiency == FabricFile{}.efficiency;
  fabric.effective = is_as_specified ? *file->nic
                                     : Sourced<Bandwidth>{.value = file->nic->value * file->efficiency.value,
                                                          .provenance = file->efficiency.provenance,
                                                          .source = file->efficiency.source};
  fabric.latency = *file->latency;
  fabric.gpudirect = file->gpudirect;
  const auto take = [](auto& target, const auto& given) {
    if (given) target = *given;
  };
  take(fabric.per_flow, file->per_flow);
  take(fabric.hop_latency, file->hop_latency);
  fabric.levels = file->levels;
  if (fabric.kind == FabricKind::fat_tree && file->levels.empty()) {
    fabric.levels.emplace_back();
    take(fabric.levels.front().nodes_per_switch, file->nodes_per_leaf);
    take(fabric.levels.front().oversubscription, file->oversubscription);
  }
  take(fabric.rail.nodes_per_rail, file->nodes_per_rail);
  if (fabric.kind == FabricKind::rail_optimised) take(fabric.rail.oversubscription, file->oversubscription);
  take(fabric.rail.pxn, file->pxn);
  fabric.torus.dimensions = file->dimensions;
  take(fabric.torus.link, file->link);
  take(fabric.dragonfly.groups, file->groups);
  take(fabric.dragonfly.routers_per_group, file->routers_per_group);
  take(fabric.dragonfly.nodes_per_router, file->nodes_per_router);
  take(fabric.dragonfly.local_link, file->local_link);
  take(fabric.dragonfly.global_link, file->global_link);
  fabric.custom = std::move(custom);
  return fabric;
}

}  // namespace trainyard
