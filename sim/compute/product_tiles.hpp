#pragma once
// Matrix products of a library as tiles of the result on multiprocessors: rounds of as many tiles as there
// are multiprocessors, of which the last may be nearly empty.

#include "units/quantity.hpp"
#include "workload/shape.hpp"
#include "workload/trace.hpp"

namespace trainyard {

struct Multiprocessors {
  int number = 1;
  FlopRate peak;  ///< of all, in the type of the product
  Bandwidth bandwidth;
};

/// The time of a product of values of `size` bytes: that of the best of the library's tiles and splits of k,
/// at least that of its operands and its result at three quarters of the bandwidth; of unaligned rows at
/// shares of the peak of their own. Grouped products, one for each expert, are each in tiles of their own, so
/// that few rows fill them badly, but share the rounds: Transformer Engine launches them on several streams,
/// CUTLASS in one kernel. Source of the tiles: NVIDIA CUTLASS, default tile shapes of SM80 and
/// SM90; shares, splits and bounds are measured on an H100 (workloads/lowering).
Seconds tiled_time(const Multiprocessors& gpu, const GemmShape& shape, Bytes size, const ProductRate& rate,
                   bool is_backward);

/// The work of grouped products in the library's best tiles over that on their values alone: rows fill the
/// last tiles in part, and the last round has fewer tiles than multiprocessors. At least 1.
double work_in_tiles(const GemmShape& shape, int multiprocessors);

}  // namespace trainyard
