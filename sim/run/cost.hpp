#pragma once
// What an epoch costs in rent. A list price is not turned into a rate: how long a machine is used, and what
// else it needs, is nobody's to assume.

#include "platform/platform.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <string>

namespace trainyard {

struct EpochCost {
  Dollars per_epoch;
  Dollars per_node_hour;
  std::string date;  ///< when that price held
};

/// nodes x price of an hour x hours of an epoch, or why it is not known.
Known<EpochCost> epoch_cost(const Platform& platform, int nodes, const Known<Seconds>& epoch);

}  // namespace trainyard
