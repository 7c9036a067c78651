#pragma once
// The output of `trainyard topology`: a report for people and a drawing for Graphviz.

#include "platform/platform.hpp"
#include "units/print_style.hpp"

#include <string>

namespace trainyard {

/// The devices of a node, their connections, the links with their sources, the minimum cut between the two
/// halves of the GPUs, and the ring channels of one node and between nodes. Plain text, ends in a newline.
/// GPUs that cannot reach each other are reported, not an error. `changed`: keys set on the command line.
std::string topology_report(const Platform& platform, const PrintStyle& style = {},
                            const std::string& changed = {});

/// The node and its fabric in Graphviz's dot language: devices by CPU socket, links coloured by kind, a table
/// of the rates.
std::string topology_dot(const Platform& platform);

}  // namespace trainyard
