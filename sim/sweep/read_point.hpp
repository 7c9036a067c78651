#pragma once
// A point of a sweep as an experiment, read and checked.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "sweep/sweep.hpp"

namespace trainyard {

/// The sweep's experiment with the point's values. Throws as resolve, and InputError where a global batch
/// cannot be split evenly or the sweep's own keys contradict the experiment's.
ResolvedExperiment read_point(const config::Catalogue& catalogue, const Sweep& sweep, const PointValues& values,
                  InputFiles& files);

}  // namespace trainyard
