#pragma once
// A drawing of a machine for Graphviz.

#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// The node and its fabric in Graphviz's dot language: devices by CPU socket, links coloured by kind, a table
/// of the rates.
std::string topology_dot(const Platform& platform);

}  // namespace trainyard
