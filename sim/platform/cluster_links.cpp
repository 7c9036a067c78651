// The links of a cluster by number: first those of each node, then those of the fabric.

#include "platform/cluster.hpp"
#include "platform/names.hpp"
#include "units/leading_number.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace trainyard {
namespace {

std::uint32_t links_inside(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.inside.capacity.size());
}

/// The position of a link, from its number.
struct Place {
  enum class Kind { inside, nic_out, nic_in, fabric } kind;
  std::uint32_t node;
  std::uint32_t number;  ///< of the link inside the node, of the NIC, or of the link of the fabric
};

Place place_of(const Cluster& cluster, LinkId link) {
  const std::uint32_t of_nodes = first_fabric_link(cluster);
  if (index(link) >= of_nodes) return {Place::Kind::fabric, 0, index(link) - of_nodes};
  const std::uint32_t node = index(link) / links_per_node(cluster);
  const std::uint32_t number = index(link) % links_per_node(cluster);
  if (number < links_inside(cluster)) return {Place::Kind::inside, node, number};
  const std::uint32_t port = number - links_inside(cluster);
  return {port % 2 == 0 ? Place::Kind::nic_out : Place::Kind::nic_in, node, port / 2};
}

EdgeId edge_of(const Cluster& cluster, const Place& place) {
  return *std::next(edges(cluster.platform.node).first, place.number / 2);
}

LinkRates rates(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  switch (place.kind) {
    case Place::Kind::inside:
      return {cluster.inside.capacity[place.number], cluster.inside.specified[place.number]};
    case Place::Kind::nic_out:
    case Place::Kind::nic_in:
      return {cluster.platform.fabric.effective.value, cluster.platform.fabric.nic.value};
    case Place::Kind::fabric:
      break;
  }
  return cluster.network->rates(place.number);
}

}  // namespace

std::uint32_t first_fabric_link(const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.nodes) * links_per_node(cluster);
}

std::uint32_t link_count(const Cluster& cluster) {
  return first_fabric_link(cluster) + cluster.network->links();
}

Bandwidth capacity(const Cluster& cluster, LinkId link) { return rates(cluster, link).effective; }

LinkValues<Bandwidth> link_capacities(const Cluster& cluster) {
  LinkValues<Bandwidth> all;
  std::vector<Bandwidth> block;
  const auto add = [&](std::uint32_t first, std::uint32_t count, std::uint32_t times) {
    block.clear();
    for (std::uint32_t link = first; link < first + count; ++link)
      block.push_back(capacity(cluster, LinkId{link}));
    all.append(block, times);
  };
  add(0, links_per_node(cluster), unsigned_of(cluster.nodes));
  const std::uint32_t end = link_count(cluster);
  const std::uint32_t of_switch = cluster.network->links_of_switch();
  for (std::uint32_t link = first_fabric_link(cluster); link < end; link += of_switch)
    add(link, std::min(of_switch, end - link), 1);
  return all;
}

std::uint32_t links_per_node(const Cluster& cluster) {
  return links_inside(cluster) + 2 * static_cast<std::uint32_t>(cluster.platform.nics.size());
}

std::uint32_t nic_link_in_node(const Cluster& cluster, int nic, bool is_inwards) {
  return links_inside(cluster) + 2 * unsigned_of(nic) + (is_inwards ? 1U : 0U);
}

int lanes(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  return place.kind == Place::Kind::inside ? cluster.platform.node[edge_of(cluster, place)].lanes : 1;
}

Bandwidth specified_bandwidth(const Cluster& cluster, LinkId link) { return rates(cluster, link).specified; }

bool is_assumed(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  if (place.kind == Place::Kind::inside)
    return cluster.platform.node[edge_of(cluster, place)].effective.is_assumed();
  const Fabric& fabric = cluster.platform.fabric;
  if (place.kind != Place::Kind::fabric) return fabric.nic.is_assumed() || fabric.effective.is_assumed();
  return fabric.effective.is_assumed() || rates(cluster, link).is_assumed;
}

std::string link_name(const Cluster& cluster, LinkId link) {
  const NodeGraph& graph = cluster.platform.node;
  const Place place = place_of(cluster, link);
  const std::string node = "node" + std::to_string(place.node) + ".";
  switch (place.kind) {
    case Place::Kind::nic_out:
      return node + graph[cluster.platform.nics[place.number]].name + "->fabric";
    case Place::Kind::nic_in:
      return "fabric->" + node + graph[cluster.platform.nics[place.number]].name;
    case Place::Kind::fabric:
      return cluster.network->name(place.number);
    case Place::Kind::inside:
      break;
  }
  const EdgeId edge = edge_of(cluster, place);
  const std::string& one = graph[source(edge, graph)].name;
  const std::string& other = graph[target(edge, graph)].name;
  return node + (place.number % 2 == 0 ? one + "->" + other : other + "->" + one);
}

std::string_view link_medium(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  if (place.kind != Place::Kind::inside) return "network";
  return config::name_of(cluster.platform.node[edge_of(cluster, place)].kind);
}

std::optional<NodeId> node_of(const Cluster& cluster, LinkId link) {
  const Place place = place_of(cluster, link);
  return place.kind == Place::Kind::fabric ? std::nullopt
                                           : std::optional(NodeId{static_cast<std::int32_t>(place.node)});
}

std::optional<LinkId> find_link(const Cluster& cluster, std::string_view name) {
  const auto search = [&](std::uint32_t first, std::uint32_t end) -> std::optional<LinkId> {
    for (std::uint32_t link = first; link < end; ++link) {
      if (link_name(cluster, LinkId{link}) == name) return LinkId{link};
    }
    return std::nullopt;
  };
  std::string_view node = name;
  if (node.starts_with("fabric->")) node.remove_prefix(std::string_view("fabric->").size());
  if (const auto number = take_number(node, "node"); number && *number < cluster.nodes) {
    const std::uint32_t first = unsigned_of(*number) * links_per_node(cluster);
    if (const auto found = search(first, first + links_per_node(cluster))) return found;
  }
  return search(first_fabric_link(cluster), link_count(cluster));
}

bool is_fabric(const Cluster& cluster, LinkId link) {
  return place_of(cluster, link).kind != Place::Kind::inside;
}

}  // namespace trainyard
