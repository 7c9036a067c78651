#pragma once
// Rates of PCIe links as programs print them, and as platforms state them.

#include "interchange/node_layout.hpp"
#include "platform/platform_file.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

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
