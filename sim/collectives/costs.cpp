#include "collectives/costs.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

Seconds message_latency(const RouteSummary& route, const Costs& costs, Protocol protocol) {
  const Seconds step = costs.step[static_cast<std::size_t>(route.type)][static_cast<std::size_t>(protocol)];
  if (route.type == PathType::network) return step + route.latency;
  // Measured steps include the path's latency; link latencies were measured with whole chunks and do not
  // apply to a flag.
  return step > Seconds{} ? step : route.latency;
}

Seconds with_launches(Seconds time, Seconds launches) {
  if (launches <= Seconds{}) return time;
  const Seconds longer = std::max(time, launches);
  const double ratio = std::min(time, launches) / longer;
  const double power = ratio * ratio * ratio * ratio * ratio * ratio;
  return longer * std::cbrt(std::sqrt(1 + power));
}

double efficiency(PathType type, const Costs& costs, Protocol protocol) {
  const double part = costs.efficiency[static_cast<std::size_t>(type)][static_cast<std::size_t>(protocol)];
  return part > 0 ? part : 1;
}

}  // namespace trainyard
