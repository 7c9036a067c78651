#pragma once
// The fabric between the nodes of a machine, as in the platform file. fabric_network.hpp makes its links for
// a number of nodes.

#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class FabricKind { none, single_switch, fat_tree, rail_optimised, torus2d, torus3d, dragonfly, custom };

/// The network technology between NICs: decides the software's cost per message.
enum class Transport { infiniband, roce, efa, tcp, aries, omni_path };

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
  int nodes = 0;  ///< one more than the largest node number in a link
};

/// "leaf0" or "node3.nic1".
std::string end_name(const CustomEnd& end, const std::vector<std::string>& switches);

/// The fabric of a machine. Only the shape of its kind has a meaning.
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
  std::vector<TreeLevel> levels;           ///< for a fat tree, lowest first
  RailShape rail;
  TorusShape torus;
  DragonflyShape dragonfly;
  CustomShape custom;
};

/// Fraction of the specified rate that collectives reach on NICs and links of the fabric.
inline double reached(const Fabric& fabric) { return fabric.effective.value / fabric.nic.value; }

/// Number of nodes the fabric has places for; empty if it grows with them.
std::optional<int> places(const Fabric& fabric);

}  // namespace trainyard
