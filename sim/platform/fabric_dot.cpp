#include "platform/fabric_report.hpp"
#include "platform/names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace trainyard {
namespace {

constexpr std::string_view box_look = "fillcolor=\"#e3eefa\"";
constexpr std::string_view plain_look = "shape=plaintext, style=\"\", fillcolor=none";

/// The text so far, and the entry points for the drawn node: one name per NIC.
struct Drawing {
  std::string colour;
  std::vector<std::string> entries;
  std::string text = {};

  void box(const std::string& name, const std::string& label) {
    text += fmt::format("  {} [label=\"{}\", {}];\n", name, label, box_look);
  }
  void others(const std::string& name, const std::string& label) {
    text += fmt::format("  {} [label=\"{}\", {}];\n", name, label, plain_look);
  }
  void line(const std::string& from, const std::string& to, const std::string& label = "",
            const std::string& more = "") {
    text += fmt::format("  {} -> {} [color=\"{}\"{}{}];\n", from, to, colour,
                        label.empty() ? "" : fmt::format(", label=\"{}\"", label), more);
  }
};

void draw_switch(const Platform& platform, Drawing& drawing) {
  drawing.box("fabric", "switch");
  drawing.others("others", "other nodes");
  drawing.line("fabric", "others");
  drawing.entries.assign(platform.nics.size(), "fabric");
}

void draw_tree(const Platform& platform, Drawing& drawing) {
  const std::vector<TreeLevel>& levels = platform.fabric.levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string kind = i == 0 ? "leaf" : levels.size() > 2 ? fmt::format("spine{}.", i) : "spine";
    const std::string above = i + 1 == levels.size() ? "core" : fmt::format("level{}_0", i + 1);
    const double over = levels[i].oversubscription.value;
    const std::string label = over > 1 ? fmt::format("{} : 1", shortest(over)) : "";
    for (int k = 0; k < 2; ++k) {
      const std::string name = fmt::format("level{}_{}", i, k);
      drawing.box(name, fmt::format("{}{}\\n{} nodes", kind, k, levels[i].nodes_per_switch.value));
      drawing.line(name, above, label);
    }
    const std::string more = fmt::format("level{}_more", i);
    drawing.others(more, "...");
    drawing.line(more, above);
  }
  drawing.box("core", "core");
  drawing.entries.assign(platform.nics.size(), "level0_0");
}

void draw_rails(const Platform& platform, Drawing& drawing) {
  const RailShape& rail = platform.fabric.rail;
  const double over = rail.oversubscription.value;
  for (std::size_t k = 0; k < platform.nics.size(); ++k) {
    const std::string name = fmt::format("rail{}", k);
    drawing.box(name, fmt::format("{}\\n{} nodes", name, rail.nodes_per_rail.value));
    drawing.line(name, "spine", over > 1 && k == 0 ? fmt::format("{} : 1", shortest(over)) : "");
    drawing.entries.push_back(name);
  }
  drawing.box("spine", "spine");
  drawing.others("others", "other units");
  drawing.line("spine", "others");
}

/// Draws one plane near router 0, as a grid.
void draw_torus(const Platform& platform, Drawing& drawing) {
  const std::vector<int>& sizes = platform.fabric.torus.dimensions;
  const int columns = std::min(sizes[0], 4);
  const int rows = std::min(sizes[1], 4);
  const auto name = [](int x, int y) { return fmt::format("router{}_{}", x, y); };
  const auto label = [&](int x, int y) {
    return sizes.size() == 3 ? fmt::format("{}.{}.0", x, y) : fmt::format("{}.{}", x, y);
  };
  for (int y = 0; y < rows; ++y) {
    std::string row = "  {rank=same;";
    for (int x = 0; x < columns; ++x) {
      drawing.box(name(x, y), label(x, y));
      row += " " + name(x, y) + ";";
    }
    const std::string edge = fmt::format("edge{}", y);
    drawing.others(edge, columns < sizes[0] ? "..." : columns > 2 ? "around" : "");
    drawing.text += fmt::format("{} {};}}\n", row, edge);
    for (int x = 0; x + 1 < columns; ++x) drawing.line(name(x, y), name(x + 1, y));
    drawing.line(name(columns - 1, y), edge);
    for (int x = 0; y > 0 && x < columns; ++x) drawing.line(name(x, y - 1), name(x, y));
  }
  for (int x = 0; x < columns; ++x) {
    const std::string edge = fmt::format("below{}", x);
    drawing.others(edge, rows < sizes[1] ? "..." : rows > 2 ? "around" : "");
    drawing.line(name(x, rows - 1), edge);
  }
  if (sizes.size() == 3 && sizes[2] > 1) {
    drawing.others("planes", fmt::format("{} planes", sizes[2]));
    drawing.line(name(columns - 1, 0), "planes");
  }
  drawing.entries.assign(platform.nics.size(), name(0, 0));
}

void draw_dragonfly(const Platform& platform, Drawing& drawing) {
  const DragonflyShape& shape = platform.fabric.dragonfly;
  const int routers = std::min(shape.routers_per_group.value, 4);
  drawing.text += fmt::format(
      "  subgraph cluster_group0 {{ label=\"group 0: {} routers of {} nodes\"; labelloc=t; labeljust=l; "
      "style=rounded; color=\"{}\";\n",
      shape.routers_per_group.value, shape.nodes_per_router.value, drawing.colour);
  for (int k = 0; k < routers; ++k) drawing.box(fmt::format("router{}", k), fmt::format("router{}", k));
  drawing.text += "  }\n";
  for (int one = 0; one < routers; ++one) {
    for (int other = one + 1; other < routers; ++other)
      drawing.line(fmt::format("router{}", one), fmt::format("router{}", other), "", ", constraint=false");
  }
  const int groups = std::min(shape.groups.value, 4);
  std::string row = "  {rank=same;";
  for (int k = 1; k < groups; ++k) {
    drawing.box(fmt::format("group{}", k), fmt::format("group {}", k));
    row += fmt::format(" group{};", k);
    drawing.line(fmt::format("router{}", std::min(k, routers - 1)), fmt::format("group{}", k), "",
                 ", penwidth=2.5");
    for (int other = 1; other < k; ++other)
      drawing.line(fmt::format("group{}", other), fmt::format("group{}", k), "", ", penwidth=2.5");
  }
  if (groups > 1) drawing.text += row + "}\n";
  if (shape.groups.value > groups) {
    drawing.others("others", fmt::format("... {} groups", shape.groups.value));
    drawing.line(fmt::format("router{}", routers - 1), "others", "", ", penwidth=2.5");
  }
  drawing.entries.assign(platform.nics.size(), "router0");
}

/// Draws every switch, and its other nodes as one text.
void draw_custom(const Platform& platform, Drawing& drawing) {
  const CustomShape& shape = platform.fabric.custom;
  const auto name = [](int number) { return fmt::format("switch{}", number); };
  for (std::size_t k = 0; k < shape.switches.size(); ++k)
    drawing.box(name(static_cast<int>(k)), shape.switches[k]);
  drawing.entries.assign(platform.nics.size(), "");
  std::map<int, std::set<int>> nodes;
  for (const CustomLink& link : shape.links) {
    const auto& [one, other] = std::minmax(link.one, link.other);  // a NIC's switch number is -1
    if (one.switch_number >= 0) {
      // labels of many lines would hide each other; the report lists every link
      drawing.line(name(link.one.switch_number), name(link.other.switch_number),
                   shape.switches.size() <= 4 ? human(link.bandwidth.value) : "");
    } else if (other.switch_number >= 0 && one.node == 0) {
      drawing.entries[static_cast<std::size_t>(one.nic)] = name(other.switch_number);
    } else if (other.switch_number >= 0) {
      nodes[other.switch_number].insert(one.node);
    }
  }
  for (const auto& [at_switch, some] : nodes) {
    const std::string others = fmt::format("nodes{}", at_switch);
    drawing.others(others, some.size() == 1 ? fmt::format("node{}", *some.begin())
                                            : fmt::format("{} nodes", some.size()));
    drawing.line(name(at_switch), others);
  }
}

}  // namespace

std::string fabric_dot(const Platform& platform, const std::string& colour) {
  Drawing drawing{.colour = colour, .entries = {}};
  switch (platform.fabric.kind) {
    case FabricKind::none:
      return "";
    case FabricKind::single_switch:
      draw_switch(platform, drawing);
      break;
    case FabricKind::fat_tree:
      draw_tree(platform, drawing);
      break;
    case FabricKind::rail_optimised:
      draw_rails(platform, drawing);
      break;
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      draw_torus(platform, drawing);
      break;
    case FabricKind::dragonfly:
      draw_dragonfly(platform, drawing);
      break;
    case FabricKind::custom:
      draw_custom(platform, drawing);
      break;
  }
  // below the NVSwitches, so that only their links order the row above: both together would tangle it
  const NodeGraph& graph = platform.node;
  std::set<std::string> entries(drawing.entries.begin(), drawing.entries.end());
  entries.erase("");
  bool is_placed = false;
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::nvswitch) continue;
    for (const std::string& entry : entries)
      drawing.text += fmt::format("  {} -> {} [style=invis];\n", graph[device].name, entry);
    is_placed = true;
  }
  for (std::size_t nic = 0; nic < platform.nics.size(); ++nic) {
    if (drawing.entries[nic].empty()) continue;
    drawing.line(graph[platform.nics[nic]].name, drawing.entries[nic], "",
                 fmt::format(", penwidth=1.3, style=dashed{}", is_placed ? ", constraint=false" : ""));
  }
  return drawing.text;
}

}  // namespace trainyard
