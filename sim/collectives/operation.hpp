#pragma once
// The collective operations as MPI and NCCL define them, and the measures nccl-tests compares them by.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace trainyard {

enum class Operation {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  send_recv
};

/// Bus bandwidth: algbw times a factor that makes it comparable with a link's peak for any number of ranks:
/// 2(n-1)/n for all_reduce, 1 for broadcast, reduce and send_recv, otherwise (n-1)/n. `size` as in
/// nccl-tests: one rank's buffer; for all_gather, reduce_scatter, gather and scatter the buffer of all n
/// parts. Returns 0 for one rank. Source: nccl-tests doc/PERFORMANCE.md, src/gather.cu, src/scatter.cu.
Bandwidth busbw(Operation operation, int ranks, Bytes size, Seconds time);

/// Lower bound on the bytes sent by every rank, as a ratio of `size`; for broadcast and reduce it holds for
/// all ranks but the last of a chain, for gather and scatter for what the root receives or sends.
double sent_share(Operation operation, int ranks);

/// Number of elements in nccl-tests: elements of 4 bytes that a rank exchanges with each other rank if `size`
/// consists of one part per rank (all but all_reduce, broadcast, reduce and send_recv), otherwise all of
/// them. Rounded down. Source: nccl-tests src/all_gather.cu, reduce_scatter.cu, alltoall.cu, gather.cu,
/// scatter.cu.
std::int64_t element_count(Operation operation, int ranks, Bytes size);

/// `size` rounded down to whole elements in every part.
Bytes whole_size(Operation operation, int ranks, Bytes size);

/// Whether whole buffers go from the root to all ranks, or as one sum from all to the root.
constexpr bool is_whole_with_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce;
}

/// Whether the operation has a root, which sends or receives everything.
constexpr bool has_root(Operation operation) {
  return is_whole_with_root(operation) || operation == Operation::gather || operation == Operation::scatter;
}

/// Whether the operation sums values.
constexpr bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
         operation == Operation::reduce;
}

namespace config {

template <>
struct Names<Operation> {
  static constexpr std::string_view what = "collective";
  static constexpr std::array table{
      Name{"all_reduce", Operation::all_reduce, "sum over all ranks, result on all"},
      Name{"reduce_scatter", Operation::reduce_scatter, "sum over all ranks, one part of the result on each"},
      Name{"all_gather", Operation::all_gather, "parts of all ranks, collected on all"},
      Name{"broadcast", Operation::broadcast, "the root's buffer, copied to all"},
      Name{"reduce", Operation::reduce, "sum over all ranks, result on the root"},
      Name{"gather", Operation::gather, "parts of all ranks, collected on the root"},
      Name{"scatter", Operation::scatter, "the root sends one part of its buffer to each rank"},
      Name{"all_to_all", Operation::all_to_all, "every rank sends one part to every other rank"},
      Name{"send_recv", Operation::send_recv, "every rank sends its buffer to the next rank"}};
};

}  // namespace config
}  // namespace trainyard
