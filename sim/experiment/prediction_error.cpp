#include "experiment/prediction_error.hpp"

#include "experiment/software_use.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr const char* is_a_trace = "a trace: the published runs are of models";
constexpr const char* is_a_layout =
    "ranks share a model: errors of published runs of that kind are known by family only";

std::string_view software_fit(const ResolvedExperiment& resolved) {
  return resolved.stack.slowdown.source.empty() ? "nothing" : "software";
}

}  // namespace

std::string_view fit_of(const ResolvedExperiment& resolved) {
  return resolved.settings.one_gpu ? one_gpu_fit : software_fit(resolved);
}

Circumstances circumstances_of(const ResolvedExperiment& resolved) {
  return {.use = software_use(resolved),
          .platform = resolved.platform.name,
          .gpus = resolved.cluster->ranks(),
          .nodes = resolved.cluster->nodes,
          .batch_per_gpu = resolved.settings.batch_per_gpu};
}

std::filesystem::path published_errors_file(const config::Catalogue& catalogue, std::string_view fit) {
  return config::shipped_file(catalogue, fmt::format("workloads/published/errors/{}.csv", fit));
}

Known<PredictedJob> predicted_job(const ResolvedExperiment& resolved) {
  if (!resolved.model) return unknown(is_a_trace);
  if (resolved.layout) return unknown(is_a_layout);
  return PredictedJob{.of = circumstances_of(resolved),
                      .fit = std::string(fit_of(resolved)),
                      .software_fit = std::string(software_fit(resolved))};
}

Known<ExpectedError> prediction_error(const ResolvedExperiment& resolved) {
  if (!resolved.model) return unknown(is_a_trace);
  if (resolved.layout) return unknown(is_a_layout);
  if (!resolved.published_errors) return unknown("no errors of published runs are installed for this fit");
  const auto expected = expected_error(*resolved.published_errors, circumstances_of(resolved));
  if (!expected) return unknown("too few published runs");
  return *expected;
}

}  // namespace trainyard
