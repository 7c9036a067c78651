#pragma once
// What joins the nodes of a machine, as the platform file says it. fabric_network.hpp makes the links between
// a number of nodes of it.

#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class FabricKind { none, single_switch, fat_tree, rail_optimised, torus2d, torus3d, dragonfly, custom };

/// What carries the messages between NICs: decides what software adds to each.
enum class Transport { infiniband, roce, efa, tcp, aries, omni_path };

/// The switches of one level of a fat tree: what their nodes share, and `oversubscription`, the ratio of
/// bandwidth entering a switch from below to bandwidth leaving it upwards (1: non-blocking).
struct TreeLevel {
  Sourced<int> nodes_per_switch{.value = 16};
  Sourced<double> oversubscription{.value = 1};
};

/// NIC k of all nodes of a unit is on one switch, rail k; a spine joins the rails.
struct RailShape {
  Sourced<int> nodes_per_rail{.value = 16};  ///< nodes of a unit
  Sourced<double> oversubscription{.value = 1};
  Sourced<bool> pxn{.value = false};  ///< data for another rail first goes to the GPU beside that rail's NIC
};

/// One router per node, joined to its neighbours in each dimension and around it.
struct TorusShape {
  std::vector<int> dimensions;  ///< routers along x, y (and z); node 1 is at x = 1
  Sourced<Bandwidth> link;      ///< per direction
};

/// Groups of routers: all routers of a group are joined to each other, and all groups.
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
  int nodes = 0;  ///< one more than the largest number of a node that a link names
};

/// The fabric of a machine. Of the shapes only the one of its kind means something.
struct Fabric {
  FabricKind kind = FabricKind::none;
  Transport transport = Transport::infiniband;
  Sourced<Bandwidth> nic;        ///< per NIC and direction, as specified
  Sourced<Bandwidth> effective;  ///< what collectives reach per NIC: nic times the file's efficiency
  Sourced<Seconds> latency;      ///< NIC to NIC where no link between switches is crossed
  Sourced<Seconds> hop_latency;  ///< further time of each link between switches or routers
  Sourced<Bandwidth> per_flow{.value =
                                  Bandwidth{std::numeric_limits<double>::infinity()}};  ///< one connection
  Sourced<bool> gpudirect{.value = true};  ///< false: data between GPU and NIC goes through host memory
  std::vector<TreeLevel> levels;           ///< of a fat tree, lowest first
  RailShape rail;
  TorusShape torus;
  DragonflyShape dragonfly;
  CustomShape custom;
};

/// Part of the specified rate that collectives reach on NICs and links of the fabric.
inline double reached(const Fabric& fabric) { return fabric.effective.value / fabric.nic.value; }

/// How many nodes the fabric has places for; nothing where it grows with them.
std::optional<int> places(const Fabric& fabric);

}  // namespace trainyard
