// A dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008):
// groups of routers, with all routers of a group joined to each other and all groups to each other. Cray's
// Aries is a dragonfly except inside its groups: its routers are joined along rows of 16 and columns of 6, up
// to two links apart, here always one; its adaptive detours over a third group are left out.

#include "platform/fabric_definition.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// Position of `to` among all but `from`, counted from 0, and its inverse.
int place_without(int from, int to) { return to < from ? to : to - 1; }
int at_place_without(int from, int place) { return place < from ? place : place + 1; }

/// Routes are minimal: to the router of the group with a link to the other group, over
/// that link, and from its end to the node's router. These routers differ from group to group and are spread
/// evenly over each group.
class Dragonfly final : public FabricNetwork {
public:
  Dragonfly(const Fabric& fabric, int /*nodes*/, int /*nics*/)
      : FabricNetwork(fabric),
        groups_(fabric.dragonfly.groups.value),
        routers_(fabric.dragonfly.routers_per_group.value),
        nodes_(fabric.dragonfly.nodes_per_router.value),
        first_global_(unsigned_of(groups_) * unsigned_of(routers_) * unsigned_of(routers_ - 1)),
        local_(link_rates(fabric, fabric.dragonfly.local_link)),
        global_(link_rates(fabric, fabric.dragonfly.global_link)) {}
  [[nodiscard]] std::uint32_t links() const override {
    return first_global_ + unsigned_of(groups_ * (groups_ - 1));
  }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const override {
    return link < first_global_ ? local_ : global_;
  }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const auto group_name = [](int group) { return "group" + std::to_string(group); };
    if (link >= first_global_) {
      const int rest = static_cast<int>(link - first_global_);
      const int from = rest / (groups_ - 1);
      return group_name(from) + "->" + group_name(at_place_without(from, rest % (groups_ - 1)));
    }
    const auto router = static_cast<int>(link / unsigned_of(routers_ - 1));
    const int from = router % routers_;
    const int to = at_place_without(from, static_cast<int>(link % unsigned_of(routers_ - 1)));
    const std::string group = group_name(router / routers_) + ".router";
    return group + std::to_string(from) + "->" + group + std::to_string(to);
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const int out = first_switch(from);
    const int in = first_switch(to);
    const int out_group = out / routers_;
    const int in_group = in / routers_;
    int hops = 0;
    const auto add = [&](std::uint32_t link) {
      links.push_back(LinkId{first + link});
      ++hops;
    };
    const auto within = [&](int group, int one, int other) {
      if (one != other) add(local_link(group, one, other));
    };
    if (out_group == in_group) {
      within(out_group, out % routers_, in % routers_);
    } else {
      within(out_group, out % routers_, gateway(out_group, in_group));
      add(global_link(out_group, in_group));
      within(in_group, gateway(in_group, out_group), in % routers_);
    }
    return latency(hops);
  }

  [[nodiscard]] int first_switch(Port port) const override { return port.node / nodes_; }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> all_to_all_counts(
      std::span<const std::int64_t> ranks) const override {
    std::vector<std::int64_t> below(at(groups_) * at(routers_), 0);
    std::ranges::copy(ranks, below.begin());
    std::vector<std::int64_t> in_group(at(groups_), 0);
    for (std::size_t router = 0; router < below.size(); ++router)
      in_group[router / at(routers_)] += below[router];
    std::vector<std::int64_t> counts(links(), 0);
    std::vector<std::int64_t> through(at(routers_));  // ranks of other groups, by the gateway to them
    for (int group = 0; group < groups_; ++group) {
      std::ranges::fill(through, 0);
      for (int other = 0; other < groups_; ++other) {
        if (other == group) continue;
        through[at(gateway(group, other))] += in_group[at(other)];
        counts[global_link(group, other)] = in_group[at(group)] * in_group[at(other)];
      }
      const auto of_group = std::span(below).subspan(at(group) * at(routers_), at(routers_));
      for (int from = 0; from < routers_; ++from) {
        for (int to = 0; to < routers_; ++to) {
          if (from == to) continue;
          counts[local_link(group, from, to)] = of_group[at(from)] * (of_group[at(to)] + through[at(to)]) +
                                                through[at(from)] * of_group[at(to)];
        }
      }
    }
    return counts;
  }
  [[nodiscard]] std::vector<Seconds> longest_routes(const std::vector<bool>& from) const override {
    std::vector<int> senders(at(groups_), 0);  // routers, by group
    const auto sends = [&](int group, int router) {
      const std::size_t number = at(group) * at(routers_) + at(router);
      return number < from.size() && from[number];
    };
    for (std::size_t router = 0; router < from.size(); ++router)
      senders[router / at(routers_)] += from[router] ? 1 : 0;
    std::vector<Seconds> longest;
    for (int router = 0; at(router) < from.size(); ++router) {
      const int group = router / routers_;
      const int here = router % routers_;
      int hops = senders[at(group)] > (from[at(router)] ? 1 : 0) ? 1 : 0;
      for (int other = 0; other < groups_ && hops < 3; ++other) {
        if (other == group || senders[at(other)] == 0) continue;
        const bool is_beside = senders[at(other)] > (sends(other, gateway(other, group)) ? 1 : 0);
        hops = std::max(hops, 1 + (is_beside ? 1 : 0) + (gateway(group, other) != here ? 1 : 0));
      }
      longest.push_back(latency(hops));
    }
    return longest;
  }
  [[nodiscard]] std::vector<NarrowCut> narrow_cuts() const override {
    return {{[in_group = routers_ * nodes_](int node) { return node / in_group; },
             global_.specified * (groups_ - 1.0)}};
  }
  [[nodiscard]] LinkKeys link_keys() const override {
    return {"dragonfly", {{"local_link", local_.specified}, {"global_link", global_.specified}}};
  }

private:
  [[nodiscard]] int gateway(int group, int other) const {
    const int distance = (other - group + groups_) % groups_;  // 1 to groups - 1
    return static_cast<int>((distance - 1LL) * routers_ / (groups_ - 1));
  }

  [[nodiscard]] std::uint32_t global_link(int group, int other) const {
    return first_global_ + unsigned_of(group) * unsigned_of(groups_ - 1) +
           unsigned_of(place_without(group, other));
  }

  [[nodiscard]] std::uint32_t local_link(int group, int from, int to) const {
    return (unsigned_of(group) * unsigned_of(routers_) + unsigned_of(from)) * unsigned_of(routers_ - 1) +
           unsigned_of(place_without(from, to));
  }

  int groups_;
  int routers_;  ///< per group
  int nodes_;    ///< per router
  std::uint32_t first_global_;
  LinkRates local_;
  LinkRates global_;
};

void read_dragonfly(const FabricFile& file, int /*nics*/, Fabric& fabric, config::Problems& problems) {
  DragonflyShape& shape = fabric.dragonfly;
  take(shape.groups, file.groups);
  take(shape.routers_per_group, file.routers_per_group);
  take(shape.nodes_per_router, file.nodes_per_router);
  take(shape.local_link, file.local_link);
  take(shape.global_link, file.global_link);
  if (!file.groups || !file.routers_per_group || !file.nodes_per_router) return;
  for (const char* path : {"fabric.groups", "fabric.routers_per_group", "fabric.nodes_per_router"}) {
    if (!problems.readable(path)) return;
  }
  const double groups = shape.groups.value;
  const double routers = shape.routers_per_group.value;
  const double nodes = groups * routers * shape.nodes_per_router.value;
  const double links = groups * (routers * (routers - 1) + groups - 1);
  constexpr double most_links = 1 << 24;
  if (links > most_links || nodes > config::most_nodes) {
    problems.error("fabric.routers_per_group",
                   fmt::format("{} groups of {} routers with {} nodes have {} nodes and {} links", groups,
                               routers, shape.nodes_per_router.value, nodes, links),
                   fmt::format("{} nodes and {} links at most", config::most_nodes, most_links));
    return;
  }
  fabric.places = static_cast<int>(nodes);
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

void draw_dragonfly(const Fabric& fabric, FabricDrawing& drawing) {
  const DragonflyShape& shape = fabric.dragonfly;
  const int routers = std::min(shape.routers_per_group.value, 4);
  drawing.text += fmt::format(
      "  subgraph cluster_group0 {{ label=\"group 0: {} routers of {} nodes\"; labelloc=t; labeljust=l; "
      "style=rounded; color=\"{}\";\n",
      shape.routers_per_group.value, shape.nodes_per_router.value, drawing.colour);
  const auto router = [](int k) { return fmt::format("router{}", k); };
  const auto group = [](int k) { return fmt::format("group{}", k); };
  constexpr const char* wide = ", penwidth=2.5";
  for (int k = 0; k < routers; ++k) drawing.box(router(k), router(k));
  drawing.text += "  }\n";
  for (int one = 0; one < routers; ++one) {
    for (int other = one + 1; other < routers; ++other)
      drawing.line(router(one), router(other), "", ", constraint=false");
  }
  const int groups = std::min(shape.groups.value, 4);
  std::string row = "  {rank=same;";
  for (int k = 1; k < groups; ++k) {
    drawing.box(group(k), fmt::format("group {}", k));
    row += " " + group(k) + ";";
    drawing.line(router(std::min(k, routers - 1)), group(k), "", wide);
    for (int other = 1; other < k; ++other) drawing.line(group(other), group(k), "", wide);
  }
  if (groups > 1) drawing.text += row + "}\n";
  if (shape.groups.value > groups) {
    drawing.rest("others", fmt::format("... {} groups", shape.groups.value));
    drawing.line(router(routers - 1), "others", "", wide);
  }
  drawing.enter("router0");
}

}  // namespace

FabricDefinition dragonfly() {
  return {.keys = {{"groups", "groups: 8"},
                   {"routers_per_group", "routers_per_group: 96"},
                   {"nodes_per_router", "nodes_per_router: 4"},
                   {"local_link", "local_link: 5.25 GB/s"},
                   {"global_link", "global_link: 100 GB/s"},
                   {"hop_latency", "hop_latency: 0.1 us"}},
          .read = read_dragonfly,
          .network = network_of<Dragonfly>,
          .lines = dragonfly_lines,
          .draw = draw_dragonfly};
}

}  // namespace trainyard
