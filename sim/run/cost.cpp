#include "run/cost.hpp"

namespace trainyard {

Cost epoch_cost(const Platform& platform, int nodes, Seconds epoch) {
  constexpr Seconds hour{3600};
  const Dollars price = platform.price_per_hour->value;
  return {.per_epoch = nodes * (epoch / hour) * price, .per_node_hour = price, .date = platform.price_date};
}

std::optional<std::string> cost_unknown(const Platform& platform, const std::optional<Seconds>& epoch) {
  if (!platform.price_per_hour) {
    return platform.name + " does not state what an hour costs (node.price.hour)" +
           (platform.price ? "; a list price is not turned into a rate" : "");
  }
  if (!epoch) return "the model does not state the samples of an epoch";
  return std::nullopt;
}

}  // namespace trainyard
