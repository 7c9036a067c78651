#include "published/case_figures.hpp"

#include "accuracy/collective_error.hpp"
#include "collectives/operation.hpp"
#include "experiment/experiment.hpp"
#include "published/validate.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"

namespace trainyard {

CaseMemory memory_of(const ResolvedExperiment& experiment) {
  const std::vector<MemoryReport> reports = memory_reports(experiment);
  const MemoryReport& report = fullest(reports);
  const MemoryTerms& terms = report.terms;
  return {.state = terms.parameters + terms.gradients + terms.optimizer_state,
          .activations = terms.activations,
          .allocated = report.peak - terms.context - terms.communication_buffers - terms.fragmentation,
          .in_use = report.peak,
          .available = report.available,
          .gpu = report.gpu,
          .fits = report.fits};
}

double samples_per_second(StatedSpeed stated, double speed, const ResolvedExperiment& experiment) {
  const int ranks = experiment.cluster->ranks();
  const double step =
      1.0 * experiment.settings.batch_per_gpu * experiment.settings.accumulation * replicas(experiment);
  const auto tokens = [&] {
    if (!experiment.model || !experiment.model->sequence_length)
      throw InputError("a speed in tokens, of a model that reads no sequences");
    return *experiment.model->sequence_length;
  };
  const auto at_one_step_per_second = [&] {
    const Known<MatrixWork> work = matrix_work(experiment, 1);
    if (!work) throw InputError(work.error());
    return *work;
  };
  switch (stated) {
    case StatedSpeed::samples:
      return speed;
    case StatedSpeed::tokens:
      return speed / tokens();
    case StatedSpeed::gpu_tokens:
      return speed * ranks / tokens();
    case StatedSpeed::step_time:
      return step / speed;
    case StatedSpeed::epoch_time:
      if (!experiment.samples_per_epoch)
        throw InputError("the number of samples per epoch is not known for this model");
      return *experiment.samples_per_epoch / speed;
    case StatedSpeed::gpu_flops:
      return step * speed / at_one_step_per_second().rate.si();
    case StatedSpeed::utilization:
      return step * speed / at_one_step_per_second().utilization;
  }
  return 0;
}

const OpCommunication& only_collective(const ResolvedExperiment& experiment) {
  const OpCommunication* found = nullptr;
  for (const RankClass& one : experiment.classes) {
    for (const Op& op : one.trace.ops) {
      for (const OpCommunication& collective : op.communications) {
        if (found != nullptr || collective.message)
          throw InputError("the step of a bus bandwidth must have one collective and no messages");
        found = &collective;
      }
    }
  }
  if (found == nullptr) throw InputError("the step of a bus bandwidth must have a collective");
  return *found;
}

std::optional<ErrorBounds> bandwidth_bounds(const config::Catalogue& catalogue,
                                            const ResolvedExperiment& experiment) {
  const auto errors = shipped_collective_errors(catalogue);
  if (!errors || is_of_hosts(experiment.library.library)) return std::nullopt;
  const OpCommunication& collective = only_collective(experiment);
  const CurveSubject of{.operation = std::string(config::name_of(collective.operation)),
                        .platform = experiment.platform.name,
                        .links = std::string(config::name_of(family_of(*experiment.cluster))),
                        .compute_capability = experiment.library.compute_capability,
                        .gpus = experiment.cluster->ranks(),
                        .nodes = experiment.cluster->nodes};
  const auto error = collective_error(*errors, of, range_of(collective.size));
  return error ? std::optional(ErrorBounds{error->low, error->high}) : std::nullopt;
}

double figure_of(const CaseMemory& memory, CaseFigure figure) {
  switch (figure) {
    case CaseFigure::memory_in_use:
      return memory.in_use.si();
    case CaseFigure::memory_allocated:
      return memory.allocated.si();
    case CaseFigure::memory_of_activations:
      return memory.activations.si();
    case CaseFigure::memory_of_state:
      return memory.state.si();
    default:
      return memory.fits ? 1 : 0;
  }
}

}  // namespace trainyard
