#include "collectives/operation.hpp"

namespace trainyard {

double sent_share(Operation operation, int ranks) {
  const double other_ranks = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * other_ranks;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::gather:
    case Operation::scatter:
    case Operation::all_to_all:
      return other_ranks;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv:
      break;
  }
  return 1;
}

namespace {

int parts(Operation operation, int ranks) {
  const bool is_whole = operation == Operation::all_reduce || operation == Operation::send_recv ||
                        is_whole_with_root(operation);
  return is_whole ? 1 : ranks;
}

constexpr double element = 4;  // bytes

}  // namespace

std::int64_t element_count(Operation operation, int ranks, Bytes size) {
  return static_cast<std::int64_t>(size.si() / element / parts(operation, ranks));
}

Bytes whole_size(Operation operation, int ranks, Bytes size) {
  return Bytes(element * parts(operation, ranks) *
               static_cast<double>(element_count(operation, ranks, size)));
}

Bandwidth busbw(Operation operation, int ranks, Bytes size, Seconds time) {
  if (ranks < 2) return Bandwidth{};
  return size / time * sent_share(operation, ranks);
}

}  // namespace trainyard
