#include "exports/astra_configs.hpp"

#include "compute/op_time.hpp"
#include "config/diagnostic.hpp"
#include "config/fields.hpp"
#include "platform/plausible_limits.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

/// The sum of the latencies of so many links; 0 if each is the shortest that a platform may state, which
/// stands for none (interchange/astra_platform.cpp).
Seconds unless_shortest(Seconds latency, std::size_t links) {
  const double shortest = static_cast<double>(links) * config::least_latency;
  return latency.si() > 1.5 * shortest ? latency : Seconds{};
}

class NetworkOfCluster {
public:
  explicit NetworkOfCluster(const Cluster& cluster) : cluster_(cluster) {}

  AstraNetwork make() {
    if (cluster_.like_first != cluster_.nodes)
      refuse("nodes have different numbers of ranks", "equally many ranks on each node");
    network_.file = cluster_.platform.name;
    if (on_node() > 1) add_node();
    if (cluster_.nodes > 1) add_fabric();
    if (network_.dimensions.empty()) refuse("one rank has no network", "two GPUs or more");
    return std::move(network_);
  }

private:
  [[noreturn]] static void refuse(const std::string& what, const std::string& hint = {}) {
    throw InputError(what, hint);
  }

  [[nodiscard]] int on_node() const { return cluster_.gpus_on_node.front(); }

  void add(AstraTopology topology, int count, Bandwidth bandwidth, Seconds latency) {
    network_.dimensions.push_back(
        {.topology = topology, .count = count, .bandwidth = bandwidth, .latency = latency});
  }

  // ---- the GPUs of a node

  /// The route between two of them, if it has so many links.
  [[nodiscard]] std::optional<Route> route_of(int one, int other, std::size_t links) const {
    const NodePath& path = path_inside(cluster_, Rank{one}, Rank{other});
    if (!path.reachable || path.links.size() != links) return std::nullopt;
    return route(cluster_, Rank{one}, Rank{other});
  }

  [[nodiscard]] Bandwidth rate_of_link(const Route& its) const {
    Bandwidth rate = its.limit;
    for (const LinkId link : its.links) rate = std::min(rate, capacity(cluster_, link));
    return rate;
  }

  void add_node() {
    const auto direct = [&](int one, int other) { return route_of(one, other, 1).has_value(); };
    int joined = 0;
    for (int one = 0; one < on_node(); ++one) {
      for (int other = one + 1; other < on_node(); ++other) joined += direct(one, other) ? 1 : 0;
    }
    const int pairs = on_node() * (on_node() - 1) / 2;
    if (joined == 0) {
      add_switch();
    } else if (joined == pairs) {
      add_direct(on_node() == 2 ? AstraTopology::ring : AstraTopology::fully_connected);
    } else {
      bool is_ring = joined == on_node();
      for (int one = 0; one < on_node(); ++one) is_ring = is_ring && direct(one, (one + 1) % on_node());
      if (!is_ring)
        refuse(fmt::format("{} of the {} pairs of GPUs of a node are linked, in no ring of their order",
                           joined, pairs),
               "dimensions of ASTRA-sim are a Ring, FullyConnected or a Switch");
      add_direct(AstraTopology::ring);
    }
  }

  void add_direct(AstraTopology topology) {
    std::optional<Route> first;
    for (int one = 0; one < on_node(); ++one) {
      for (int other = one + 1; other < on_node(); ++other) {
        const std::optional<Route> its = route_of(one, other, 1);
        if (!its) continue;
        if (!first) first = its;
        check_alike(rate_of_link(*its) == rate_of_link(*first) && its->latency == first->latency);
      }
    }
    add(topology, on_node(), rate_of_link(*first), unless_shortest(first->latency, 1));
  }

  static void check_alike(bool is_alike) {
    if (!is_alike)
      refuse("the links between the GPUs of a node differ", "a dimension of ASTRA-sim has equal links");
  }

  /// All GPUs have one link, which leads to one device.
  void add_switch() {
    std::optional<Route> first;
    for (int one = 0; one < on_node(); ++one) {
      std::optional<LinkId> own;
      for (int other = 0; other < on_node(); ++other) {
        if (other == one) continue;
        const std::optional<Route> its = route_of(one, other, 2);
        if (!its)
          refuse("GPUs of a node are joined through several devices in a row",
                 "a Switch of ASTRA-sim is one device with a link to each GPU");
        if (!own) own = its->links.front();
        if (!first) first = its;
        check_alike(*own == its->links.front() && rate_of_link(*its) == rate_of_link(*first) &&
                    its->latency == first->latency);
      }
    }
    add(AstraTopology::switched, on_node(), rate_of_link(*first), unless_shortest(first->latency, 2) / 2.0);
  }

  // ---- the nodes

  /// A GPU's rate if all of a node send to those of another node, and the latency of one message.
  struct BetweenNodes {
    Bandwidth rate{std::numeric_limits<double>::infinity()};
    Seconds latency;
  };

  /// The latency of a route less the parts that stand for none.
  [[nodiscard]] Seconds latency_stated(const Route& its, const WayBetween& way) const {
    Seconds latency = its.latency;
    for (const NodePath* const path : {way.out, way.in})
      latency = latency - path->latency + unless_shortest(path->latency, path->links.size());
    const Seconds fabric = cluster_.platform.fabric.latency.value;
    return latency - fabric + unless_shortest(fabric, 1);
  }

  [[nodiscard]] BetweenNodes between(int one, int other) const {
    std::map<LinkId, int> users;
    BetweenNodes made;
    for (int gpu = 0; gpu < on_node(); ++gpu) {
      const Rank from{one * on_node() + gpu};
      const Rank to{other * on_node() + gpu};
      const Route its = route(cluster_, from, to);
      for (const LinkId link : its.links) ++users[link];
      made.rate = std::min(made.rate, its.limit);
      made.latency = std::max(made.latency, latency_stated(its, way_between(cluster_, from, to, -1)));
    }
    for (const auto& [link, number] : users)
      made.rate = std::min(made.rate, capacity(cluster_, link) / static_cast<double>(number));
    return made;
  }

  void add_fabric() {
    const Fabric& fabric = cluster_.platform.fabric;
    switch (fabric.kind) {
      case FabricKind::torus2d:
      case FabricKind::torus3d:
        add_torus();
        return;
      case FabricKind::fat_tree:
        for (const TreeLevel& level : fabric.levels) {
          if (level.oversubscription.value > 1 && level.nodes_per_switch.value < cluster_.nodes)
            refuse("a fat tree that blocks (oversubscription)", "a Switch of ASTRA-sim never blocks");
        }
        break;
      case FabricKind::rail_optimised:
        if (fabric.rail.nodes_per_rail.value < cluster_.nodes && fabric.rail.oversubscription.value > 1)
          refuse("rails of several units whose spine blocks (oversubscription)",
                 "a Switch of ASTRA-sim never blocks");
        break;
      case FabricKind::single_switch:
        break;
      default:
        refuse(fmt::format("a fabric of kind {}", config::name_of(fabric.kind)),
               "dimensions of ASTRA-sim are a Ring, FullyConnected or a Switch");
    }
    const BetweenNodes its = between(0, cluster_.nodes - 1);
    add(AstraTopology::switched, cluster_.nodes, its.rate, its.latency / 2.0);
  }

  void add_torus() {
    const TorusShape& torus = cluster_.platform.fabric.torus;
    int routers = 1;
    for (const int count : torus.dimensions) routers *= count;
    if (routers != cluster_.nodes)
      refuse(fmt::format("{} of a torus of {}", plural(cluster_.nodes, "node"), routers), "all of its nodes");
    int stride = 1;
    for (const int count : torus.dimensions) {
      if (count > 1) {
        const BetweenNodes its = between(0, stride);
        add(AstraTopology::ring, count, its.rate, its.latency);
      }
      stride *= count;
    }
  }

  const Cluster& cluster_;
  AstraNetwork network_;
};

/// Words of ASTRA-sim for an algorithm, one for each dimension, or a single one for all.
struct AlgorithmWords {
  std::vector<std::string> words;
  bool is_by_dimension = false;
  std::string comment = {};
};

AlgorithmWords words_of_algorithm(Algorithm algorithm, int dimensions) {
  const bool is_one = dimensions == 1;
  const auto in_each = [&](const char* word) { return std::vector<std::string>(at(dimensions), word); };
  switch (algorithm) {
    case Algorithm::ring:
      return {{is_one ? "ring" : "oneRing"}};
    case Algorithm::direct:
      return {{is_one ? "direct" : "oneDirect"}};
    case Algorithm::halving_doubling:
      return {{is_one ? "halvingDoubling" : "oneHalvingDoubling"}};
    case Algorithm::hierarchical:
      return {in_each("ring"), true};
    case Algorithm::torus2d:
      if (dimensions == 2) return {in_each("ring"), true};
      break;
    case Algorithm::hierarchical_tree:
      if (dimensions == 2) return {{"ring", "doubleBinaryTree"}, true};
      break;
    default:
      break;
  }
  return {
      {is_one ? "ring" : "oneRing"},
      false,
      fmt::format("ASTRA-sim has no algorithm like {}: a ring is in its place", config::name_of(algorithm))};
}

/// Of the largest all-reduce; a ring if there is none.
Algorithm algorithm_of(const Run& run) {
  const std::vector<Collective>& all = step_of(run).plan.graph.collectives;
  const Collective* largest = nullptr;
  for (const Collective& one : all) {
    if (one.operation != Operation::all_reduce) continue;
    if (largest == nullptr || one.size > largest->size) largest = &one;
  }
  return largest == nullptr ? Algorithm::ring : largest->label.algorithm;
}

}  // namespace

AstraNetwork astra_network_of(const Cluster& cluster) { return NetworkOfCluster(cluster).make(); }

AstraSystemText astra_system_text(const Run& run, int dimensions) {
  const AlgorithmWords algorithm = words_of_algorithm(algorithm_of(run), dimensions);
  const ResolvedExperiment& resolved = run.experiment;
  const bool is_one_word = algorithm.words.size() == 1 && dimensions > 1;
  const auto others =
      is_one_word ? std::vector<std::string>{"oneRing"} : std::vector<std::string>(at(dimensions), "ring");
  nlohmann::ordered_json root;
  root["scheduling-policy"] = "FIFO";
  root["endpoint-delay"] = 1;
  root["active-chunks-per-dimension"] = 1;
  root["preferred-dataset-splits"] = 4;
  root["all-reduce-implementation"] = algorithm.words;
  root["all-gather-implementation"] = others;
  root["reduce-scatter-implementation"] = others;
  root["all-to-all-implementation"] = is_one_word ? std::vector<std::string>{"oneDirect"}
                                                  : std::vector<std::string>(at(dimensions), "direct");
  root["collective-optimization"] = algorithm.is_by_dimension ? "localBWAware" : "baseline";
  root["peak-perf"] = peak_rate(resolved.gpu, resolved.settings.precision).si() / 1e12;
  root["local-mem-bw"] = resolved.gpu.memory.bandwidth.value.si() / 1e9;
  root["roofline-enabled"] = 0;  // ops have their durations
  root["boost-mode"] = 0;
  AstraSystemText made{.text = root.dump(2) + '\n', .comments = {}};
  if (!algorithm.comment.empty()) made.comments.push_back(algorithm.comment);
  return made;
}

}  // namespace trainyard
