#include "platform/custom_fabric.hpp"

#include <algorithm>
#include <limits>

namespace trainyard {

CustomFabric::CustomFabric(const Fabric& fabric, int nics)
    : switches_(static_cast<int>(fabric.custom.switches.size())),
      nics_(nics),
      exits_(at(switches_ + fabric.custom.nodes * nics)),
      trees_(at(switches_)),
      latency_(fabric.latency.value) {
  const auto vertex = [&](const CustomEnd& end) {
    return end.switch_number >= 0 ? end.switch_number : switches_ + end.node * nics_ + end.nic;
  };
  const auto end_name = [&](const CustomEnd& end) {
    return end.switch_number >= 0 ? fabric.custom.switches[at(end.switch_number)]
                                  : "node" + std::to_string(end.node) + ".nic" + std::to_string(end.nic);
  };
  for (const CustomLink& link : fabric.custom.links) {
    const std::uint32_t there = links();
    exits_[at(vertex(link.one))].push_back({there, vertex(link.other)});
    exits_[at(vertex(link.other))].push_back({there + 1, vertex(link.one)});
    cables_.push_back({end_name(link.one), end_name(link.other), link_rates(fabric, link.bandwidth.value),
                       link.latency.value});
  }
}

std::string CustomFabric::name(std::uint32_t link) const {
  const Cable& cable = cables_[link / 2];
  return link % 2 == 0 ? cable.one + "->" + cable.other : cable.other + "->" + cable.one;
}

const CustomFabric::Tree& CustomFabric::tree_from(int first_switch) const {
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

std::optional<Seconds> CustomFabric::append_route(Port from, Port to, std::uint32_t first,
                                                  std::vector<LinkId>& links) const {
  const int source = switches_ + from.node * nics_ + from.nic;
  const int target = switches_ + to.node * nics_ + to.nic;
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

  Seconds latency = latency_ + cables_[best_out->link / 2].latency;
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

}  // namespace trainyard
