#pragma once
// The exchanges of tokens among experts, as dispatchers launch them.

#include "experiment/resolved_experiment.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/layout_program.hpp"

namespace trainyard {

/// Whether tokens are exchanged, not their numbers, for which kernels wait in any case.
bool is_exchange(const ResolvedExperiment& resolved, const OpCommunication& what);

/// Whether each token is sent once to a rank, whatever the number of its experts there. Sums of experts
/// return likewise.
bool is_deduplicated(const ResolvedExperiment& resolved, const OpCommunication& what);

/// Tokens go once to each node, to the rank with the same place there, which forwards them to the others as
/// they arrive: both take place at the same time. Groups that are spread unequally over nodes exchange
/// directly. Source: deepseek-ai/DeepEP docs/legacy.md (commit dd758caf), normal kernels with NVLink and
/// RDMA forwarding. The rate is that of calls from PyTorch, with the preparation of the routing and copies
/// to the library's buffers: 450 to 490 of 799 GB/s that pass a rank's NVLinks with 8 to 36 ranks of a
/// GB200 NVL72, 27 to 38 of 50 GB/s a network card of H100s with 2 to 8 nodes. Source: that of tokens
/// received, a rank's own included, in docs/README_Hybrid-EP.md (branch hybrid-ep, commit 94a9f8f6), Torch
/// API, BF16, 32 and 16 multiprocessors, mean of dispatch and combine.
void add_deduplicated(const ResolvedExperiment& resolved, const OpCommunication& what, int op,
                      const RankClass& one, LayoutCollectives& collectives, StageCollectives& made);

}  // namespace trainyard
