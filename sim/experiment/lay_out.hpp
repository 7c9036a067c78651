#pragma once
// Lays out the ranks of an experiment that share its model: as its file says, or in another way.

#include "experiment/layout.hpp"
#include "experiment/resolved_experiment.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// The model, stack and ranks of an experiment, to be laid out in this way. Refers to `resolved`. Requires a
/// model. Throws InputError if the stack copies through host memory and the platform has no way there.
LayoutRequest layout_request(const ResolvedExperiment& resolved, const Parallelism& parallelism);

/// The layout and the classes of ranks that the experiment's file asks for, with notes and warnings about
/// them. Pads the vocabulary of its model. Throws as laid_out().
void lay_out(ResolvedExperiment& resolved);

/// Replaces the layout of the experiment, with micro-batches of `micro_batch` samples. The result is for
/// judging, not for simulating: stages with the same work are one class. `model`: the experiment's model
/// before the vocabulary was padded for tensor ranks. Returns the updates of its classes, for share_state().
/// Throws as laid_out().
std::vector<Op> lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
                        int micro_batch, int micro_batches);

/// Divides the state among the replicas in another way, and leaves the rest of the layout. `updates`: the
/// result of lay_out(). Throws as laid_out(), and then changes nothing.
void share_state(ResolvedExperiment& resolved, std::span<const Op> updates, Sharded shard);

}  // namespace trainyard
