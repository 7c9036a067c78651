#pragma once
// Steps of several micro-batches, each of which reduces its gradients.

#include "schedule/launches.hpp"
#include "strategy/buckets.hpp"
#include "workload/trace.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// True if op `i` begins another micro-batch than the first.
bool begins_micro_batch(const Trace& trace, std::size_t i);

/// The gradients that each micro-batch completes: one group but where every micro-batch completes them.
std::vector<std::span<const ReadyGradient>> by_micro_batch(const Trace& trace,
                                                           std::span<const ReadyGradient> gradients);

/// Lets every micro-batch wait for the launches of the one before: what accumulates into gradients must not
/// find them on their way (PyTorch DDP waits at the end of each backward).
void hold_micro_batches(const Trace& trace, std::vector<Launch>& launches);

}  // namespace trainyard
