#pragma once
// Rates of links besides PCIe, as the shipped platforms state them; a node's description lacks them.

#include "interchange/node_layout.hpp"
#include "platform/platform_file.hpp"

#include <string>

namespace trainyard {

/// NVLinks: lanes times the rate of the kind, or of `lane` (GB/s) if that is not 0.
LinkFile nvlink_link(LinkKind kind, int lanes, double lane = 0);

/// The rate of a lane in collectives. `through_switch`: by way of an NVSwitch.
Sourced<Bandwidth> effective_nvlink_lane(LinkKind kind, bool through_switch);

/// AMD's links between GPUs, by "gfx942", "90a" or "908".
LinkFile xgmi_link(const std::string& generation, int lanes);

/// NVLink-C2C of a GPU to its socket: NVIDIA's Grace.
LinkFile c2c_link(Sourced<Bandwidth> rate);

/// Generation of sockets that are Grace, for socket_link.
inline constexpr const char* grace = "Grace";

/// Between two sockets.
LinkFile socket_link(LinkKind kind, const std::string& generation);

/// Latency of a link, assumed as on the shipped machines.
Sourced<Seconds> usual_link_latency(LinkKind kind);

/// Latency and efficiency of a network by its transport, and whether cards reach the GPUs' memory, assumed.
Sourced<Seconds> usual_network_latency(Transport transport);
Sourced<double> usual_network_efficiency(Transport transport);

}  // namespace trainyard
