#pragma once
// A machine as a platform of SimGrid, whose messages then take the times and shares that they have here.

#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <string>

namespace trainyard {

inline constexpr int most_exported_hosts = 256;            // 65,280 routes
inline constexpr int most_exported_crossings = 2'000'000;  // a file of about 60 MB

/// An XML file for SimGrid's platform.dtd 4.1: each rank's GPU or processor is a host of that speed, each
/// directed link a SHARED link, and each pair of hosts has the route of route(), by the NICs nearest to both.
/// It sets SimGrid's model CM02 without corrections, of which a message alone takes latency + bytes / rate.
/// Throws Unreachable if a pair has no route, InputError if there are more than most_exported_hosts or if
/// FATPIPE links stand more than most_exported_crossings times in the routes.
///
/// CM02 shares a link in inverse proportion to latency + sum of weight-S / bandwidth over a route (Velho and
/// Legrand, SIMUTools 2009), and here all messages share alike. FATPIPE links, which carry the latency and
/// never limit, therefore fill this sum up to the same value for every route; a limit per connection is one
/// of them.
std::string simgrid_xml(const Cluster& cluster, FlopRate speed);

}  // namespace trainyard
