#include "experiment/prediction_error.hpp"

#include "experiment/software_use.hpp"

namespace trainyard {

std::string_view fit_of(const ResolvedExperiment& resolved) {
  if (resolved.settings.one_gpu) return "1gpu";
  return resolved.stack.slowdown.source.empty() ? "nothing" : "software";
}

Circumstances circumstances_of(const ResolvedExperiment& resolved) {
  return {.use = software_use(resolved),
          .platform = resolved.platform.name,
          .gpus = resolved.cluster->ranks(),
          .nodes = resolved.cluster->nodes,
          .batch_per_gpu = resolved.settings.batch_per_gpu};
}

Known<ExpectedError> prediction_error(const ResolvedExperiment& resolved) {
  if (!resolved.model) return unknown("a trace: the published runs are of models");
  if (!resolved.published_errors) return unknown("no errors of published runs are installed for this fit");
  const auto expected = expected_error(*resolved.published_errors, circumstances_of(resolved));
  if (!expected) return unknown("too few published runs");
  return *expected;
}

}  // namespace trainyard
