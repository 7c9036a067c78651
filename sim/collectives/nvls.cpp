#include "collectives/nvls.hpp"

#include "collectives/nccl_tuning.hpp"
#include "collectives/requirements.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Channels of a GPU with these NVLinks, within one node.
int channels_of(PathType links) {
  constexpr int hopper = 16;
  constexpr int blackwell = 24;
  return links == PathType::nvlink4 ? hopper : blackwell;
}

/// Adds the use of the links by one group to those of the pattern.
void add_uses(Pattern& pattern, const AddingSwitch& through, int heads) {
  for (std::size_t i = 0; i < through.ports.size(); ++i) {
    const int times = at(heads) > i ? heads + 1 : heads;
    pattern.uses.push_back({through.ports[i].out, times});
    pattern.uses.push_back({through.ports[i].in, times});
  }
  const auto ranks = static_cast<std::int64_t>(through.ports.size());
  pattern.summed_edges += ranks * heads + heads;
}

/// Eight ranks, to which efficiency and time per round were fitted.
constexpr double fitted_heads = 8;

/// The rate of each head's part, where a link carries `times` of them. All ranks copy all their values into
/// the buffers that switches add and out of them, by warps whose number does not grow with the ranks, so that
/// more than eight ranks, whose links carry less, are no faster. Source: NVIDIA/nccl 5067397c, src/device/
/// all_reduce.h, scatter and gather of NCCL_ALGO_NVLS.
Bandwidth rate_of_head(Bandwidth link, int times, int heads, double efficiency) {
  const Bandwidth of_copies = link / heads * (fitted_heads / (fitted_heads + 1));
  return std::min(link / times, of_copies) * efficiency;
}

/// The time of a round in addition to its bytes: chunks of all heads are copied one after the other. Source:
/// the same, src/device/prims_simple.h, ScatterGatherOp ("Loop over peers").
Seconds round_of(Seconds fitted, int heads) { return fitted * std::max(1.0, heads / fitted_heads); }

}  // namespace

std::optional<AddingSwitch> adding_switch(const Cluster& cluster, std::span<const Rank> group) {
  const auto is_elsewhere = [&](Rank rank) {
    return cluster.node_of(rank) != cluster.node_of(group.front());
  };
  if (group.size() < 2 || std::ranges::any_of(group, is_elsewhere)) return std::nullopt;
  AddingSwitch found;
  found.ports.resize(group.size());
  found.lanes = std::numeric_limits<int>::max();
  std::vector<LinkId> links;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::size_t next = (i + 1) % group.size();
    const NodePath& path = path_inside(cluster, group[i], group[next]);
    // No path leads through a third GPU, so that the only device between two NVLinks is a switch.
    const bool is_new = path.type == PathType::nvlink4 || path.type == PathType::nvlink5;
    if (!path.reachable || !is_new || path.links.size() != 2) return std::nullopt;
    links.clear();
    append_route(cluster, group[i], group[next], -1, links);
    found.ports[i].out = links.front();
    found.ports[next].in = links.back();
    found.links = worse(found.links, path.type);
    found.latency = std::max(found.latency, path.latency);
    found.lanes = std::min(found.lanes, lanes(cluster, links.front()));
  }
  // The two directions of a link are neighbours in the order of numbers.
  const bool is_one = std::ranges::all_of(
      found.ports, [](const SwitchPort& port) { return index(port.out) / 2 == index(port.in) / 2; });
  return is_one ? std::optional(std::move(found)) : std::nullopt;
}

CollectivePlan nvls(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request) {
  require(cluster, request, Algorithm::nvls);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::nvls);
  if (request.group.size() < 2) return plan;
  constexpr int rounds_before = 2;
  const AddingSwitch through = adding_switch(cluster, request.group).value();
  const int heads = nvls_heads(static_cast<int>(request.group.size()));
  Pattern pattern;
  add_uses(pattern, through, heads);
  for (const std::vector<Rank>& group : request.concurrent) {
    require(cluster, {.operation = request.operation, .group = group}, Algorithm::nvls);
    add_uses(pattern, adding_switch(cluster, group).value(), heads);
  }
  std::ranges::sort(pattern.uses, {}, &LinkUse::link);

  PhasePlan phase{
      .pattern = 0,
      .share = 1.0 / heads,
      .chunks_at_once = heads * channels_of(through.links),
      .latency = overheads.nvls_step > Seconds{} ? round_of(overheads.nvls_step, heads) : through.latency,
      .startup = rounds_before};
  for (const LinkUse& use : pattern.uses)
    phase.limit = std::min(
        phase.limit, rate_of_head(capacity(cluster, use.link), use.times, heads, overheads.nvls_efficiency));
  plan.channels = channels_of(through.links);
  plan.overhead += phase.latency * rounds_before;
  plan.patterns.push_back(std::move(pattern));
  plan.phases.push_back(phase);
  return plan;
}

}  // namespace trainyard
