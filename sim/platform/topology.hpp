#pragma once
// What `trainyard topology` prints about a machine: a report for people and a drawing for Graphviz.

#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// The devices of a node, who reaches whom and how, the links with their sources, the minimum cut between the
/// two halves of the GPUs, and the ring channels of one node and between nodes. Plain text, ends in a
/// newline. GPUs without a way to each other are said to be so, never an error.
std::string topology_report(const Platform& platform);

/// The node and its fabric in Graphviz's dot language: devices by CPU socket, links coloured by kind, a table
/// of the rates.
std::string topology_dot(const Platform& platform);

}  // namespace trainyard
