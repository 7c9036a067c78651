#pragma once
// Lays out the ranks of an experiment in another way than its file says.

#include "experiment/resolve.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// Gives the experiment this layout, whatever its layout was, with micro-batches of `micro_batch` samples. To
/// be judged, not simulated: stages that do the same are one class.
/// `model`: its model as the file says, since the vocabulary is padded for tensor ranks. Returns the updates
/// of its classes, for share_state(). Throws as laid_out().
std::vector<Op> lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
                        int micro_batch, int micro_batches);

/// Divides the state among the replicas in another way, and leaves the rest of the layout. `updates`: what
/// lay_out() returned. Throws as laid_out(), and then changes nothing.
void share_state(ResolvedExperiment& resolved, std::span<const Op> updates, Sharded shard);

}  // namespace trainyard
