#pragma once
// Types shared by the kinds of fabric.

#include "platform/fabric.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <cstdint>

namespace trainyard {

/// One NIC of one node.
struct Port {
  int node = 0;
  int nic = 0;
};

/// Rates of one directed link.
struct LinkRates {
  Bandwidth effective;  ///< used by the simulation
  Bandwidth specified;  ///< by specification
};

/// The rates of a link with this specified rate and the fabric's efficiency.
inline LinkRates link_rates(const Fabric& fabric, Bandwidth specified) {
  return {specified * reached(fabric), specified};
}

/// A count as an unsigned number of links.
constexpr std::uint32_t unsigned_of(int count) { return static_cast<std::uint32_t>(count); }

}  // namespace trainyard
