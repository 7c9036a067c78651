#pragma once
// The words that the kinds of fabric share.

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

/// Of one directed link.
struct LinkRates {
  Bandwidth effective;  ///< what the simulation lets through
  Bandwidth specified;  ///< what the specification promises
};

/// A link that is specified so, with the part of it that the fabric's collectives reach.
inline LinkRates link_rates(const Fabric& fabric, Bandwidth specified) {
  return {specified * reached(fabric), specified};
}

/// A count, for numbers of links.
constexpr std::uint32_t unsigned_of(int count) { return static_cast<std::uint32_t>(count); }

}  // namespace trainyard
