#include "collectives/nccl_shape.hpp"

#include "collectives/nccl_search.hpp"
#include "collectives/nvls.hpp"
#include "collectives/plan.hpp"
#include "collectives/turns.hpp"

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <limits>

namespace trainyard {

namespace {

CpuVendor vendor_of(const NodeGraph& graph) {
  for (DeviceId device = 0; device < num_vertices(graph); ++device) {
    if (graph[device].kind == DeviceKind::cpu) return cpu_vendor(graph[device].model);
  }
  return CpuVendor::intel;
}

/// The rate that NCCL counts for the slot of the slowest NIC, by PCIe's lanes and speed: 12 GB/s for
/// the 15.75 of 16 lanes of PCIe 3 (ncclTopoAddPci in NVIDIA/nccl src/graph/topo.cc: lanes * speed / 80). Its
/// search finds no ring that is faster.
Bandwidth counted_slot(const NodeGraph& graph) {
  constexpr double counted = 12 / 15.75;
  Bandwidth slowest{std::numeric_limits<double>::infinity()};
  for (const EdgeId edge : boost::make_iterator_range(edges(graph))) {
    const bool is_of_nic = graph[source(edge, graph)].kind == DeviceKind::nic ||
                           graph[target(edge, graph)].kind == DeviceKind::nic;
    if (is_of_nic && is_pcie(graph[edge].kind))
      slowest = std::min(slowest, graph[edge].bandwidth.value * counted);
  }
  return slowest;
}

/// Of listed routes, a NIC may stand for one that never limits: then a message's own limit is all there is.
Bandwidth rate_of_nic(const Fabric& fabric) {
  return fabric.kind == FabricKind::routes ? std::min(fabric.nic.value, fabric.per_flow.value)
                                           : fabric.nic.value;
}

/// A ring's order, beginning with its lowest rank.
std::vector<Rank> from_first(std::vector<Rank> order) {
  std::rotate(order.begin(), std::ranges::min_element(order), order.end());
  return order;
}

bool have_one_order(std::span<const Channel> channels) {
  const std::vector<Rank> first = from_first(channels.front().order);
  return std::ranges::all_of(channels,
                             [&](const Channel& channel) { return from_first(channel.order) == first; });
}

}  // namespace

NcclShape nccl_shape(const Cluster& cluster, NcclVersion version, int compute_capability, Operation operation,
                     std::span<const Rank> group, std::span<const Channel> channels) {
  const NodeGraph& graph = cluster.platform.node;
  const ChannelFacts facts = channel_facts(cluster, channels);
  NcclShape shape{.version = version,
                  .operation = operation,
                  .ranks = static_cast<int>(group.size()),
                  .nodes = static_cast<int>(node_count(cluster, group)),
                  .compute_capability = compute_capability,
                  .cpu = vendor_of(graph)};
  // If no ring fits, NCCL's own search falls back to PCIe, and so does its model.
  shape.worst_inside = channels.front().is_chain ? PathType::pix : facts.inside.value_or(best_path);
  const NcclChannels inside =
      nccl_channels(version, facts.channels, shape.worst_inside, compute_capability, shape.nodes);
  shape.channels = inside.count;
  shape.inside = inside.each;
  if (const auto through = adding_switch(cluster, group)) shape.switch_lanes = through->lanes;
  if (shape.nodes > 1) {
    shape.worst_to_nic = facts.to_nic.value_or(PathType::phb);
    // Before Hopper, NCCL allows no LL128 over a proxy (ncclTopoTuneModel in NVIDIA/nccl
    // src/graph/tuning.cc); versions without proxies cross NICs instead.
    if (facts.has_proxies && version >= NcclVersion::v2_12 && compute_capability < 90)
      shape.worst_to_nic = std::max(shape.worst_to_nic, PathType::phb);
    // EFA does not guarantee that 128 bytes arrive together, so no LL128 (aws/aws-ofi-nccl).
    if (cluster.platform.fabric.transport == Transport::efa)
      shape.worst_to_nic = std::max(shape.worst_to_nic, PathType::phb);
    // A 100 Gb NIC counts as 12 GB/s (NVIDIA/nccl src/graph/topo.h).
    constexpr double counted = 0.96;
    const Bandwidth nic = std::min(rate_of_nic(cluster.platform.fabric) * counted, counted_slot(graph));
    shape.between = nic * (static_cast<double>(facts.channels) / inside.count);
    const bool is_alone = shape.ranks == shape.nodes;
    const bool has_nvlinks = is_nvlink(shape.worst_inside) && shape.worst_inside != PathType::xgmi;
    const bool is_searched =
        version >= NcclVersion::v2_27 && compute_capability >= 90 && (has_nvlinks || is_alone);
    if (is_searched) {
      // No speed of the search is higher than a NIC of 400 Gb/s, on Blackwell than two.
      const Bandwidth fastest{is_blackwell(compute_capability) ? 96e9 : 48e9};
      shape.channels = channels_between(facts.channels, nic.si() / 1e9, compute_capability).planned;
      shape.between = nic * (static_cast<double>(facts.channels) / shape.channels);
      shape.inside = std::max(shape.between, fastest);
    }
    // Trees run at most twice as fast inside nodes as between them (ncclTopoCompute in src/graph/search.cc).
    shape.inside = is_alone ? shape.between : std::min(shape.inside, shape.between * 2);
  }
  shape.same_order = have_one_order(channels);
  return shape;
}

}  // namespace trainyard
