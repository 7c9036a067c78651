#pragma once
// What an epoch costs in rent. A list price is not turned into a rate: how long a machine is used, and what
// else it needs, is nobody's to assume.

#include "platform/platform.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>

namespace trainyard {

struct Cost {
  Dollars per_epoch;
  Dollars per_node_hour;
  std::string date;  ///< when that price held
};

/// nodes x price of an hour x hours of an epoch. The platform has an hourly price.
Cost epoch_cost(const Platform& platform, int nodes, Seconds epoch);

/// Why no cost can be told, or nothing if it can.
std::optional<std::string> cost_unknown(const Platform& platform, const std::optional<Seconds>& epoch);

}  // namespace trainyard
