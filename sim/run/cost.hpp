#pragma once
// The rental cost of an epoch. A list price of hardware is not turned into a rate: that would need
// assumptions about how long a machine is used and about its other costs.

#include "platform/platform.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <string>

namespace trainyard {

struct EpochCost {
  Dollars per_epoch;
  Dollars per_node_hour;
  std::string date;  ///< date of the price
};

/// Rent of all nodes in USD per hour, or the reason why it is unknown.
Known<double> rent_per_hour(const Platform& platform, int nodes);

/// nodes x hourly price x hours of an epoch, or the reason why it is unknown.
Known<EpochCost> epoch_cost(const Platform& platform, int nodes, const Known<Seconds>& epoch);

}  // namespace trainyard
