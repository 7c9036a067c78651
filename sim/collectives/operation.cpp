#include "collectives/operation.hpp"

namespace trainyard {

double sent_share(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * others;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_to_all:
      return others;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      break;
  }
  return 1;
}

Bandwidth busbw(Operation operation, int ranks, Bytes size, Seconds time) {
  if (ranks < 2) return Bandwidth{};
  return size / time * sent_share(operation, ranks);
}

}  // namespace trainyard
