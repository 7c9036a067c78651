#include "explain/comparison_error.hpp"

#include "accuracy/error_bounds.hpp"
#include "explain/assumed_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <string_view>

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

Known<std::string> common_fit(const std::string& a, const std::string& b, const std::string& letter) {
  if (a == b) return a;
  return unknown(fmt::format("kernel times are fitted differently (A: {}, {}: {})", a, letter, b));
}

bool begins_with_one_of(const std::string& path, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return path.starts_with(one); });
}

/// Links, the network, and the algorithm of collectives.
bool is_about_communication(const ComparedKey& key) {
  return begins_with_one_of(
      key.path, {"platform.fabric", "platform.node.links", "platform.node.effective", "platform.node.speed",
                 "platform.node.lanes", "platform.node.peer_to_peer", "sync.algorithm", "sync.grid"});
}

/// Speeds of kernels that no published pair of runs varies.
bool is_about_kernels(const ComparedKey& key) {
  return begins_with_one_of(key.path, {"gpu.", "stack.compute_scale", "stack.op_overhead", "random.gpus"});
}

/// The fit, unless the speed of kernels differs by more than a hypothetical factor, which is an assumed
/// input.
Known<std::string> unless_kernels_differ(Known<std::string> fit, const Comparison& comparison) {
  const auto kernels = std::ranges::find_if(comparison.keys, [&](const ComparedKey& key) {
    return is_about_kernels(key) && !is_hypothetical_speed(key.path);
  });
  if (!fit || kernels == comparison.keys.end()) return fit;
  return unknown("no published runs differ in " + kernels->path);
}

/// Whether both runs have the file to which a key belongs.
bool is_of_same_file(const RunSummary& a, const RunSummary& b, std::string_view key) {
  for (const char* const file : {"platform", "model", "stack"}) {
    if (key.starts_with(file)) return key_of(a, file) == key_of(b, file);
  }
  return a.predicted_job->of.use.gpu == b.predicted_job->of.use.gpu;
}

/// Factors on the ratio B over A at the ends of each assumed input.
std::vector<AssumedEffect> effects_on_ratio(const RunSummary& a, const RunSummary& b) {
  std::vector<AssumedEffect> effects = b.assumed;
  for (const AssumedEffect& of_a : a.assumed) {
    // an equal assumption of both, such as a rate of the shared machine, moves both
    auto both = std::ranges::find_if(effects, [&](const AssumedEffect& of_b) {
      return of_a.key == of_b.key && of_a.value == of_b.value && is_of_same_file(a, b, of_a.key);
    });
    if (both == effects.end()) {
      effects.push_back(of_a);
      both = std::prev(effects.end());
      both->at_low = both->at_high = 1;
    }
    both->at_low /= of_a.at_low;
    both->at_high /= of_a.at_high;
  }
  return effects;
}

/// Independent effects add up in squares, those that make the ratio lower and those that make it higher each
/// for themselves.
void add_assumed(const RunSummary& a, const RunSummary& b, RatioError& error) {
  double lower = 0, higher = 0;  // squares
  for (const AssumedEffect& effect : effects_on_ratio(a, b)) {
    lower += std::pow(std::log(std::min({1.0, effect.at_low, effect.at_high})), 2);
    higher += std::pow(std::log(std::max({1.0, effect.at_low, effect.at_high})), 2);
    error.assumed.push_back(effect.key);
  }
  const ErrorBounds bounds = widened({.low = error.low, .high = error.high}, std::exp(-std::sqrt(lower)),
                                     std::exp(std::sqrt(higher)));
  error.low = bounds.low;
  error.high = bounds.high;
}

}  // namespace

Known<std::string> fit_of_comparison(const Comparison& comparison) {
  const RunSummary& a = comparison.a;
  const RunSummary& b = comparison.b;
  if (!a.predicted_job) return unknown("A: " + a.predicted_job.error());
  if (!b.predicted_job) return unknown(comparison.letter + ": " + b.predicted_job.error());
  if (comparison.keys.empty()) return unknown("the experiments are the same");
  if (comparison.throughput_ratio == 1) return unknown("the change does not affect the predicted throughput");
  const std::vector<RunChange> changes = changes_used(a.predicted_job->of, b.predicted_job->of);
  const bool is_of_scale_only = changes == std::vector{RunChange::gpus};
  if (a.predicted_job->fit == one_gpu_fit && b.predicted_job->fit == one_gpu_fit && is_factor_kept(a, b) &&
      !is_of_scale_only)
    return unless_kernels_differ(
        common_fit(a.predicted_job->software_fit, b.predicted_job->software_fit, comparison.letter),
        comparison);
  return unless_kernels_differ(common_fit(a.predicted_job->fit, b.predicted_job->fit, comparison.letter),
                               comparison);
}

Known<RatioError> comparison_error(const Comparison& comparison, const PublishedErrors& errors) {
  const Circumstances& a = comparison.a.predicted_job->of;
  const Circumstances& b = comparison.b.predicted_job->of;
  const OtherChange other = std::ranges::all_of(comparison.keys, is_about_communication)
                                ? OtherChange::communication
                                : OtherChange::settings;
  auto error = ratio_error(published_pairs(errors, changes_used(a, b)), a, b, other);
  if (!error) return unknown("too few published pairs of runs differ in the same way");
  add_assumed(comparison.a, comparison.b, *error);
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
