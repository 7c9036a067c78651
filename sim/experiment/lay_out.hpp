#pragma once
// Lays out the ranks of an experiment in another way than its file says.

#include "experiment/resolve.hpp"

namespace trainyard {

/// Gives the experiment this layout, whatever its layout was, with micro-batches of `micro_batch` samples.
/// `model`: its model as the file says, since the vocabulary is padded for tensor ranks. Throws as
/// make_layout().
void lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
             int micro_batch, int micro_batches);

}  // namespace trainyard
