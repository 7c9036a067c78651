#pragma once
// Bounds of the key tables.

namespace trainyard::config {

// Figures beyond these are a wrong unit, not a machine.
constexpr double least_bandwidth = 1e3;  // bytes per second
constexpr double most_bandwidth = 100e12;
constexpr double least_latency = 1e-12;  // seconds
constexpr double most_latency = 1;
constexpr double most_count = 256;   // devices of a kind in one node
constexpr int most_nodes = 1 << 20;  // per machine, and GPUs of a simulation
constexpr double most_power = 1e6;   // watts in one node
constexpr double most_price = 1e9;   // dollars for one node

}  // namespace trainyard::config
