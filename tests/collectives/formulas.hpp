#pragma once
// Closed forms of every algorithm on ranks with one full-duplex port of one bandwidth: what papers say a
// collective takes, for comparison with its plan and its simulation.

#include "collectives/plan.hpp"
#include "collectives/ring.hpp"
#include "collectives/torus2d.hpp"

#include <algorithm>
#include <bit>

namespace trainyard {

/// The textbook formula for one ring over links of one bandwidth, `size` as nccl-tests counts it: all_reduce
/// 2(n-1)/n * size/bandwidth + 2(n-1) * latency, reduce_scatter and all_gather half of it. Source: Patarasuk
/// and Yuan 2009, section 3; Thakur et al. 2005. broadcast and reduce in c chunks (chunk_count):
/// (n-1) * latency + (c+n-2)/c * size/bandwidth.
inline Seconds ring_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  if (has_root(operation)) {
    const int chunks = chunk_count(size, ranks - 1);
    return latency * (ranks - 1) + size / bandwidth * (static_cast<double>(chunks + ranks - 2) / chunks);
  }
  const double rounds = ring_rounds(operation, ranks);
  return rounds / ranks * (size / bandwidth) + rounds * latency;
}

/// The formula for a chain of ranks with one full-duplex port of one bandwidth, the root at its end, in c
/// chunks (chunk_count): broadcast and reduce (n-1) * latency + (c+n-2)/c * size/bandwidth; all_reduce
/// 2(n-1) * latency + (c+2n-3)/c * p * size/bandwidth, where p = 1 for two ranks and else 2, since ranks
/// inside the chain share their port between both directions. Source: NVIDIA/nccl src/graph/tuning.cc, its
/// tree within a node (algbw is half of the bandwidth of both directions).
inline Seconds chain_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  const bool is_both_ways = operation == Operation::all_reduce;
  const int hops = is_both_ways ? 2 * (ranks - 1) : ranks - 1;
  const double port_uses = is_both_ways && ranks > 2 ? 2 : 1;
  const int chunks = chunk_count(size, hops);
  return latency * hops + size / bandwidth * (port_uses * (chunks + hops - 1) / chunks);
}

/// The formula for one rank per node with one full-duplex port, in c chunks (chunk_count of half of the
/// size), h = ceil(log2 n): broadcast and reduce h * latency + (c+h-1)/c * size/bandwidth; all_reduce 2h *
/// latency + (c+2h-1)/c * p/2 * size/bandwidth, where p is the number of edges that share the busiest port: n
/// for up to four ranks, then 4 (three of the tree in which a rank is an inner node, one of the other).
/// Source: Sanders, Speck and Traeff 2009, section 3; p counted on NCCL's trees.
inline Seconds tree_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  const int height = std::bit_width(static_cast<unsigned>(ranks - 1));
  const bool is_both_ways = operation == Operation::all_reduce;
  const int hops = is_both_ways ? 2 * height : height;
  const int port_uses = is_both_ways ? std::min(ranks, 4) : 2;
  const int chunks = chunk_count(size / 2, hops);
  return latency * hops + size / bandwidth * (0.5 * port_uses * (chunks + hops - 1) / chunks);
}

/// The formula for nodes of k ranks, each with one full-duplex port of one bandwidth: all_reduce
/// 2(k-1) * (latency + size/(k * bandwidth)) + ring_time of size/k over the nodes; reduce_scatter and
/// all_gather half of it. Source: Cho, Finkler, Serrano, Kung and Hunter 2019, "BlueConnect", section 3.
inline Seconds hierarchical_time(Operation operation, int nodes, int ranks_per_node, Bytes size,
                                 Bandwidth bandwidth, Seconds latency) {
  return ring_time(operation, ranks_per_node, size, bandwidth, latency) +
         ring_time(operation, nodes, size / ranks_per_node, bandwidth, latency);
}

/// The same with tree_time of size/k between the nodes.
inline Seconds hierarchical_tree_time(int nodes, int ranks_per_node, Bytes size, Bandwidth bandwidth,
                                      Seconds latency) {
  return ring_time(Operation::all_reduce, ranks_per_node, size, bandwidth, latency) +
         tree_time(Operation::all_reduce, nodes, size / ranks_per_node, bandwidth, latency);
}

/// The formula for ranks with one full-duplex port of one bandwidth, x columns and y rows: all_reduce 2(x-1)
/// * (latency + size/(x * bandwidth)) + 2(y-1) * (latency + size/(x * y * bandwidth)); reduce_scatter and
/// all_gather half of it. Source: Mikami et al. 2018, "Massively distributed SGD: ImageNet/ResNet-50 training
/// in a flash", section 2.2; splitting the data between two directions makes no difference at a rank's single
/// port.
inline Seconds torus2d_time(Operation operation, TorusGrid grid, Bytes size, Bandwidth bandwidth,
                            Seconds latency) {
  return ring_time(operation, grid.columns, size, bandwidth, latency) +
         ring_time(operation, grid.rows, size / grid.columns, bandwidth, latency);
}

/// The formula for ranks with one full-duplex port of one bandwidth, p the power of two at or below n:
/// all_reduce 2 log2(p) * latency + 2(p-1)/p * size/bandwidth, reduce_scatter and all_gather half of it; plus
/// 2 * (latency + size/bandwidth) if p is not n. A reduce to rank 0, which is folded then, takes as long as
/// an all_reduce.
inline Seconds halving_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                                     Seconds latency) {
  if (ranks < 2) return Seconds{};
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const bool is_whole = operation == Operation::all_reduce || operation == Operation::reduce;
  const double halves = is_whole ? 2 : 1;
  const Seconds folds = active == ranks ? Seconds{} : 2 * (latency + size / bandwidth);
  const int steps = std::bit_width(static_cast<unsigned>(active)) - 1;
  return folds + halves * (latency * steps + size / bandwidth * ((active - 1.0) / active));
}

/// The formula for ranks with one full-duplex port of one bandwidth, p the power of two at or below n:
/// all_reduce log2(p) * (latency + size/bandwidth), plus 2 * (latency + size/bandwidth) if p is not n;
/// all_gather log2(n) * latency + (n-1)/n * size/bandwidth.
inline Seconds recursive_doubling_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth,
                                       Seconds latency) {
  if (ranks < 2) return Seconds{};
  if (operation == Operation::all_gather)
    return halving_doubling_time(operation, ranks, size, bandwidth, latency);
  const int steps = std::bit_width(static_cast<unsigned>(ranks)) - 1;
  const int folds = std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2;
  return (latency + size / bandwidth) * (steps + folds);
}

/// The formula for ranks with one full-duplex port of one bandwidth: ceil(log2 n) * (latency +
/// size/bandwidth).
inline Seconds binomial_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  return std::bit_width(static_cast<unsigned>(ranks - 1)) * (latency + size / bandwidth);
}

/// The formula for ranks with one full-duplex port of one bandwidth, p the power of two at or above n: the
/// scatter log2(p) * latency + (p-1)/n * size/bandwidth, then an all_gather around a ring.
inline Seconds scatter_allgather_time(int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  const int steps = std::bit_width(static_cast<unsigned>(ranks - 1));
  const double parts = (1 << steps) - 1;
  return steps * latency + parts / ranks * (size / bandwidth) +
         ring_time(Operation::all_gather, ranks, size, bandwidth, latency);
}

/// The formula for ranks with one full-duplex port of one bandwidth: all_to_all, reduce_scatter, gather,
/// scatter and all_gather latency + (n-1)/n * size/bandwidth, all_reduce twice that, send_recv latency +
/// size/bandwidth, broadcast and reduce latency + (n-1) * size/bandwidth, since all messages share the root's
/// port.
inline Seconds direct_time(Operation operation, int ranks, Bytes size, Bandwidth bandwidth, Seconds latency) {
  if (ranks < 2) return Seconds{};
  const Seconds all = size / bandwidth;
  const Seconds parts = all * ((ranks - 1.0) / ranks);
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (latency + parts);
    case Operation::broadcast:
    case Operation::reduce:
      return latency + all * (ranks - 1.0);
    case Operation::send_recv:
      return latency + all;
    default:
      return latency + parts;
  }
}

}  // namespace trainyard
