#include "run/cost.hpp"

namespace trainyard {

Known<double> rent_per_hour(const Platform& platform, int nodes) {
  if (platform.price_per_hour) return nodes * platform.price_per_hour->value.si();
  return unknown(platform.name + " states no price per hour (node.price.hour)" +
                 (platform.price ? "; a list price is not converted into one" : ""));
}

Known<EpochCost> epoch_cost(const Platform& platform, int nodes, const Known<Seconds>& epoch) {
  const Known<double> rent = rent_per_hour(platform, nodes);
  if (!rent) return unknown(rent.error());
  if (!epoch) return unknown(epoch.error());
  constexpr Seconds hour{3600};
  const Dollars price = platform.price_per_hour->value;
  return EpochCost{
      .per_epoch = nodes * (*epoch / hour) * price, .per_node_hour = price, .date = platform.price_date};
}

}  // namespace trainyard
