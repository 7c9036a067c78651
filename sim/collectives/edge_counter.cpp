#include "collectives/edge_counter.hpp"

#include "platform/channels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

constexpr Bandwidth no_limit{std::numeric_limits<double>::infinity()};

std::size_t number_of(PathType type) { return static_cast<std::size_t>(type); }

/// The plan whose patterns have edges, made when the first of them is asked for.
class ListedPatterns {
public:
  ListedPatterns(const Cluster& cluster, ProtocolOverheads overheads, const CollectiveRequest& request,
                 ListedPlan plan)
      : cluster_(cluster), overheads_(overheads), request_(request), plan_(plan) {
    request_.group.clear();  // all ranks
    request_.edges = PatternEdges::listed;
  }

  const Pattern& pattern(std::size_t number) {
    if (patterns_.empty()) {
      request_.group = all_ranks(cluster_);
      patterns_ = plan_(cluster_, overheads_, request_).patterns;
      request_.group.clear();
    }
    return patterns_[number];
  }

private:
  const Cluster& cluster_;
  ProtocolOverheads overheads_;
  CollectiveRequest request_;
  ListedPlan plan_;
  std::vector<Pattern> patterns_;
};

}  // namespace

bool can_count(const Cluster& cluster, const CollectiveRequest& request) {
  const bool is_asked = request.edges == PatternEdges::counted ||
                        (request.edges == PatternEdges::by_ranks && request.group.size() > most_ranks_listed);
  return is_asked && !request.keeps_paces && request.concurrent.empty() && cluster.nodes > 1 &&
         fills_alike_nodes(cluster, request.group);
}

EdgeCounter::EdgeCounter(const Cluster& cluster, const ProtocolOverheads& overheads, Protocol protocol)
    : cluster_(cluster),
      overheads_(overheads),
      protocol_(protocol),
      per_node_(cluster.gpus_on_node.front()),
      across_(cluster.network->route_counter()),
      kinds_(2 + cluster.platform.nics.size()),
      limits_(path_types, no_limit) {}

EdgeCounter::Edge EdgeCounter::add(Rank from, Rank to, int nic) {
  const Kind& edge_kind = kind(from, to, nic);
  const int node = index(from) / per_node_;
  ++edge_count_;
  count(edge_kind.out, node);
  if (edge_kind.in < 0) return edge_kind.inside;
  const int to_node = index(to) / per_node_;
  count(edge_kind.in, to_node);
  const auto across = across_->add({node, edge_kind.way.nic_out}, {to_node, edge_kind.way.nic_in});
  if (!across) (void)route(cluster_, from, to, nic);  // says what is missing
  const RouteSummary way = route_over(cluster_, edge_kind.way, *across);
  const Edge edge{message_latency(way, overheads_, protocol_), way.type};
  largest_latency_ = std::max(largest_latency_, edge.latency);
  return edge;
}

EdgeCounter::Edge EdgeCounter::add_on_all(int from_gpu, int to_gpu, int times) {
  const Kind& edge_kind = kind(rank_of(0, from_gpu), rank_of(0, to_gpu), -1);
  parts_[at(edge_kind.out)].on_all += times;
  edge_count_ += static_cast<std::int64_t>(times) * cluster_.nodes;
  return edge_kind.inside;
}

void EdgeCounter::remove(int node, int from_gpu, int to_gpu) {
  count(kind(rank_of(0, from_gpu), rank_of(0, to_gpu), -1).out, node, -1);
  --edge_count_;
}

EdgeCounter::Edge EdgeCounter::add_between(int from_node, int from_gpu, int to_node, int to_gpu, int nic) {
  return add(rank_of(from_node, from_gpu), rank_of(to_node, to_gpu), nic);
}

const EdgeCounter::Kind& EdgeCounter::kind(Rank from, Rank to, int nic) {
  const bool is_inside = index(from) / per_node_ == index(to) / per_node_;
  std::vector<std::optional<Kind>>& kinds = kinds_[at(nic - own_nics)];
  const std::size_t pairs = at(per_node_) * at(per_node_);
  if (kinds.empty()) kinds.resize(2 * pairs);
  std::optional<Kind>& found = kinds[(is_inside ? pairs : 0) + at(index(from) % per_node_) * at(per_node_) +
                                     at(index(to) % per_node_)];
  if (!found) found = made_kind(from, to, nic, is_inside);
  return *found;
}

EdgeCounter::Kind EdgeCounter::made_kind(Rank from, Rank to, int nic, bool is_inside) {
  Kind made;
  std::vector<LinkId> links;
  if (is_inside) {
    const RouteSummary way = append_route(cluster_, from, to, nic, links);
    const std::uint32_t first =
        links_per_node(cluster_) * static_cast<std::uint32_t>(index(from) / per_node_);
    std::vector<std::uint32_t> numbers;
    for (const LinkId link : links) numbers.push_back(index(link) - first);
    made.out = part(std::move(numbers), way.type);
    made.inside = {message_latency(way, overheads_, protocol_), way.type};
    largest_latency_ = std::max(largest_latency_, made.inside.latency);
    note(way);
    return made;
  }
  made.way = way_between(cluster_, from, to, nic);
  std::vector<std::uint32_t> out;
  if (made.way.to_sender != nullptr) out = made.way.to_sender->links;
  out.insert(out.end(), made.way.out->links.begin(), made.way.out->links.end());
  out.push_back(nic_link_in_node(cluster_, made.way.nic_out, false));
  std::vector<std::uint32_t> in{nic_link_in_node(cluster_, made.way.nic_in, true)};
  in.insert(in.end(), made.way.in->links.begin(), made.way.in->links.end());
  made.out = part(std::move(out), PathType::network);
  made.in = part(std::move(in), PathType::network);
  note(route_over(cluster_, made.way, {}));
  return made;
}

int EdgeCounter::part(std::vector<std::uint32_t> links, PathType type) {
  std::vector<std::uint32_t> key = links;
  key.push_back(static_cast<std::uint32_t>(type));
  const auto [found, is_new] = known_parts_.try_emplace(std::move(key), static_cast<int>(parts_.size()));
  if (is_new) parts_.push_back({.links = std::move(links), .type = type});
  return found->second;
}

void EdgeCounter::count(int part, int node, int edges) {
  std::vector<int>& on_node = parts_[at(part)].on_node;
  if (on_node.empty()) on_node.resize(at(cluster_.nodes), 0);
  on_node[at(node)] += edges;
}

void EdgeCounter::note(const RouteSummary& way) {
  has_type_[number_of(way.type)] = true;
  Bandwidth& limit = limits_[number_of(way.type)];
  limit = std::min(limit, way.limit);
  take_slower(slower_, way.type);
}

bool EdgeCounter::keeps_pace(const Edge& edge) const {
  return trainyard::keeps_pace(edge.type, overheads_, protocol_);
}

bool EdgeCounter::are_alike(int node, int other) const {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    return part.on_node.empty() || part.on_node[at(node)] == part.on_node[at(other)];
  });
}

void EdgeCounter::add_node_links(int node, int repeats) {
  std::vector<int> times(links_per_node(cluster_), 0);
  std::vector<double> reached(times.size(), 1);
  for (const Part& part : parts_) {
    const int count = part.on_all + (part.on_node.empty() ? 0 : part.on_node[at(node)]);
    if (count == 0) continue;
    const double rate = efficiency(part.type, slower_, overheads_, protocol_);
    for (const std::uint32_t link : part.links) {
      times[link] += count;
      reached[link] = std::min(reached[link], rate);
    }
  }
  times_.append(times, unsigned_of(repeats));
  efficiencies_.append(reached, unsigned_of(repeats));
}

void EdgeCounter::sum() {
  if (is_summed_) return;
  is_summed_ = true;
  for (int node = 0; node < cluster_.nodes;) {
    int end = node + 1;
    while (end < cluster_.nodes && are_alike(node, end)) ++end;
    add_node_links(node, end - node);
    node = end;
  }
  const std::vector<int> counts = across_->counts();
  const std::size_t of_switch = cluster_.network->links_of_switch();
  const std::span<const int> all(counts);
  for (std::size_t first = 0; first < counts.size(); first += of_switch)
    times_.append(all.subspan(first, std::min(of_switch, counts.size() - first)));
  const double reached[] = {efficiency(PathType::network, slower_, overheads_, protocol_)};
  efficiencies_.append(reached, static_cast<std::uint32_t>(counts.size()));
}

double EdgeCounter::startup() const {
  double most = 0;
  for (std::size_t type = 0; type < path_types; ++type) {
    if (has_type_[type])
      most = std::max(most, trainyard::startup(static_cast<PathType>(type), slower_, overheads_));
  }
  return most;
}

bool EdgeCounter::is_held() const {
  for (std::size_t type = 0; type < path_types; ++type) {
    const auto path = static_cast<PathType>(type);
    if (has_type_[type] &&
        (std::isfinite(limits_[type].si()) || trainyard::startup(path, slower_, overheads_) > 0 ||
         efficiency(path, slower_, overheads_, protocol_) < 1))
      return true;
  }
  return false;
}

Bandwidth EdgeCounter::pace(double flows_per_edge) {
  sum();
  Bandwidth slowest = no_limit;
  for (int type = 0; type < path_types; ++type) {
    if (!has_type_[at(type)]) continue;
    const auto of_edge = static_cast<PathType>(type);
    const double flows = of_edge == PathType::network ? flows_per_edge : 1.0;
    slowest =
        std::min(slowest, limits_[at(type)] * flows * efficiency(of_edge, slower_, overheads_, protocol_));
  }
  LinkValues<Bandwidth> shares;
  std::vector<Bandwidth> block;
  times_.for_each_part_with(link_capacities(cluster_),
                            [&](std::uint32_t, std::span<const int> times,
                                std::span<const Bandwidth> of_links, std::uint32_t repeats) {
                              block.clear();
                              for (std::size_t i = 0; i < times.size(); ++i)
                                block.push_back(times[i] > 0 ? of_links[i] / times[i] : no_limit);
                              shares.append(block, repeats);
                            });
  shares.for_each_part_with(efficiencies_, [&](std::uint32_t, std::span<const Bandwidth> of_links,
                                               std::span<const double> reached, std::uint32_t) {
    for (std::size_t i = 0; i < of_links.size(); ++i) slowest = std::min(slowest, of_links[i] * reached[i]);
  });
  return slowest;
}

Bandwidth EdgeCounter::limit(double flows_per_edge) { return is_held() ? pace(flows_per_edge) : no_limit; }

Pattern EdgeCounter::take() {
  sum();
  Pattern pattern;
  pattern.counted = std::move(times_);
  pattern.summed_edges = edge_count_;
  return pattern;
}

void RingCounter::end_ring() {
  Seconds pace;
  for (const EdgeCounter::Edge& edge : ring_) {
    if (edges_.keeps_pace(edge)) pace = std::max(pace, edge.latency);
  }
  Seconds sum;
  for (const EdgeCounter::Edge& edge : ring_) sum += edges_.keeps_pace(edge) ? pace : edge.latency;
  largest_ = std::max(largest_, sum / static_cast<double>(ring_.size()));
  ring_.clear();
}

void add_rounds(CollectivePlan& plan, EdgeCounter& edges, int messages, double share, Seconds latency,
                double flows_per_edge) {
  plan.phases.push_back(
      rounds_phase(plan, messages, share, latency, edges.limit(flows_per_edge), edges.startup()));
  plan.patterns.push_back(edges.take());
}

void add_chunked(CollectivePlan& plan, EdgeCounter& edges, PatternMaker::Path way, double share,
                 double flows_per_edge) {
  plan.phases.push_back(chunked_phase(plan, way, share, edges.pace(flows_per_edge)));
  plan.patterns.push_back(edges.take());
}

void add_sources(CollectivePlan& plan, const Cluster& cluster, const ProtocolOverheads& overheads,
                 const CollectiveRequest& request, ListedPlan listed) {
  const auto patterns = std::make_shared<ListedPatterns>(cluster, overheads, request, listed);
  for (std::size_t i = 0; i < plan.patterns.size(); ++i) {
    plan.patterns[i].source = std::make_shared<const EdgeSource>(
        [patterns, i]() -> const Pattern& { return patterns->pattern(i); });
  }
}

}  // namespace trainyard
