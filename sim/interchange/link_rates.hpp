#pragma once
// Rates of links: of PCIe as programs print them, of all others as the shipped platforms state them, since a
// node's description lacks them.

#include "interchange/node_layout.hpp"
#include "platform/platform_file.hpp"

#include <optional>
#include <string>
#include <string_view>

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

/// 16 for "16.0 GT/s PCIe", "16 GT/s" or "32 GT/s PCIe/s"; nothing for "", "Unknown" and other texts.
std::optional<double> transfers_in(std::string_view text);

/// 8 for generation 3; 0 if the generation is not known.
double transfers_of_generation(int generation);

/// Bytes per second and direction, after the line code. Source: PCI Express base specifications 1.0 to 6.0.
Bandwidth pcie_bandwidth(const PcieLink& link);

/// The kind whose generation is nearest: platforms name 3, 4 and 5.
LinkKind pcie_kind(double transfers);

/// Kind, lanes and rates of a link between two devices; `assumed`: why it is taken to be this one, empty if a
/// file says so.
LinkFile pcie_link(const PcieLink& link, const std::string& assumed);

/// The rate of a lane in collectives, by kind, with which NCCL plans.
Sourced<Bandwidth> effective_pcie_lane(LinkKind kind);

}  // namespace trainyard
