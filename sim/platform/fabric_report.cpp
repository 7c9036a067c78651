#include "platform/fabric_report.hpp"

#include "platform/names.hpp"

#include <fmt/format.h>
#include <string>

namespace trainyard {
namespace {

template <class T>
std::string counted(const Sourced<T>& count, Footnotes& notes) {
  return fmt::format("{} {}", shortest(static_cast<double>(count.value)), notes.mark(count));
}

// One statement per figure: the order of the notes must not depend on the compiler.

std::string level_line(const TreeLevel& level, const std::string& what, Footnotes& notes) {
  std::string line = fmt::format("  {} switches of {} nodes {},", what, level.nodes_per_switch.value,
                                 notes.mark(level.nodes_per_switch));
  line += " oversubscription " + counted(level.oversubscription, notes);
  return line + '\n';
}

std::string tree_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text;
  for (std::size_t i = 0; i < fabric.levels.size(); ++i) {
    const std::string spine = fabric.levels.size() > 2 ? fmt::format("spine{}", i) : "spine";
    text += level_line(fabric.levels[i], i == 0 ? "leaf" : spine, notes);
  }
  return text;
}

std::string rail_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text = "  one switch per NIC number, shared by ";
  text += counted(fabric.rail.nodes_per_rail, notes);
  text += " nodes, oversubscription ";
  text += counted(fabric.rail.oversubscription, notes);
  text += fmt::format("\n  data for another rail goes {} ",
                      fabric.rail.pxn.value ? "over NVLink to the GPU near its NIC (PXN)" : "over the spine");
  return text + notes.mark(fabric.rail.pxn) + '\n';
}

std::string torus_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text =
      fmt::format("  {} routers, one per node, with links of ", fmt::join(fabric.torus.dimensions, " x "));
  return text + figure(fabric.torus.link, notes) + '\n';
}

std::string dragonfly_lines(const Fabric& fabric, Footnotes& notes) {
  const DragonflyShape& shape = fabric.dragonfly;
  std::string text = "  ";
  text += counted(shape.groups, notes) + " groups of ";
  text += counted(shape.routers_per_group, notes) + " routers with ";
  text += counted(shape.nodes_per_router, notes) + " nodes each\n  links of ";
  text += figure(shape.local_link, notes) + " between routers of a group, ";
  text += figure(shape.global_link, notes) + " between groups\n";
  return text;
}

std::string custom_lines(const Fabric& fabric, Footnotes& notes) {
  const CustomShape& shape = fabric.custom;
  std::string text = fmt::format("  {} switches, {} links, {} nodes\n", shape.switches.size(),
                                 shape.links.size(), shape.nodes);
  constexpr std::size_t most_lines = 40;
  const auto name = [&](const CustomEnd& end) { return end_name(end, shape.switches); };
  for (std::size_t i = 0; i < shape.links.size(); ++i) {
    if (i == most_lines) return text + fmt::format("  ... and {} more\n", shape.links.size() - i);
    const CustomLink& link = shape.links[i];
    text += fmt::format("  {} - {}: ", name(link.one), name(link.other)) + figure(link.bandwidth, notes);
    text += ", " + human(link.latency.value) + '\n';
  }
  return text;
}

std::string shape_lines(const Fabric& fabric, Footnotes& notes) {
  switch (fabric.kind) {
    case FabricKind::fat_tree:
      return tree_lines(fabric, notes);
    case FabricKind::rail_optimised:
      return rail_lines(fabric, notes);
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      return torus_lines(fabric, notes);
    case FabricKind::dragonfly:
      return dragonfly_lines(fabric, notes);
    case FabricKind::custom:
      return custom_lines(fabric, notes);
    case FabricKind::none:
    case FabricKind::single_switch:
      break;
  }
  return "  one switch\n";
}

}  // namespace

std::string fabric_lines(const Platform& platform, Footnotes& notes) {
  const Fabric& fabric = platform.fabric;
  if (fabric.kind == FabricKind::none) return "";
  std::string text = shape_lines(fabric, notes);
  if (fabric.hop_latency.value > Seconds{}) {
    text += "  each link between switches or routers adds " + figure(fabric.hop_latency, notes) + '\n';
  }
  text += fmt::format("  transport {}", config::name_of(fabric.transport));
  const bool is_capped = fabric.per_flow.value.si() < std::numeric_limits<double>::infinity();
  if (is_capped) text += ", at most " + figure(fabric.per_flow, notes) + " per connection";
  text += fmt::format("\n  NICs access GPU memory {} {}\n",
                      fabric.gpudirect.value ? "directly (GPUDirect)" : "through host memory",
                      notes.mark(fabric.gpudirect));
  return text;
}

}  // namespace trainyard
