#pragma once
// A published training run to which the rules apply, and the experiment that reproduces it.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "published/published_data.hpp"
#include "published/training_rows.hpp"

#include <memory>
#include <string>
#include <variant>

namespace trainyard {

struct PublishedRun {
  std::shared_ptr<const PublishedData> data;  ///< holds the row and the rules
  const PublishedRow* row = nullptr;
  const MachineRule* machine = nullptr;
  const ModelRule* model = nullptr;
  const StackRule* stack = nullptr;
  TrainingMeasurement measured;
  SeriesKey series;
};

/// The run of one of the data's rows, or why it cannot be predicted.
std::variant<PublishedRun, std::string> published_run(const std::shared_ptr<const PublishedData>& data,
                                                      const PublishedRow& row);

/// The experiment for the run on the given machine, which may differ from that of its own row: a series' run
/// on one GPU is simulated on the machine of the runs for which it is the reference. `files`: files already
/// read. `further`: keys to set after all others. Throws InputError.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const PublishedRun& run,
                             const MachineRule& machine, InputFiles& files, const Overrides& further = {});

}  // namespace trainyard
