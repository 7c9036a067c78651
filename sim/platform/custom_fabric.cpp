// A fabric that a file lists link by link: switches, and cables between them and the NICs of nodes.

#include "platform/fabric_definition.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace trainyard {
namespace {

/// A route has the fewest links; among equally short ones, from the sender on, that whose
/// links come first in the file. It never passes through a NIC. The tree of routes from a switch is made when
/// first needed.
class CustomFabric final : public FabricNetwork {
public:
  CustomFabric(const Fabric& fabric, int /*nodes*/, int nics)
      : FabricNetwork(fabric),
        switches_(static_cast<int>(fabric.custom.switches.size())),
        nics_(nics),
        exits_(at(switches_ + *fabric.places * nics)),
        trees_(at(switches_)) {
    const auto vertex = [&](const CustomEnd& end) {
      return end.switch_number >= 0 ? end.switch_number : vertex_of({end.node, end.nic});
    };
    const std::vector<std::string>& switches = fabric.custom.switches;
    for (const CustomLink& link : fabric.custom.links) {
      const std::uint32_t there = links();
      exits_[at(vertex(link.one))].push_back({there, vertex(link.other)});
      exits_[at(vertex(link.other))].push_back({there + 1, vertex(link.one)});
      cables_.push_back({end_name(link.one, switches), end_name(link.other, switches),
                         link_rates(fabric, link.bandwidth), link.latency.value});
    }
  }
  [[nodiscard]] std::uint32_t links() const override {
    return 2 * unsigned_of(static_cast<int>(cables_.size()));
  }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const override { return cables_[link / 2].rates; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const Cable& cable = cables_[link / 2];
    return link % 2 == 0 ? cable.one + "->" + cable.other : cable.other + "->" + cable.one;
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int source = vertex_of(from);
    const int target = vertex_of(to);
    const std::vector<Exit>& ins = exits_[at(target)];  // exits taken in reverse
    int shortest = std::numeric_limits<int>::max();
    const Exit* best_out = nullptr;
    const Exit* best_in = nullptr;
    for (const Exit& out : exits_[at(source)]) {
      if (out.to == target) {
        shortest = 1;
        best_out = &out;
        best_in = nullptr;
        break;
      }
      if (out.to >= switches_) continue;
      const Tree& tree = tree_from(out.to);
      for (const Exit& in : ins) {
        if (in.to >= switches_ || tree.distance[at(in.to)] < 0 || tree.distance[at(in.to)] + 2 >= shortest)
          continue;
        shortest = tree.distance[at(in.to)] + 2;
        best_out = &out;
        best_in = &in;
      }
    }
    if (best_out == nullptr) return std::nullopt;

    Seconds latency = this->latency(0) + cables_[best_out->link / 2].latency;
    links.push_back(LinkId{first + best_out->link});
    if (best_in == nullptr) return latency;
    const Tree& tree = tree_from(best_out->to);
    const auto between = static_cast<std::ptrdiff_t>(links.size());
    for (int at_switch = best_in->to; at_switch != best_out->to; at_switch = tree.before[at(at_switch)]) {
      links.push_back(LinkId{first + tree.by[at(at_switch)]});
      latency += cables_[tree.by[at(at_switch)] / 2].latency;
    }
    std::reverse(links.begin() + between, links.end());
    links.push_back(LinkId{first + (best_in->link ^ 1U)});
    return latency + cables_[best_in->link / 2].latency;
  }

  [[nodiscard]] int first_switch(Port port) const override { return vertex_of(port); }

private:
  /// Link 2c of cable c leads from `one` to `other`, link 2c + 1 back.
  struct Cable {
    std::string one;
    std::string other;
    LinkRates rates;
    Seconds latency;
  };
  /// A link out of a switch or a NIC, and its target: switches first, then NICs node by node.
  struct Exit {
    std::uint32_t link = 0;
    int to = 0;
  };
  [[nodiscard]] int vertex_of(Port port) const { return switches_ + port.node * nics_ + port.nic; }
  /// Routes from one switch to the others.
  struct Tree {
    std::vector<int> distance;      ///< in links; -1: none
    std::vector<std::uint32_t> by;  ///< the last link of the route
    std::vector<int> before;        ///< the switch before it
  };

  [[nodiscard]] const Tree& tree_from(int first_switch) const {
    Tree& tree = trees_[at(first_switch)];
    if (!tree.distance.empty()) return tree;
    tree.distance.assign(at(switches_), -1);
    tree.by.assign(at(switches_), 0);
    tree.before.assign(at(switches_), first_switch);
    tree.distance[at(first_switch)] = 0;
    std::vector<int> reached{first_switch};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const Exit& exit : exits_[at(reached[i])]) {
        if (exit.to >= switches_ || tree.distance[at(exit.to)] >= 0) continue;
        tree.distance[at(exit.to)] = tree.distance[at(reached[i])] + 1;
        tree.by[at(exit.to)] = exit.link;
        tree.before[at(exit.to)] = reached[i];
        reached.push_back(exit.to);
      }
    }
    return tree;
  }

  int switches_;
  int nics_;
  std::vector<Cable> cables_;
  std::vector<std::vector<Exit>> exits_;  ///< by switch and NIC, in the order of the file
  mutable std::vector<Tree> trees_;       ///< by switch; empty until needed
};

std::string custom_lines(const Fabric& fabric, Footnotes& notes) {
  const CustomShape& shape = fabric.custom;
  std::string text = fmt::format("  {} switches, {} links, {} nodes\n", shape.switches.size(),
                                 shape.links.size(), *fabric.places);
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

/// Draws every switch, and its other nodes as one text.
void draw_custom(const Fabric& fabric, FabricDrawing& drawing) {
  const CustomShape& shape = fabric.custom;
  const auto name = [](int number) { return fmt::format("switch{}", number); };
  for (std::size_t k = 0; k < shape.switches.size(); ++k)
    drawing.box(name(static_cast<int>(k)), shape.switches[k]);
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
    const std::string box_of_nodes = fmt::format("nodes{}", at_switch);
    drawing.rest(box_of_nodes, some.size() == 1 ? fmt::format("node{}", *some.begin())
                                                : fmt::format("{} nodes", some.size()));
    drawing.line(name(at_switch), box_of_nodes);
  }
}

}  // namespace

std::string end_name(const CustomEnd& end, const std::vector<std::string>& switches) {
  return end.switch_number >= 0 ? switches[at(end.switch_number)]
                                : fmt::format("node{}.nic{}", end.node, end.nic);
}

FabricDefinition custom_fabric() {
  return {.keys = {{"switches"},
                   {"links", "links: [{between: [\"node[0-3].nic0\", leaf0], bandwidth: 100 Gbps}]"},
                   {.name = "hop_latency", .instead = "give its links a latency"}},
          .read = read_custom,
          .network = network_of<CustomFabric>,
          .lines = custom_lines,
          .draw = draw_custom};
}

}  // namespace trainyard
