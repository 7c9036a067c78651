#include "collectives/recursive_doubling.hpp"

#include "collectives/exchange.hpp"
#include "collectives/halving_doubling.hpp"
#include "collectives/requirements.hpp"

#include <bit>

namespace trainyard {

CollectivePlan recursive_doubling(const Cluster& cluster, const ProtocolOverheads& overheads,
                                  const CollectiveRequest& request) {
  require(cluster, request, Algorithm::recursive_doubling);
  CollectivePlan plan = new_plan(overheads, request, Algorithm::recursive_doubling);
  const Folded ranks = folded(request.group);
  const auto count = static_cast<int>(ranks.active.size());
  add_fold(plan, cluster, overheads, ranks, false);
  for (int distance = 1; distance < count; distance *= 2) {
    const bool is_gathering = request.operation == Operation::all_gather;
    add_exchange(plan, cluster, overheads, ranks.active, distance,
                 is_gathering ? static_cast<double>(distance) / count : 1.0);
  }
  add_fold(plan, cluster, overheads, ranks, true);
  return plan;
}

Seconds recursive_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                                Seconds latency) {
  if (ranks < 2) return Seconds{};
  if (operation == Operation::all_gather)
    return halving_doubling_time(operation, ranks, size, bandwidth, latency);
  const int steps = std::bit_width(static_cast<unsigned>(ranks)) - 1;
  const int folds = std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2;
  return (latency + size / bandwidth) * (steps + folds);
}

}  // namespace trainyard
