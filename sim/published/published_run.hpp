#pragma once
// A published training run to which the rules apply, and the experiment that reproduces it.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "published/machine_rules.hpp"
#include "published/run_rules.hpp"
#include "published/training_rows.hpp"

#include <string>
#include <variant>

namespace trainyard {

struct PublishedRun {
  const PublishedRow* row = nullptr;
  const MachineRule* machine = nullptr;
  const ModelRule* model = nullptr;
  const StackRule* stack = nullptr;
  TrainingMeasurement measured;
  SeriesKey series;
};

/// The run, or why it cannot be predicted. Keeps pointers to all arguments.
std::variant<PublishedRun, std::string> published_run(const PublishedRow& row, const MachineRules& machines,
                                                      const RunRules& rules);

/// The experiment for the run on the given machine, which may differ from that of its own row: a series' run
/// on one GPU is simulated on the machine of the runs for which it is the reference. `files`: files already
/// read. `further`: keys to set after all others. Throws InputError.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const PublishedRun& run,
                             const MachineRule& machine, InputFiles& files, const Overrides& further = {});

}  // namespace trainyard
