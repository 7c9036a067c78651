#pragma once
// The algorithms that MPI and Gloo choose by operation, number of ranks and size.

#include "collectives/algorithm.hpp"
#include "collectives/library.hpp"
#include "collectives/operation.hpp"
#include "units/quantity.hpp"

namespace trainyard {

/// The algorithm for `size` bytes as nccl-tests counts them (operation.hpp), of fp32 values. `library`: not
/// nccl. `operation`: not one that is always direct here (all_to_all, send_recv; gather and scatter,
/// whose binomial trees in MPI save latency alone). `ranks`: at least 2.
/// - mpich: src/mpi/coll of MPICH 3.2 (allreduce.c, bcast.c, reduce.c, allgather.c, red_scat.c): recursive
///   doubling or a binomial tree for short messages; Rabenseifner's algorithm, and scatter and all-gather,
///   for long ones. Left out: its sums inside a node before those between nodes (all ranks are alike here),
///   the gathering of medium broadcasts by doubling, and Bruck's all-gather, which counts as a ring. Cray's
///   MPICH is assumed to choose alike.
/// - open_mpi: coll_tuned_decision_fixed.c of Open MPI 1.6 to 4.0: recursive doubling below 10 kB, otherwise
///   a ring, whose segments do not change its bytes; chains for long broadcasts. Left out: split binary trees
///   for medium broadcasts, which count as binomial trees; its all-gather by neighbours, which counts as a
///   ring; and its choice for reductions among trees and chains by number of ranks: here 20 kB decide, which
///   holds below 8 ranks.
/// - gloo: gloo/allreduce.cc, broadcast.cc, reduce.cc, allgather.cc: rings, and a binomial tree for the
///   broadcast.
Algorithm host_choice(CommunicationLibrary library, Operation operation, int ranks, Bytes size);

}  // namespace trainyard
