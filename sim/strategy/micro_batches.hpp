#pragma once
// Steps of several micro-batches, each of which reduces its gradients.

#include "strategy/buckets.hpp"
#include "workload/trace.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// True if op `i` begins another micro-batch than the first.
bool begins_micro_batch(const Trace& trace, std::size_t i);

/// The number of the micro-batch of each op, from 0.
std::vector<int> micro_batch_numbers(const Trace& trace);

/// The gradients that each micro-batch completes: one group but where every micro-batch completes them.
std::vector<std::span<const ReadyGradient>> by_micro_batch(const Trace& trace,
                                                           std::span<const ReadyGradient> gradients);

}  // namespace trainyard
