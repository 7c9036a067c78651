#pragma once
// Bounds of the key tables.

namespace trainyard::config {

// Larger figures are a wrong unit, not a machine.
constexpr double most_bandwidth = 100e12;  // bytes per second
constexpr double most_latency = 1;         // seconds
constexpr double most_count = 256;         // devices of a kind in one node
constexpr double most_nodes = 1 << 20;     // per machine
constexpr double most_power = 1e6;         // watts in one node
constexpr double most_price = 1e9;         // dollars for one node

}  // namespace trainyard::config
