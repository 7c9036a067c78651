#include "platform/fabric_report.hpp"
#include "platform/names.hpp"
#include "platform/parallel_links.hpp"
#include "platform/topology.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

std::string_view fill_colour(DeviceKind kind) {
  // by DeviceKind: GPU, CPU, NVSwitch, PCIe switch, NIC
  static constexpr std::array<std::string_view, 5> colours{"#cfe8c6", "#f6d9b8", "#8fce7c", "#ececec",
                                                           "#bfd9f2"};
  return colours.at(static_cast<std::size_t>(kind));
}

std::string_view line_colour(LinkKind kind) {
  if (is_nvlink(kind)) return "#4f9a3a";
  return is_pcie(kind) ? "#808080" : "#c0702a";
}

constexpr std::string_view fabric_colour = "#2f6fb0";

std::string dot_text(std::string text) {
  boost::replace_all(text, "\\", "\\\\");
  boost::replace_all(text, "\"", "\\\"");
  return text;
}

std::string in_html(std::string text) {
  boost::replace_all(text, "&", "&amp;");
  boost::replace_all(text, "<", "&lt;");
  boost::replace_all(text, ">", "&gt;");
  return text;
}

std::string device_line(const Device& device) {
  const bool shows_model = device.kind == DeviceKind::cpu || device.kind == DeviceKind::nvswitch;
  std::string label =
      device.kind == DeviceKind::pcie_switch ? fmt::format("PCIe\\n{}", device.number) : device.name;
  if (shows_model && !device.model.empty()) label += "\\n" + dot_text(device.model);
  return fmt::format("  {} [label=\"{}\", fillcolor=\"{}\"];\n", device.name, label,
                     fill_colour(device.kind));
}

/// Whether the link is part of the tree below a socket: any link but the NVLinks among GPUs and switches.
bool is_of_tree(const NodeGraph& graph, EdgeId edge) {
  const auto is_cpu = [&](DeviceId device) { return graph[device].kind == DeviceKind::cpu; };
  return !is_nvlink(graph[edge].kind) || is_cpu(source(edge, graph)) || is_cpu(target(edge, graph));
}

/// Hops from the nearest CPU in its tree.
std::vector<int> depths(const NodeGraph& graph) {
  constexpr int deepest = 1 << 20;
  std::vector<int> depth(num_vertices(graph), deepest);
  std::vector<DeviceId> open;
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::cpu) continue;
    depth[device] = 0;
    open.push_back(device);
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (auto [edge, end] = out_edges(open[i], graph); edge != end; ++edge) {
      const DeviceId next = target(*edge, graph);
      if (!is_of_tree(graph, *edge) || depth[next] != deepest) continue;
      depth[next] = depth[open[i]] + 1;
      open.push_back(next);
    }
  }
  return depth;
}

/// A device and the devices below it on PCIe, each switch with its devices in a separate invisible box:
/// otherwise Graphviz mixes the devices of neighbouring switches to avoid a crossing further down.
void append_tree(const NodeGraph& graph, const std::vector<int>& depth, DeviceId device,
                 std::vector<char>& drawn, std::string& text) {
  if (drawn[device] != 0) return;
  drawn[device] = 1;
  const bool has_box = graph[device].kind == DeviceKind::pcie_switch;
  if (has_box)
    text += fmt::format("  subgraph cluster_{} {{ peripheries=0; label=\"\";\n", graph[device].name);
  text += device_line(graph[device]);
  for (auto [edge, end] = out_edges(device, graph); edge != end; ++edge) {
    const DeviceId below = target(*edge, graph);
    if (is_of_tree(graph, *edge) && depth[below] > depth[device])
      append_tree(graph, depth, below, drawn, text);
  }
  if (has_box) text += "  }\n";
}

std::string device_lines(const NodeGraph& graph) {
  const std::vector<int> depth = depths(graph);
  std::vector<char> drawn(num_vertices(graph), 0);
  std::string text;
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind != DeviceKind::cpu) continue;
    const int socket = graph[device].number;
    text += fmt::format("  subgraph cluster_socket{} {{\n  label=\"socket {}\"; labelloc=t; labeljust=l;",
                        socket, socket);
    text += " style=rounded; color=\"#b0b0b0\";\n";
    append_tree(graph, depth, device, drawn, text);
    text += "  }\n";
  }
  for (DeviceId device = 0; device < num_vertices(graph); ++device)
    append_tree(graph, depth, device, drawn, text);
  return text;
}

/// Colour, width and label of the links of a group.
std::string look_of(const NodeGraph& graph, const ParallelLinks& group) {
  const auto joins = [&](DeviceKind kind) {
    const EdgeId edge = group.edges.front();
    return graph[source(edge, graph)].kind == kind && graph[target(edge, graph)].kind == kind;
  };
  const Link& link = group.link;
  const std::string colour = fmt::format("color=\"{}\"", line_colour(link.kind));
  if (is_nvlink(link.kind) && joins(DeviceKind::gpu)) {
    // as wide as its lanes together, and below the GPUs, where the arcs do not hide the PCIe tree
    return fmt::format("{}, penwidth={:.1f}, tailport=s, headport=s", colour, 1.2 * std::min(link.lanes, 6));
  }
  // labels on many parallel lines would hide the drawing; the table below has them all
  const bool has_label = group.edges.size() == 1 && joins(DeviceKind::cpu);
  return fmt::format("{}, penwidth={}{}", colour, is_nvlink(link.kind) ? "2" : "1.3",
                     has_label ? fmt::format(", label=\"{}\"", config::name_of(link.kind)) : "");
}

/// Drawn downwards: from the CPUs over PCIe to GPUs and NICs, from those to NVSwitches.
std::string link_lines(const NodeGraph& graph) {
  const std::vector<int> depth = depths(graph);
  std::string text;
  for (const ParallelLinks& group : parallel_links(graph)) {
    const std::string look = look_of(graph, group);
    for (const EdgeId edge : group.edges) {
      DeviceId upper = source(edge, graph);
      DeviceId lower = target(edge, graph);
      const bool is_switched =
          graph[upper].kind == DeviceKind::nvswitch || graph[lower].kind == DeviceKind::nvswitch;
      if (is_switched ? graph[upper].kind == DeviceKind::nvswitch : depth[lower] < depth[upper]) {
        std::swap(upper, lower);
      }
      const bool is_level = graph[upper].kind == graph[lower].kind && depth[upper] == depth[lower];
      text += fmt::format("  {} -> {} [{}{}];\n", graph[upper].name, graph[lower].name, look,
                          is_level ? ", constraint=false" : "");
    }
  }
  return text;
}

std::string table_row(std::string_view colour, const std::vector<std::string>& cells) {
  std::string row = fmt::format("<TR><TD BGCOLOR=\"{}\" WIDTH=\"24\"></TD>", colour);
  for (const std::string& cell : cells) row += fmt::format("<TD ALIGN=\"LEFT\">{}</TD>", in_html(cell));
  return row + "</TR>\n";
}

std::string table(const Platform& platform) {
  std::string rows = table_row("white", {"links", "kind", "lanes", "bandwidth", "effective", "latency"});
  for (const ParallelLinks& group : parallel_links(platform.node)) {
    const Link& link = group.link;
    rows += table_row(line_colour(link.kind),
                      {group.between, std::string(config::name_of(link.kind)), std::to_string(link.lanes),
                       human(link.bandwidth.value), human(link.effective.value), human(link.latency.value)});
  }
  const Fabric& fabric = platform.fabric;
  if (fabric.exists()) {
    rows += table_row(fabric_colour,
                      {"nic - fabric", std::string(config::name_of(fabric.kind)), "", human(fabric.nic.value),
                       human(fabric.effective.value), human(fabric.latency.value)});
  }
  const std::string title = platform.title.empty() ? platform.name : platform.name + ": " + platform.title;
  return fmt::format(
      "<<TABLE BORDER=\"0\"><TR><TD><B>{}</B> (rates per direction, all lanes)</TD></TR>\n"
      "<TR><TD><TABLE BORDER=\"0\" CELLSPACING=\"2\">\n{}</TABLE></TD></TR></TABLE>>",
      in_html(title), rows);
}

}  // namespace

std::string topology_dot(const Platform& platform) {
  return fmt::format(
             "digraph \"{}\" {{\n"
             "  graph [rankdir=TB, ranksep=0.6, nodesep=0.12, fontname=\"Helvetica\", "
             "fontsize=12, "
             "labelloc=b,\n"
             "         label={}];\n"
             "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11, width=0.5, "
             "height=0.4,\n"
             "        margin=\"0.06,0.04\", color=\"#808080\"];\n"
             "  edge [dir=none, arrowhead=none, fontname=\"Helvetica\", fontsize=10];\n",
             dot_text(platform.name), table(platform)) +
         device_lines(platform.node) + link_lines(platform.node) +
         fabric_dot(platform, std::string(fabric_colour)) + "}\n";
}

}  // namespace trainyard
