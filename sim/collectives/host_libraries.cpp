#include "collectives/host_libraries.hpp"

#include <bit>

namespace trainyard {

namespace {

constexpr Bytes bytes_of_value{4};

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

Algorithm mpich_choice(Operation operation, int ranks, Bytes size) {
  constexpr Bytes short_sum{2048};         // MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE, _REDUCE_SHORT_MSG_SIZE
  constexpr Bytes short_broadcast{12288};  // MPIR_CVAR_BCAST_SHORT_MSG_SIZE
  constexpr int few_ranks = 8;             // MPIR_CVAR_BCAST_MIN_PROCS
  constexpr Bytes long_gather{
      524288};  // MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE, _REDSCAT_COMMUTATIVE_LONG_MSG_SIZE
  const auto values_per_rank = static_cast<double>(std::bit_floor(static_cast<unsigned>(ranks)));
  const bool is_short_sum = size <= short_sum || size < values_per_rank * bytes_of_value;
  switch (operation) {
    case Operation::all_reduce:
      return is_short_sum ? Algorithm::recursive_doubling : Algorithm::halving_doubling;
    case Operation::reduce:
      return is_short_sum ? Algorithm::binomial : Algorithm::halving_doubling;
    case Operation::broadcast:
      return size < short_broadcast || ranks < few_ranks ? Algorithm::binomial : Algorithm::scatter_allgather;
    case Operation::all_gather:
      return size < long_gather && is_power_of_two(ranks) ? Algorithm::recursive_doubling : Algorithm::ring;
    case Operation::reduce_scatter:
      return size < long_gather && is_power_of_two(ranks) ? Algorithm::halving_doubling : Algorithm::ring;
    default:
      return Algorithm::direct;
  }
}

Algorithm open_mpi_choice(Operation operation, int ranks, Bytes size) {
  constexpr Bytes short_all_reduce{10000};
  constexpr Bytes long_broadcast{370728};
  constexpr Bytes long_reduce{20480};
  constexpr Bytes long_gather{50000};
  constexpr Bytes most_halved{262144};
  const bool is_power = is_power_of_two(ranks);
  switch (operation) {
    case Operation::all_reduce:
      return size < short_all_reduce ? Algorithm::recursive_doubling : Algorithm::ring;
    case Operation::reduce:
      return size < long_reduce ? Algorithm::binomial : Algorithm::chain;
    case Operation::broadcast:
      return size < long_broadcast ? Algorithm::binomial : Algorithm::chain;
    case Operation::all_gather:
      return size < long_gather && is_power ? Algorithm::recursive_doubling : Algorithm::ring;
    case Operation::reduce_scatter:
      return size <= most_halved && is_power ? Algorithm::halving_doubling : Algorithm::ring;
    default:
      return Algorithm::direct;
  }
}

Algorithm gloo_choice(Operation operation) {
  return operation == Operation::broadcast ? Algorithm::binomial : Algorithm::ring;
}

}  // namespace

Algorithm host_choice(CommunicationLibrary library, Operation operation, int ranks, Bytes size) {
  switch (library) {
    case CommunicationLibrary::mpich:
      return mpich_choice(operation, ranks, size);
    case CommunicationLibrary::open_mpi:
      return open_mpi_choice(operation, ranks, size);
    default:
      return gloo_choice(operation);
  }
}

}  // namespace trainyard
