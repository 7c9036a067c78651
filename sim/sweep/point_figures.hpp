#pragma once
// The figures of a sweep's points: which they are, how a point gets them, and the store that keeps them.

#include "experiment/resolve.hpp"
#include "run/figures.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_store.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

/// Which parts of a run the points have.
SweepOf parts_of_points(const Sweep& sweep);

/// The names of the figures.
std::vector<std::string> figures_of_points(const Sweep& sweep);

/// Simulates a point; `complete` sees the run before its figures are taken. Throws as simulate().
std::vector<std::optional<double>> simulated_figures(const Sweep& sweep, ResolvedExperiment resolved,
                                                     const std::function<void(Run&)>& complete = {});

/// The common properties of the store for this sweep, as this version of the program writes it.
StoredSweep stored_sweep(const Sweep& sweep);

}  // namespace trainyard
