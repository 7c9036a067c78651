#pragma once
// The links of a fabric between the NICs of a number of nodes. Links are numbered and computed on demand, so
// 8,192 nodes cost no more than two.

#include "platform/fabric.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// One NIC of one node.
struct Port {
  int node = 0;
  int nic = 0;
};

/// Rates of one directed link.
struct LinkRates {
  Bandwidth effective;  ///< used by the simulation
  Bandwidth specified;  ///< by specification
  bool is_assumed = false;
};

/// The rates of a link with this specified rate and the fabric's efficiency. `is_assumed`: a figure that
/// gives the rate is.
inline LinkRates link_rates(const Fabric& fabric, Bandwidth specified, bool is_assumed) {
  return {specified * reached(fabric), specified, is_assumed};
}
inline LinkRates link_rates(const Fabric& fabric, const Sourced<Bandwidth>& specified) {
  return link_rates(fabric, specified.value, specified.is_assumed());
}

/// Nodes of one party reach those of the others over links that carry `rate` in total, by specification.
struct NarrowCut {
  std::function<int(int)> party_of_node;  ///< from 0; null: every node is a party
  Bandwidth rate;                         ///< out of one party
};

/// Counts the routes over each link of a fabric, without a list of the links of each route.
class RouteCounter {
public:
  RouteCounter() = default;
  virtual ~RouteCounter() = default;
  RouteCounter(const RouteCounter&) = delete;
  RouteCounter& operator=(const RouteCounter&) = delete;
  /// Counts a route from NIC to NIC. Returns its latency as FabricNetwork::append_route(); empty if there is
  /// none.
  virtual std::optional<Seconds> add(Port from, Port to) = 0;
  /// The routes over each link so far, by number in the fabric.
  [[nodiscard]] virtual std::vector<int> counts() const = 0;
};

/// Keys of the platform file with the specified rates of the fabric's links.
struct LinkKeys {
  std::string_view topology;  ///< "torus"
  std::vector<std::pair<std::string_view, Bandwidth>> rates;
};

/// A count as an unsigned number of links.
constexpr std::uint32_t unsigned_of(int count) { return static_cast<std::uint32_t>(count); }

/// All NICs on one switch that never blocks: there are no links between two NICs, only latency. Each other
/// kind of fabric is a class of its own, made by its definition (fabric_definition.hpp).
class FabricNetwork {
public:
  explicit FabricNetwork(const Fabric& fabric)
      : latency_(fabric.latency.value), hop_latency_(fabric.hop_latency.value) {}
  virtual ~FabricNetwork() = default;
  FabricNetwork(const FabricNetwork&) = delete;
  FabricNetwork& operator=(const FabricNetwork&) = delete;

  /// Number of directed links.
  [[nodiscard]] virtual std::uint32_t links() const { return 0; }
  [[nodiscard]] virtual LinkRates rates(std::uint32_t /*link*/) const { return {}; }
  /// "leaf0->core", unique within the fabric.
  [[nodiscard]] virtual std::string name(std::uint32_t /*link*/) const { return {}; }
  /// Appends the links from NIC to NIC, numbered from `first`. Returns the latency of the route, NICs
  /// included; empty if there is none.
  virtual std::optional<Seconds> append_route(Port /*from*/, Port /*to*/, std::uint32_t /*first*/,
                                              std::vector<LinkId>& /*links*/) const {
    return latency_;
  }
  /// A counter that may refer to this network.
  [[nodiscard]] virtual std::unique_ptr<RouteCounter> route_counter() const;
  /// Messages over each link if every rank sends one to every other, of which `ranks[s]` are below
  /// first_switch() `s`, by a formula instead of pair by pair. Empty if there is none for this fabric, on
  /// which the NICs of a node may have different switches.
  [[nodiscard]] virtual std::optional<std::vector<std::int64_t>> all_to_all_counts(
      std::span<const std::int64_t> /*ranks*/) const {
    return std::nullopt;
  }
  /// For fabrics with that formula: by switch, the latency of the longest route to it from those in `from`.
  [[nodiscard]] virtual std::vector<Seconds> longest_routes(const std::vector<bool>& from) const {
    return std::vector<Seconds>(from.size(), latency_);
  }
  /// Links of one switch or router, which are numbered switch by switch and alike on all of a level.
  [[nodiscard]] virtual std::uint32_t links_of_switch() const { return 1; }
  /// The number of the port's first switch, or of the port itself if the platform file lists the links: ports
  /// with the same number have the same routes.
  [[nodiscard]] virtual int first_switch(Port /*port*/) const { return 0; }
  /// Where the fabric is narrower than the NICs below it.
  [[nodiscard]] virtual std::vector<NarrowCut> narrow_cuts() const { return {}; }
  /// The rates in the file that `explain` may double.
  [[nodiscard]] virtual LinkKeys link_keys() const { return {}; }

protected:
  [[nodiscard]] Seconds latency(int hops) const { return latency_ + hop_latency_ * hops; }
  [[nodiscard]] Seconds latency_of_hop() const { return hop_latency_; }

private:
  Seconds latency_;
  Seconds hop_latency_;
};

using Network = std::shared_ptr<const FabricNetwork>;

}  // namespace trainyard
