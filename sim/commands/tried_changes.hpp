#pragma once
// Changes to an experiment, simulated for `explain` and for the page of `run --out`.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "report/run_page.hpp"
#include "run/simulate.hpp"

#include <string>

namespace trainyard {

/// An experiment as the command line gives it, and as it resolves.
struct AskedExperiment {
  const config::Catalogue& catalogue;
  const std::string& experiment;
  const Overrides& overrides;
  const ResolvedExperiment& resolved;
  InputFiles& files;  ///< read for it
};

/// Whether the step fits into the memory of its GPUs, or is simulated all the same.
bool is_simulated(const ResolvedExperiment& resolved);

/// The overrides for changes, which keep the factor on kernel times: the measurement is of the unchanged
/// experiment.
Overrides overrides_for_changes(const ResolvedExperiment& resolved, Overrides overrides);

/// The changes for the page of a run, which must not have been simulated yet. None is tried where that would
/// take far longer than the run: for many updates, and for the fidelities that simulate messages or rounds.
PageChanges changes_for_page(const AskedExperiment& asked, const SimulateOptions& how);

/// Without changes that the run shows to be pointless.
PageChanges worth_showing(PageChanges changes, const Run& run);

}  // namespace trainyard
