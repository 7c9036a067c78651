#include "collectives/costs.hpp"

namespace trainyard {

Seconds message_latency(const RouteSummary& route, const Costs& costs, Protocol protocol) {
  const Seconds step = costs.step[static_cast<std::size_t>(route.type)][static_cast<std::size_t>(protocol)];
  if (route.type == PathType::network) return step + route.latency;
  // Measured steps hold the way there, and writes of whole chunks are no measure of it for a flag.
  return step > Seconds{} ? step : route.latency;
}

double efficiency(PathType type, const Costs& costs, Protocol protocol) {
  const double part = costs.efficiency[static_cast<std::size_t>(type)][static_cast<std::size_t>(protocol)];
  return part > 0 ? part : 1;
}

}  // namespace trainyard
