#include "collectives/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

void add_pattern(CollectivePlan& plan, PatternMaker& maker, double flows_per_edge) {
  if (auto pace = maker.pattern_pace(flows_per_edge)) plan.paces.push_back(*std::move(pace));
  plan.patterns.push_back(maker.take());
}

}  // namespace

int chunk_count(Bytes carried, int hops, Protocol protocol) {
  constexpr double kib = 1024;
  constexpr double warp_round = 1920;  // bytes
  const Bytes chunk{protocol == Protocol::simple ? 32 * kib
                    : protocol == Protocol::ll   ? 4 * kib
                                                 : warp_round};
  const double most = std::max(512.0, 16.0 * hops);
  return static_cast<int>(std::clamp(std::ceil(carried / chunk), 1.0, most));
}

int nvls_rounds(Bytes size, int chunks_at_once) {
  constexpr double kib = 1024;
  Bytes chunk{128 * kib};
  for (const auto& [rounds, smaller] : {std::pair{64, 64 * kib}, {8, 32 * kib}, {2, 16 * kib}}) {
    if (size < chunk * (static_cast<double>(chunks_at_once) * rounds)) chunk = Bytes{smaller};
  }
  return static_cast<int>(std::max(1.0, std::ceil(size / (chunk * chunks_at_once))));
}

namespace {

/// Messages per edge at a size, or per round of NVLS.
int message_count(const PhasePlan& phase, Bytes size, Protocol protocol) {
  if (phase.chunks_at_once > 0) return nvls_rounds(size, phase.chunks_at_once);
  return phase.hops > 0 ? chunk_count(size * phase.share, phase.hops, protocol) : phase.messages;
}

}  // namespace

Collective collective(const CollectivePlan& plan, Bytes size, int first_pattern) {
  Collective result{.operation = plan.operation,
                    .size = size,
                    .participants = plan.participants,
                    .group_size = plan.group_size,
                    .groups = plan.groups,
                    .one_way = plan.one_way,
                    .overhead = plan.overhead,
                    .phases = {}};
  for (const PhasePlan& part : plan.phases) {
    const int messages = message_count(part, size, plan.protocol);
    const bool is_of_all = part.hops > 0 || part.chunks_at_once > 0;
    const double share = is_of_all ? part.share / messages : part.share;
    const Bytes bytes = size * share;
    const bool has_channels = part.channels.most > 0;
    Bandwidth limit = has_channels ? std::min(part.limit, message_rate(part.channels, bytes)) : part.limit;
    Seconds latency = part.latency;
    if (part.ring_turns.turn > Seconds{}) {
      RingTurns turns = part.ring_turns;
      turns.rate = std::min(turns.rate, limit);
      latency += beyond_latency(turns, latency, bytes);
    }
    if (part.tree_turns.chunk > Seconds{}) limit = rate_with_turns(part.tree_turns, size, limit);
    result.phases.push_back({.pattern = first_pattern + part.pattern,
                             .messages = messages,
                             .hops = part.hops,
                             .latency = latency + bytes / part.sums,
                             .sums = bytes / part.sums,
                             .bytes = bytes,
                             .limit = limit});
    if (has_channels) result.overhead += first_chunks(part.channels, bytes) / limit * part.channels.startup;
    if (part.startup > 0) result.overhead += size * share / part.limit * part.startup;
  }
  return result;
}

CollectivePlan new_plan(const ProtocolOverheads& overheads, const CollectiveRequest& request,
                        Algorithm algorithm, std::size_t channels) {
  return {.operation = request.operation,
          .algorithm = algorithm,
          .protocol = request.protocol,
          .channels = static_cast<int>(channels),
          .participants = static_cast<int>(request.group.size() * (1 + request.concurrent.size())),
          .group_size = static_cast<int>(request.group.size()),
          .groups = static_cast<int>(1 + request.concurrent.size()),
          .one_way = request.one_way,
          .overhead = overheads.base[static_cast<std::size_t>(request.protocol)],
          .patterns = {},
          .phases = {},
          .notes = {}};
}

void PatternMaker::reserve(std::size_t edges) {
  nics_.reserve(edges);
  is_one_lane_.reserve(edges);
  if (request_ != nullptr) edges *= 1 + request_->concurrent.size();
  pattern_.edges.reserve(edges);
  pattern_.offsets.reserve(edges + 1);
  pattern_.links.reserve(2 * edges);
  pattern_.previous_offsets.reserve(edges + 1);
  pattern_.previous.reserve(edges);
  types_.reserve(edges);
  latencies_.reserve(edges);
  limits_.reserve(edges);
}

int PatternMaker::add(Rank from, Rank to, int nic, std::span<const std::int32_t> passes_on) {
  const RouteSummary way = append_route(cluster_, from, to, nic, pattern_.links);
  pattern_.add_edge({from, to}, {}, passes_on);
  types_.push_back(way.type);
  take_slower(slower_, way.type);
  latencies_.push_back(message_latency(way, overheads_, protocol_));
  limits_.push_back(way.limit);
  if (!is_complete_) {
    nics_.push_back(nic);
    is_one_lane_.push_back(false);
  }
  return static_cast<int>(types_.size()) - 1;
}

void PatternMaker::hold_to_one_lane(int edge) {
  if (!is_complete_) is_one_lane_[at(edge)] = true;
  Bandwidth& limit = limits_[at(edge)];
  for (const LinkId link : pattern_.route(at(edge)))
    limit = std::min(limit, capacity(cluster_, link) / lanes(cluster_, link));
}

void PatternMaker::complete() {
  if (is_complete_) return;
  is_complete_ = true;
  if (request_ != nullptr && !request_->concurrent.empty()) add_other_groups();
  if (!slower_) return;
  const Seconds step =
      overheads_.step[static_cast<std::size_t>(*slower_)][static_cast<std::size_t>(protocol_)];
  for (std::size_t edge = 0; edge < types_.size(); ++edge) {
    if (is_nvlink(types_[edge]) && step > Seconds{}) latencies_[edge] = std::min(latencies_[edge], step);
  }
}

void PatternMaker::add_other_groups() {
  std::vector<std::pair<Rank, int>> places;
  for (const Rank rank : request_->group) places.emplace_back(rank, static_cast<int>(places.size()));
  std::ranges::sort(places);
  const auto place_of_rank = [&](Rank rank) {
    return std::ranges::lower_bound(places, rank, {}, &std::pair<Rank, int>::first)->second;
  };
  const std::size_t edges = types_.size();
  std::vector<std::pair<int, int>> ends;
  ends.reserve(edges);
  for (const Pattern::Edge& edge : pattern_.edges)
    ends.emplace_back(place_of_rank(edge.from), place_of_rank(edge.to));
  std::vector<std::int32_t> passes_on;
  int first = 0;
  for (const std::vector<Rank>& group : request_->concurrent) {
    first += static_cast<int>(edges);
    for (std::size_t edge = 0; edge < edges; ++edge) {
      passes_on.clear();
      for (const std::int32_t before : pattern_.passed_on_by(edge)) passes_on.push_back(before + first);
      const int added =
          add(group[at(ends[edge].first)], group[at(ends[edge].second)], nics_[edge], passes_on);
      if (is_one_lane_[edge]) hold_to_one_lane(added);
    }
  }
}

Pattern PatternMaker::take() {
  complete();
  return std::move(pattern_);
}

Seconds PatternMaker::largest_latency() {
  complete();
  return *std::max_element(latencies_.begin(), latencies_.end());
}

Seconds PatternMaker::largest_mean_latency(std::size_t edges) {
  complete();
  const auto keeps_pace = [&](std::size_t edge) {
    return trainyard::keeps_pace(types_[edge], overheads_, protocol_);
  };
  Seconds largest;
  for (std::size_t first = 0; first + edges <= latencies_.size(); first += edges) {
    Seconds pace;
    for (std::size_t edge = first; edge < first + edges; ++edge)
      pace = std::max(pace, keeps_pace(edge) ? latencies_[edge] : Seconds{});
    Seconds sum;
    for (std::size_t edge = first; edge < first + edges; ++edge)
      sum += keeps_pace(edge) ? pace : latencies_[edge];
    largest = std::max(largest, sum / static_cast<double>(edges));
  }
  return largest;
}

Bandwidth PatternMaker::pace(double flows_per_edge) {
  complete();
  const Bandwidth unlimited{std::numeric_limits<double>::infinity()};
  std::vector<Bandwidth> shares(link_count(cluster_), unlimited);
  for (const LinkUse& use : link_uses(pattern_))
    shares[index(use.link)] = capacity(cluster_, use.link) / use.times;
  Bandwidth slowest = unlimited;
  for (std::size_t edge = 0; edge < types_.size(); ++edge) {
    Bandwidth rate = limits_[edge] * (types_[edge] == PathType::network ? flows_per_edge : 1.0);
    for (const LinkId link : pattern_.route(edge)) rate = std::min(rate, shares[index(link)]);
    slowest = std::min(slowest, rate * efficiency(types_[edge], slower_, overheads_, protocol_));
  }
  return slowest;
}

bool PatternMaker::is_held() const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [](Bandwidth each) { return std::isfinite(each.si()); }) ||
         std::any_of(types_.begin(), types_.end(), [&](PathType type) {
           return efficiency(type, slower_, overheads_, protocol_) < 1 ||
                  trainyard::startup(type, slower_, overheads_) > 0;
         });
}

Bandwidth PatternMaker::limit(double flows_per_edge) {
  complete();
  return is_held() ? pace(flows_per_edge) : Bandwidth{std::numeric_limits<double>::infinity()};
}

std::optional<PatternPace> PatternMaker::pattern_pace(double flows_per_edge) {
  if (request_ == nullptr || !request_->keeps_paces) return std::nullopt;
  complete();
  PatternPace pace{.is_held = is_held()};
  std::vector<double> reached(link_count(cluster_), 1);
  for (std::size_t edge = 0; edge < types_.size(); ++edge) {
    const double part = efficiency(types_[edge], slower_, overheads_, protocol_);
    const double flows = types_[edge] == PathType::network ? flows_per_edge : 1.0;
    pace.connections = std::min(pace.connections, limits_[edge] * flows * part);
    for (const LinkId link : pattern_.route(edge))
      reached[index(link)] = std::min(reached[index(link)], part);
  }
  for (const LinkUse& use : link_uses(pattern_))
    pace.links.push_back({use.link, use.times, reached[index(use.link)]});
  return pace;
}

double PatternMaker::startup() {
  complete();
  double most = 0;
  for (const PathType type : types_) most = std::max(most, trainyard::startup(type, slower_, overheads_));
  return most;
}

PatternMaker::Path PatternMaker::longest_path() {
  complete();
  std::vector<Path> until(types_.size());
  Path longest;
  for (std::size_t edge = 0; edge < until.size(); ++edge) {
    Path& way = until[edge];
    for (const std::int32_t before : pattern_.passed_on_by(edge)) {
      way.edges = std::max(way.edges, until[at(before)].edges);
      way.latency = std::max(way.latency, until[at(before)].latency);
    }
    ++way.edges;
    way.latency += latencies_[edge];
    longest.edges = std::max(longest.edges, way.edges);
    longest.latency = std::max(longest.latency, way.latency);
  }
  return longest;
}

std::vector<NodeShare> node_shares(const Cluster& cluster, std::span<const Rank> group) {
  std::vector<NodeShare> shares;
  for (std::size_t i = 0; i < group.size();) {
    const NodeId node = cluster.node_of(group[i]);
    const int end = cluster.first_rank[at(index(node)) + 1];
    std::size_t count = 1;
    while (i + count < group.size() && index(group[i + count]) < end) ++count;
    shares.push_back({node, group.subspan(i, count)});
    i += count;
  }
  return shares;
}

std::size_t node_count(const Cluster& cluster, std::span<const Rank> group) {
  return fills_alike_nodes(cluster, group) ? at(cluster.nodes) : node_shares(cluster, group).size();
}

std::vector<int> gpus_of(const Cluster& cluster, NodeId node, std::span<const Rank> ranks) {
  std::vector<int> gpus;
  for (const Rank rank : ranks) gpus.push_back(index(rank) - cluster.first_rank[at(index(node))]);
  return gpus;
}

double flows_per_channel(const Cluster& cluster, std::span<const Rank> group, std::size_t channels) {
  const auto nodes = static_cast<double>(node_count(cluster, group));
  return std::max(1.0, static_cast<double>(group.size()) / nodes / static_cast<double>(channels));
}

PhasePlan rounds_phase(const CollectivePlan& plan, int messages, double share, Seconds latency,
                       Bandwidth limit, double startup) {
  return {.pattern = static_cast<int>(plan.patterns.size()),
          .messages = messages,
          .share = share,
          .hops = 0,
          .latency = latency,
          .limit = limit,
          .startup = plan.phases.empty() ? startup : 0};
}

PhasePlan chunked_phase(const CollectivePlan& plan, const PatternMaker::Path& longest, double share,
                        Bandwidth limit) {
  return {.pattern = static_cast<int>(plan.patterns.size()),
          .messages = 0,
          .share = share,
          .hops = longest.edges,
          .latency = longest.latency / longest.edges,
          .limit = limit,
          .startup = 0};
}

void add_rounds(CollectivePlan& plan, PatternMaker& maker, int messages, double share, Seconds latency,
                double flows_per_edge) {
  plan.phases.push_back(
      rounds_phase(plan, messages, share, latency, maker.limit(flows_per_edge), maker.startup()));
  add_pattern(plan, maker, flows_per_edge);
}

void add_sums(CollectivePlan& plan, const ProtocolOverheads& overheads, double part) {
  PhasePlan& phase = plan.phases.back();
  if (part <= 0 || !std::isfinite(overheads.sums.si())) return;
  const Bandwidth rate = overheads.sums / part;
  if (phase.hops == 0 && !overheads.sums_beside) {
    phase.sums = rate;
  } else {
    phase.limit = std::min(phase.limit, rate);
  }
}

double summed_part(Operation operation) {
  if (operation == Operation::all_reduce) return 0.5;
  return operation == Operation::reduce_scatter || operation == Operation::reduce ? 1 : 0;
}

void slow_down(CollectivePlan& plan, int messages, Bandwidth limit) {
  PhasePlan rest = plan.phases.front();
  PhasePlan& slow = plan.phases.front();
  slow.messages = messages;
  slow.limit = std::min(slow.limit, limit);
  rest.messages -= messages;
  rest.startup = 0;
  if (rest.messages > 0) plan.phases.push_back(rest);
}

void add_turns(CollectivePlan& plan, const ProtocolOverheads& overheads, Bandwidth rate, double part,
               int rings) {
  if (!overheads.between || part <= 0) return;
  const BetweenOverheads& between = *overheads.between;
  const int started = channels_between(rings, between.nic, between.compute_capability).started;
  plan.phases.back().ring_turns = {.turn = between.turn[static_cast<std::size_t>(plan.protocol)],
                                   .channels = std::max(1.0, static_cast<double>(started) / rings),
                                   .part = part,
                                   .rate = rate,
                                   .is_ll128 = plan.protocol == Protocol::ll128};
}

void add_tree_turns(CollectivePlan& plan, const ProtocolOverheads& overheads, int nodes, int ranks,
                    int rings) {
  if (!overheads.between) return;
  const BetweenOverheads& between = *overheads.between;
  const auto protocol = static_cast<std::size_t>(plan.protocol);
  const int started = channels_between(rings, between.nic, between.compute_capability).started;
  const double part = nodes > 2 ? 1 : between.of_two;
  constexpr int trees = 2;
  plan.phases.back().tree_turns = {.chunk = between.chunk[protocol] * part,
                                   .rate = between.channel[protocol] / part,
                                   .channels = std::max(1.0, static_cast<double>(started) / rings) / trees,
                                   .all_channels = std::max(started, rings),
                                   .nodes = nodes,
                                   .per_node = static_cast<double>(ranks) / nodes,
                                   .is_ll128 = plan.protocol == Protocol::ll128};
}

ProtocolOverheads for_trees(const ProtocolOverheads& overheads) {
  ProtocolOverheads of_trees = overheads;
  if (overheads.between)
    of_trees.step[static_cast<std::size_t>(PathType::network)] = overheads.between->tree_step;
  return of_trees;
}

void repeat_rounds(CollectivePlan& plan, std::size_t phase) {
  PhasePlan again = plan.phases[phase];
  again.startup = 0;
  again.sums = PhasePlan{}.sums;
  plan.phases.push_back(again);
}

void add_chunked(CollectivePlan& plan, PatternMaker& maker, double share, double flows_per_edge) {
  plan.phases.push_back(chunked_phase(plan, maker.longest_path(), share, maker.pace(flows_per_edge)));
  add_pattern(plan, maker, flows_per_edge);
}

}  // namespace trainyard
