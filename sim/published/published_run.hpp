#pragma once
// A published training run that the rules have made sense of, and the experiment it is.

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

/// The run, or in words why it is none that can be predicted. Keeps pointers to all arguments.
std::variant<PublishedRun, std::string> published_run(const PublishedRow& row, const MachineRules& machines,
                                                      const RunRules& rules);

/// The experiment that the run is on the given machine, whatever that of its own row is: a series' run on one
/// GPU is simulated on the machine of the runs that it is to explain. `files`: what was read before
/// and need not be read again. `further`: keys to set after all others. Throws InputError.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const PublishedRun& run,
                             const MachineRule& machine, InputFiles& files, const Overrides& further = {});

}  // namespace trainyard
