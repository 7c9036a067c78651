#pragma once
// Parts of all_gather and reduce_scatter whose size is no multiple of 16 bytes. A rank's part then begins
// anywhere within 16 bytes, and NCCL 2.7.8 and older cannot copy 16 bytes at a time if source and destination
// lie differently: each thread moves single elements, without overlap. nccl-tests cut sizes to whole elements
// until 2024-12, so its all_gather on 12 GPUs shows this at every size.

#include "collectives/nccl.hpp"
#include "collectives/plan.hpp"

namespace trainyard {

/// Where the ranks' parts lie in memory.
enum class PartAlignment {
  whole,  ///< every part begins at a multiple of 16 bytes, as frameworks and nccl-tests since 2024-12 arrange
  as_sized,  ///< parts follow each other without gaps, as in nccl-tests before
};

/// The rounds of a ring with protocol Simple in which elements are copied one by one. A reduce_scatter reads
/// its input, which is laid out in parts, in every round, and sends from aligned buffers. An all_gather out
/// of place copies a rank's own part from an aligned buffer in its first round; if one process drives all
/// GPUs
/// (`is_direct`), later rounds copy between equal places of two GPUs' buffers, otherwise they read from
/// aligned buffers. Later versions of NCCL copy several elements per thread at a time, whose cost is not
/// known: none. Source: NVIDIA/nccl v2.7.8-1, src/collectives/device/common_kernel.h (ReduceOrCopyMulti),
/// all_gather.h, reduce_scatter.h; NVIDIA/nccl-tests 29f4114.
UnalignedRounds unaligned_rounds(NcclVersion version, Operation operation, int ranks, Bytes size,
                                 bool is_direct);

}  // namespace trainyard
