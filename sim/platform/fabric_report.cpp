#include "platform/fabric_report.hpp"

#include "platform/fabric_definition.hpp"

#include <fmt/format.h>
#include <limits>
#include <set>
#include <string>

namespace trainyard {

void FabricDrawing::box(const std::string& name, const std::string& label) {
  text += fmt::format("  {} [label=\"{}\", fillcolor=\"#e3eefa\"];\n", name, label);
}

void FabricDrawing::rest(const std::string& name, const std::string& label) {
  text += fmt::format("  {} [label=\"{}\", shape=plaintext, style=\"\", fillcolor=none];\n", name, label);
}

void FabricDrawing::line(const std::string& from, const std::string& to, const std::string& label,
                         const std::string& more) {
  text += fmt::format("  {} -> {} [color=\"{}\"{}{}];\n", from, to, colour,
                      label.empty() ? "" : fmt::format(", label=\"{}\"", label), more);
}

std::string fabric_lines(const Platform& platform, Footnotes& notes) {
  const Fabric& fabric = platform.fabric;
  if (!fabric.exists()) return "";
  std::string text = definition(fabric.kind).lines(fabric, notes);
  if (fabric.hop_latency.value > Seconds{}) {
    text += "  each link between switches or routers adds " + figure(fabric.hop_latency, notes) + '\n';
  }
  text += fmt::format("  transport {}", config::name_of(fabric.transport));
  const bool is_capped = fabric.per_flow.value.si() < std::numeric_limits<double>::infinity();
  if (is_capped) text += ", at most " + figure(fabric.per_flow, notes) + " per connection";
  text += fmt::format("\n  NICs access GPU memory {} {}\n",
                      fabric.gpudirect.value ? "directly (GPUDirect)" : "through host memory",
                      notes.mark(fabric.gpudirect));
  if (is_redirected(fabric))
    text += fmt::format("  PCIe access control sends that traffic through the CPU's root port {}\n",
                        notes.mark(fabric.redirected));
  return text;
}

std::string fabric_dot(const Platform& platform, const std::string& colour) {
  if (!platform.fabric.exists()) return "";
  FabricDrawing drawing{.colour = colour, .entries = std::vector<std::string>(platform.nics.size())};
  definition(platform.fabric.kind).draw(platform.fabric, drawing);
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
