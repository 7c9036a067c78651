#pragma once
// Other layouts of the same ranks with which a step would fit into the memory of its GPUs, for the error of a
// step that does not fit.

#include "experiment/resolve.hpp"
#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct FittingLayout {
  Overrides set;  ///< in addition to the experiment's own
  Bytes peak;     ///< of the fullest rank
};

/// The smallest changes of one setting of the block `parallelism` with which the step fits, or of two if no
/// single one suffices: more recomputation, more sharded state; two, four ... times the tensor ranks (within
/// nodes), stages, context or expert ranks. The global batch stays: with half the replicas each has twice the
/// micro-batches. At most four, those with the least memory last. Empty for jobs that cannot share a model:
/// other kinds of synchronisation, traces.
std::vector<FittingLayout> layouts_that_fit(const ResolvedExperiment& resolved);

/// A line below the error of such a step: the settings that would fit, or that none was found. Empty for jobs
/// that cannot share a model.
std::string fitting_hint(const ResolvedExperiment& resolved);

}  // namespace trainyard
