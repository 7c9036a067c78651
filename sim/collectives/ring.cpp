#include "collectives/ring.hpp"

#include "collectives/rank_tree.hpp"
#include "collectives/requirements.hpp"

#include <cmath>

namespace trainyard {

namespace {

/// The rate of LL128 whose unaligned parts are copied by elements. In a round a warp moves 1920 bytes: 16
/// lines of 128 bytes received, 16 sent and 15 of the part. 32 elements at an odd place touch two lines, so
/// those 15 count twice. Source: NVIDIA/nccl v2.7.8-1, src/collectives/device/prims_ll128.h; that lines limit
/// LL128 is assumed.
constexpr double unaligned_ll128 = (16.0 + 16 + 15) / (16 + 16 + 30);

/// The rate of Simple where a thread moves one element per round trip to memory: as LL, which moves one word.
Bandwidth rate_of_words(const Cluster& cluster, const ProtocolOverheads& overheads, CollectiveRequest request,
                        std::span<const Channel> channels, double flows) {
  request.protocol = Protocol::ll;
  PatternMaker words(cluster, overheads, request);
  for (const Channel& channel : channels) add_ring(words, channel.order, channel.nic);
  return words.limit(flows);
}

}  // namespace

void add_ring(PatternMaker& maker, std::span<const Rank> order, int nic) {
  const auto n = static_cast<int>(order.size());
  const auto first = static_cast<int>(maker.pattern().edges.size());
  for (int i = 0; i < n; ++i) {
    const std::int32_t before[] = {first + (i + n - 1) % n};
    maker.add(order[at(i)], order[at((i + 1) % n)], nic, before);
  }
}

std::vector<Channel> channels_of(const Cluster& cluster, const ProtocolOverheads& overheads,
                                 std::span<const Rank> group, std::vector<std::string>* notes) {
  std::vector<Channel> channels = ring_channels(cluster, group, notes);
  if (std::isfinite(overheads.sums.si())) channels.resize(1);
  return channels;
}

Seconds ring_latency(PatternMaker& maker, int ranks) { return maker.largest_mean_latency(at(ranks)); }

int ring_rounds(Operation operation, int ranks) {
  return operation == Operation::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request) {
  require(cluster, request, Algorithm::ring);
  if (request.group.size() < 2) return new_plan(overheads, request, Algorithm::ring);
  std::vector<std::string> notes;
  const std::vector<Channel> channels = channels_of(cluster, overheads, request.group, &notes);
  if (channels.front().is_chain) refuse(cluster, request, Algorithm::ring, no_ring(request.group.size()));
  CollectivePlan plan = ring(cluster, overheads, request, channels);
  plan.notes = std::move(notes);
  return plan;
}

CollectivePlan ring(const Cluster& cluster, const ProtocolOverheads& overheads,
                    const CollectiveRequest& request, std::span<const Channel> channels) {
  CollectivePlan plan = new_plan(overheads, request, Algorithm::ring, channels.size());
  const auto ranks = static_cast<int>(request.group.size());
  const double share = 1.0 / static_cast<double>(channels.size());
  const double flows = flows_per_channel(cluster, request.group, channels.size());
  PatternMaker maker(cluster, overheads, request);
  maker.reserve(request.group.size() * channels.size());
  if (has_root(request.operation)) {
    for (const Channel& channel : channels) {
      const bool is_towards_root = request.operation == Operation::reduce;
      add_edges(maker, opened_ring(channel.order, request.root, is_towards_root), request.operation,
                channel.nic);
    }
    add_chunked(plan, maker, share, flows);
    add_sums(plan, overheads, static_cast<double>(channels.size()) * summed_part(request.operation));
  } else {
    for (const Channel& channel : channels) add_ring(maker, channel.order, channel.nic);
    add_rounds(plan, maker, ring_rounds(request.operation, ranks), share / ranks, ring_latency(maker, ranks),
               flows);
    if (overheads.sums_beside && request.operation == Operation::all_reduce)
      slow_down(plan, ranks - 1, overheads.sums / static_cast<double>(channels.size()));
    else
      add_sums(plan, overheads, static_cast<double>(channels.size()) * summed_part(request.operation));
    if (request.unaligned != UnalignedRounds::none) {
      slow_down(plan, request.unaligned == UnalignedRounds::first ? 1 : ring_rounds(request.operation, ranks),
                request.protocol == Protocol::ll128
                    ? plan.phases.front().limit * unaligned_ll128
                    : rate_of_words(cluster, overheads, request, channels, flows));
    }
  }
  return plan;
}

}  // namespace trainyard
