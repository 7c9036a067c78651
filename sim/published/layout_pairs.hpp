#pragma once
// Pairs of published runs that differ in one setting of their layout: how well predictions tell the effect of
// the setting. A common error of both runs cancels.

#include "config/keys.hpp"
#include "published/validation.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class PairSetting { activations, schedule, micro_batches };
inline constexpr std::array pair_settings{PairSetting::activations, PairSetting::schedule,
                                          PairSetting::micro_batches};

/// Two runs; `change` is that of the time per sample from the first to the second, as a share of the first.
struct LayoutPair {
  PairSetting setting{};
  const ScoredCase* first = nullptr;
  const ScoredCase* second = nullptr;
  double measured_change = 0;

  /// Nothing if a run has no prediction.
  [[nodiscard]] std::optional<double> predicted_change(Fit fit) const;
};

/// Pairs of runs that differ in one setting, from families that count in the totals. Each value of a setting
/// is paired with the next. Runs that agree in everything count once. Pairs point into the validation.
std::vector<LayoutPair> layout_pairs(const Validation& validation);

/// Means over the pairs of a setting, as shares of the step.
struct PairErrors {
  int pairs = 0;
  double change = 0;  ///< mean of the measured changes' sizes
  double error = 0;   ///< mean of |predicted - measured change|
};

PairErrors errors_of(const std::vector<LayoutPair>& pairs, PairSetting setting, Fit fit);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<PairSetting> {
  static constexpr std::string_view what = "setting in which pairs differ";
  static constexpr std::array table{
      Name{"recompute, sequence", PairSetting::activations, "recomputation, sequence parallelism or both"},
      Name{"schedule, virtual_stages", PairSetting::schedule, "order of the passes of a pipeline"},
      Name{"micro-batches", PairSetting::micro_batches, "micro-batches of a step: the share of the bubble"}};
};

}  // namespace trainyard::config
