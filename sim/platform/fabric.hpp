#pragma once
// The fabric between the nodes of a machine, as in the platform file. fabric_network.hpp makes its links for
// a number of nodes.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FabricKind {
  none,
  single_switch,
  fat_tree,
  rail_optimised,
  torus2d,
  torus3d,
  dragonfly,
  custom,
  routes
};

/// The network technology between NICs: decides the software's cost per message.
enum class Transport { infiniband, roce, efa, tcp, aries, omni_path };

namespace config {

template <>
struct Names<FabricKind> {
  static constexpr std::string_view what = "fabric kind";
  static constexpr std::array table{
      Name{"none", FabricKind::none, "no network: one node only"},
      Name{"single_switch", FabricKind::single_switch, "one switch that never blocks"},
      Name{"fat_tree", FabricKind::fat_tree,
           "leaf switches, any number of spine levels above them, and a core that joins all"},
      Name{"rail_optimised", FabricKind::rail_optimised,
           "NIC k of every node is on switch k; a spine joins the switches"},
      Name{"torus2d", FabricKind::torus2d, "one router per node, joined to four neighbours"},
      Name{"torus3d", FabricKind::torus3d, "one router per node, joined to six neighbours"},
      Name{"dragonfly", FabricKind::dragonfly, "groups of routers, each pair of groups joined"},
      Name{"custom", FabricKind::custom, "switches and links as listed"},
      Name{"routes", FabricKind::routes, "routes as listed, over links that messages share"}};
};

template <>
struct Names<Transport> {
  static constexpr std::string_view what = "transport";
  static constexpr std::array table{Name{"infiniband", Transport::infiniband, "InfiniBand verbs"},
                                    Name{"roce", Transport::roce, "InfiniBand verbs over Ethernet"},
                                    Name{"efa", Transport::efa, "AWS's Elastic Fabric Adapter"},
                                    Name{"tcp", Transport::tcp, "sockets"},
                                    Name{"aries", Transport::aries, "Cray's Aries"},
                                    Name{"omni_path", Transport::omni_path, "Intel's Omni-Path"}};
};

}  // namespace config

/// The switches of one level of a fat tree. `oversubscription`: ratio of the bandwidth entering a switch from
/// below to the bandwidth leaving it upwards (1: non-blocking).
struct TreeLevel {
  Sourced<int> nodes_per_switch{.value = 16};
  Sourced<double> oversubscription{.value = 1};
};

/// NIC k of all nodes of a unit is on one switch, rail k; a spine joins the rails.
struct RailShape {
  Sourced<int> nodes_per_rail{.value = 16};  ///< nodes per unit
  Sourced<double> oversubscription{.value = 1};
  Sourced<bool> pxn{.value = false};  ///< data for another rail first goes to the GPU near that rail's NIC
};

/// One router per node, joined to its neighbours in each dimension, with wrap-around.
struct TorusShape {
  std::vector<int> dimensions;  ///< routers along x, y (and z); node 1 is at x = 1
  Sourced<Bandwidth> link;      ///< per direction
};

/// Groups of routers: all routers of a group are joined to each other, and so are all groups.
struct DragonflyShape {
  Sourced<int> groups{.value = 1};
  Sourced<int> routers_per_group{.value = 1};
  Sourced<int> nodes_per_router{.value = 1};
  Sourced<Bandwidth> local_link;   ///< between two routers of a group, per direction
  Sourced<Bandwidth> global_link;  ///< between two groups, all cables together, per direction
};

/// A switch, by its number in the list of names, or a NIC of a node.
struct CustomEnd {
  int switch_number = -1;  ///< -1: a NIC
  int node = 0;
  int nic = 0;

  friend auto operator<=>(const CustomEnd&, const CustomEnd&) = default;
};

struct CustomLink {
  CustomEnd one;
  CustomEnd other;
  Sourced<Bandwidth> bandwidth;  ///< per direction
  Sourced<Seconds> latency;
};

struct CustomShape {
  std::vector<std::string> switches;
  std::vector<CustomLink> links;
};

/// A link of listed routes, by its number: messages share its bandwidth, whatever their direction.
struct SharedLink {
  std::string name;
  Sourced<Bandwidth> bandwidth;
};

/// The links with which every route out of a NIC begins, and every route into it ends.
struct RouteEnds {
  std::vector<int> out;
  std::vector<int> in;
};

/// The way from each of these NICs to each other of those: the links between the two ends.
struct ListedRoute {
  std::vector<CustomEnd> from;
  std::vector<CustomEnd> to;
  std::vector<int> over;
  Sourced<Seconds> latency;
};

struct RoutesShape {
  std::vector<SharedLink> links;
  std::map<CustomEnd, RouteEnds> ends;
  std::vector<ListedRoute> routes;
};

/// "leaf0" or "node3.nic1".
std::string end_name(const CustomEnd& end, const std::vector<std::string>& switches);

/// The fabric of a machine. Only the shape of its kind is filled.
struct Fabric {
  FabricKind kind = FabricKind::none;
  Transport transport = Transport::infiniband;
  Sourced<Bandwidth> nic;        ///< per NIC and direction, as specified
  Sourced<Bandwidth> effective;  ///< per NIC, reached by collectives: nic times the file's efficiency
  Sourced<Seconds> latency;      ///< NIC to NIC without links between switches
  Sourced<Seconds> hop_latency;  ///< added by each link between switches or routers
  Sourced<Bandwidth> per_flow{.value =
                                  Bandwidth{std::numeric_limits<double>::infinity()}};  ///< one connection
  Sourced<bool> gpudirect{.value = true};  ///< false: data between GPU and NIC goes through host memory
  /// With GPUDirect: PCIe switches send data between GPU and NIC up to the CPU's root port and back (ACS).
  Sourced<bool> redirected{.value = false};
  std::optional<int> places;      ///< number of nodes it can connect; empty: any number
  std::vector<TreeLevel> levels;  ///< for a fat tree, lowest first
  RailShape rail;
  TorusShape torus;
  DragonflyShape dragonfly;
  CustomShape custom;
  RoutesShape routes;

  /// False: nodes are not joined.
  [[nodiscard]] bool exists() const { return kind != FabricKind::none; }
};

/// Whether data between GPU and NIC climbs to the root port. Through host memory it does so anyway.
inline bool is_redirected(const Fabric& fabric) { return fabric.redirected.value && fabric.gpudirect.value; }

/// Fraction of the specified rate that collectives reach on NICs and links of the fabric.
inline double reached(const Fabric& fabric) { return fabric.effective.value / fabric.nic.value; }

}  // namespace trainyard
