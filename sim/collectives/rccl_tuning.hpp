#pragma once
// RCCL's choice of algorithm and protocol: AMD's fork of NCCL chooses by tables of its own, and for
// all-reduces on eight GPUs of one node it ships programs that send between all pairs (MSCCL).
//
// Source: ROCm/rccl at 0cbce2a7 (2.21, 2024-10): src/graph/tuning.cc (tuning_model_5, which
// src/graph/rome_models.cc names for machines of eight MI300X), tools/msccl-algorithms. Taken for all of
// AMD's GPUs and for MI350X and MI355X, whose tables are others (assumed). Left out: LL128, which that
// version has for the MI250X alone; MSCCL++, which later versions switch off; MSCCL's programs for
// all-to-alls.

#include "collectives/nccl_tuning.hpp"

#include <optional>

namespace trainyard {

/// RCCL's choice for `size` (as nccl-tests counts it). `demanded` (NCCL_ALGO): only this algorithm, ring or
/// tree.
NcclChoice rccl_choice(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded = {});

/// RCCL's estimate of the time of a ring or a tree; empty if it would not consider it: trees for other
/// operations than all_reduce, with Simple on one node, and LL128.
std::optional<Seconds> rccl_time(const NcclShape& shape, NcclChoice choice, Bytes size);

}  // namespace trainyard
