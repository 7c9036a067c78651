#include "experiment/job_accuracy.hpp"

#include "config/keys.hpp"
#include "experiment/job_target.hpp"
#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

Known<JobAccuracy> job_accuracy(const ResolvedExperiment& resolved) {
  const Experiment& settings = resolved.settings;
  if (!settings.job || !settings.job->epochs || !resolved.model || resolved.model->fixed_epochs.empty())
    return unknown({});
  if (!traits(settings.sync.update).is_one_batch() || settings.sync.keep)
    return unknown("the accuracy is published for synchronous updates with all values of the gradients");
  if (settings.job->data != DataDivision::sharded)
    return unknown("the accuracy is published for replicas that share the samples of an epoch");
  const double epochs = *settings.job->epochs;
  const std::string_view optimizer = config::name_of(settings.optimizer);
  const FixedEpochs* table = fixed_epochs_for(resolved.model->fixed_epochs, epochs, optimizer);
  if (table == nullptr) {
    const FixedEpochs& known = resolved.model->fixed_epochs.back();
    return unknown(
        fmt::format("no published accuracies after {} epochs with {}; there are some after {} with {}",
                    shortest(epochs), optimizer, shortest(known.epochs), known.optimizer));
  }
  JobAccuracy accuracy{.table = *table, .batch = samples_of_update(resolved), .expected = {}};
  const Known<AccuracyAtEnd> expected = accuracy_at_end(accuracy.table, accuracy.batch);
  if (!expected) return unknown(expected.error());
  accuracy.expected = *expected;
  return accuracy;
}

}  // namespace trainyard
