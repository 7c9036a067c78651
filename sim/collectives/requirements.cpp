#include "collectives/requirements.hpp"

#include "collectives/nvls.hpp"
#include "collectives/torus2d.hpp"
#include "config/diagnostic.hpp"
#include "platform/channels.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string objection_to_nodes(const Cluster& cluster, std::span<const Rank> group) {
  if (cluster.nodes > 1 && fills_alike_nodes(cluster, group)) return {};
  const std::vector<NodeShare> shares = node_shares(cluster, group);
  if (shares.size() < 2) return "all ranks are on one node";
  const auto [fewest, most] =
      std::ranges::minmax_element(shares, {}, [](const NodeShare& share) { return share.ranks.size(); });
  if (fewest->ranks.size() == most->ranks.size()) return {};
  return fmt::format("every node needs the same number of ranks, but node {} has {} and node {} has {}",
                     index(fewest->node), fewest->ranks.size(), index(most->node), most->ranks.size());
}

std::string objection_to_switches(const Cluster& cluster, const CollectiveRequest& request) {
  if (request.protocol != Protocol::simple)
    return fmt::format("it has only protocol {}", config::name_of(Protocol::simple));
  if (node_count(cluster, request.group) > 1) return "the ranks are on several nodes";
  if (adding_switch(cluster, request.group)) return {};
  return "no NVSwitch with NVLinks of the fourth generation or later, which adds, joins them";
}

std::string objection_to_grid(const Cluster& cluster, const CollectiveRequest& request) {
  const std::size_t ranks = request.group.size();
  if (request.grid) {
    const auto [columns, rows] = *request.grid;
    const std::size_t places = at(columns) * at(rows);
    if (places == ranks) return {};
    return fmt::format("a grid of {} columns and {} rows has {} places", columns, rows, places);
  }
  if (torus_grid(cluster, request.group)) return {};
  return ranks < 4 ? "a grid needs at least 4 ranks"
                   : fmt::format("{} is a prime number, so the ranks form no grid", ranks);
}

/// Objections to the operation and to the numbers of ranks.
std::string objection_to_counts(const Cluster& cluster, const CollectiveRequest& request,
                                Algorithm algorithm) {
  if (!carries_out(algorithm, request.operation)) return "the algorithm does not support the operation";
  const std::size_t ranks = request.group.size();
  switch (algorithm) {
    case Algorithm::hierarchical:
    case Algorithm::hierarchical_tree:
      return objection_to_nodes(cluster, request.group);
    case Algorithm::torus2d:
      return objection_to_grid(cluster, request);
    case Algorithm::halving_doubling:
    case Algorithm::recursive_doubling:
      if (request.operation == Operation::all_reduce || request.operation == Operation::reduce ||
          std::has_single_bit(ranks))
        break;
      return fmt::format("{} is not a power of two", ranks);
    case Algorithm::nvls:
      return objection_to_switches(cluster, request);
    default:
      break;
  }
  return {};
}

/// The objection if the algorithm needs rings of NVLinks inside nodes and there is only a chain.
std::string objection_to_links(const Cluster& cluster, const CollectiveRequest& request,
                               Algorithm algorithm) {
  const bool is_ring = algorithm == Algorithm::ring;
  if (!is_ring && algorithm != Algorithm::hierarchical && algorithm != Algorithm::hierarchical_tree)
    return {};
  const std::vector<NodeShare> shares = node_shares(cluster, request.group);
  if (is_ring && shares.size() > 1) return {};
  const std::vector<Rank>& group = request.group;
  // thousands of nodes may use the same GPUs: checked once for each run of equal ones
  std::vector<int> last;
  for (const NodeShare& share : shares) {
    std::vector<int> gpus = gpus_of(cluster, share.node, share.ranks);
    if (gpus == last) continue;
    const std::vector<Channel> channels = ring_channels(cluster, is_ring ? std::span(group) : share.ranks);
    if (!channels.empty() && channels.front().is_chain) return no_ring(share.ranks.size());
    last = std::move(gpus);
  }
  return {};
}

}  // namespace

bool carries_out(Algorithm algorithm, Operation operation) {
  const bool is_ring_like = operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
                            operation == Operation::all_gather;
  switch (algorithm) {
    case Algorithm::ring:
      return is_ring_like || is_whole_with_root(operation);
    case Algorithm::chain:
    case Algorithm::tree:
      return operation == Operation::all_reduce || is_whole_with_root(operation);
    case Algorithm::hierarchical:
    case Algorithm::torus2d:
      return is_ring_like;
    case Algorithm::halving_doubling:
      return is_ring_like || operation == Operation::reduce;
    case Algorithm::binomial:
      return is_whole_with_root(operation);
    case Algorithm::scatter_allgather:
      return operation == Operation::broadcast;
    case Algorithm::hierarchical_tree:
    case Algorithm::nvls:
      return operation == Operation::all_reduce;
    case Algorithm::recursive_doubling:
      return operation == Operation::all_reduce || operation == Operation::all_gather;
    case Algorithm::direct:
    case Algorithm::automatic:
      break;
  }
  return true;
}

std::string objection(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm) {
  if (request.group.size() < 2 && carries_out(algorithm, request.operation)) return {};
  const std::string counts = objection_to_counts(cluster, request, algorithm);
  return counts.empty() ? objection_to_links(cluster, request, algorithm) : counts;
}

std::vector<Algorithm> possible_algorithms(const Cluster& cluster, const CollectiveRequest& request) {
  std::vector<Algorithm> possible;
  for (const auto& name : config::Names<Algorithm>::table) {
    if (name.value != Algorithm::automatic && objection(cluster, request, name.value).empty())
      possible.push_back(name.value);
  }
  return possible;
}

void require(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm) {
  if (has_root(request.operation) && std::ranges::find(request.group, request.root) == request.group.end()) {
    throw InputError(fmt::format("root {} is not one of the {} ranks of the {}", index(request.root),
                                 request.group.size(), config::name_of(request.operation)),
                     "use a rank of the group as root");
  }
  if (request.group.size() < 2 && carries_out(algorithm, request.operation)) return;
  const std::string reason = objection_to_counts(cluster, request, algorithm);
  if (!reason.empty()) refuse(cluster, request, algorithm, reason);
}

void refuse(const Cluster& cluster, const CollectiveRequest& request, Algorithm algorithm,
            const std::string& reason) {
  std::string possible;
  for (const Algorithm other : possible_algorithms(cluster, request)) {
    possible += possible.empty() ? "" : ", ";
    possible += config::name_of(other);
  }
  throw InputError(fmt::format("{} cannot carry out {} on these {} ranks: {}", config::name_of(algorithm),
                               config::name_of(request.operation), request.group.size(), reason),
                   "algorithm: " + possible);
}

std::string no_ring(std::size_t gpus) {
  return fmt::format("the NVLinks form a chain through the {} GPUs of a node, but no ring", gpus);
}

}  // namespace trainyard
