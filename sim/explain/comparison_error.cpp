#include "explain/comparison_error.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

std::string key_of(const RunSummary& run, const std::string& path) {
  const auto found = run.experiment_keys.find(path);
  return found == run.experiment_keys.end() ? std::string() : found->second;
}

/// Whether B's kernel times are scaled by A's measurement.
bool is_factor_kept(const RunSummary& a, const RunSummary& b) {
  return key_of(a, "one_gpu_scale") == key_of(b, "one_gpu_scale");
}

Known<std::string> common_fit(const std::string& a, const std::string& b) {
  if (a == b) return a;
  return unknown(fmt::format("kernel times are fitted differently (A: {}, B: {})", a, b));
}

/// Keys of the platform other than its GPUs, and the algorithm of collectives.
bool is_about_communication(const ComparedKey& key) {
  return key.path == "sync.algorithm" ||
         (key.path.starts_with("platform.") && !key.path.starts_with("platform.node.gpus"));
}

}  // namespace

Known<std::string> fit_of_comparison(const Comparison& comparison) {
  const RunSummary& a = comparison.a;
  const RunSummary& b = comparison.b;
  if (!a.predicted_job) return unknown("A: " + a.predicted_job.error());
  if (!b.predicted_job) return unknown("B: " + b.predicted_job.error());
  if (comparison.keys.empty()) return unknown("the experiments are the same");
  const std::vector<RunChange> changes = changes_used(a.predicted_job->of, b.predicted_job->of);
  const bool is_of_scale_only = changes == std::vector{RunChange::gpus};
  if (a.predicted_job->fit == one_gpu_fit && b.predicted_job->fit == one_gpu_fit && is_factor_kept(a, b) &&
      !is_of_scale_only)
    return common_fit(a.predicted_job->software_fit, b.predicted_job->software_fit);
  return common_fit(a.predicted_job->fit, b.predicted_job->fit);
}

Known<RatioError> comparison_error(const Comparison& comparison, const PublishedErrors& errors) {
  const Circumstances& a = comparison.a.predicted_job->of;
  const Circumstances& b = comparison.b.predicted_job->of;
  const OtherChange other = std::ranges::all_of(comparison.keys, is_about_communication)
                                ? OtherChange::communication
                                : OtherChange::settings;
  const auto error = ratio_error(published_pairs(errors, changes_used(a, b)), a, b, other);
  if (!error) return unknown("too few published pairs of runs differ in the same way");
  return *error;
}

double lowest_ratio(const Comparison& comparison) {
  return comparison.throughput_ratio * (1 + comparison.ratio_error->low);
}

double highest_ratio(const Comparison& comparison) {
  return comparison.throughput_ratio * (1 + comparison.ratio_error->high);
}

bool is_beyond_error(const Comparison& comparison) {
  return comparison.throughput_ratio > 1 ? lowest_ratio(comparison) > 1 : highest_ratio(comparison) < 1;
}

}  // namespace trainyard
