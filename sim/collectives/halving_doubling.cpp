#include "collectives/halving_doubling.hpp"

#include "collectives/exchange.hpp"
#include "collectives/requirements.hpp"

#include <bit>

namespace trainyard {

CollectivePlan halving_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                const CollectiveRequest& request) {
  require(cluster, request, Algorithm::halving_doubling);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::halving_doubling);
  const Folded ranks = folded(request.group);
  const auto count = static_cast<int>(ranks.active.size());
  const auto exchange = [&](int distance, double share) {
    add_exchange(plan, cluster, overheads, ranks.active, distance, share);
  };
  switch (request.operation) {
    case Operation::reduce_scatter:
      for (int distance = count / 2; distance >= 1; distance /= 2)
        exchange(distance, static_cast<double>(distance) / count);
      break;
    case Operation::all_gather:
      for (int distance = 1; distance < count; distance *= 2)
        exchange(distance, static_cast<double>(distance) / count);
      break;
    default:
      add_fold(plan, cluster, overheads, ranks, false);
      const std::size_t first = plan.phases.size();
      for (int distance = 1; distance < count; distance *= 2) exchange(distance, 0.5 / distance);
      for (std::size_t phase = plan.phases.size(); phase-- > first;) repeat_rounds(plan, phase);
      add_fold(plan, cluster, overheads, ranks, true);
  }
  return plan;
}

Seconds halving_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                              Seconds latency) {
  if (ranks < 2) return Seconds{};
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const double halves = operation == Operation::all_reduce ? 2 : 1;
  const Seconds folds = active == ranks ? Seconds{} : 2 * (latency + size / bandwidth);
  const int steps = std::bit_width(static_cast<unsigned>(active)) - 1;
  return folds + halves * (latency * steps + size / bandwidth * ((active - 1.0) / active));
}

}  // namespace trainyard
