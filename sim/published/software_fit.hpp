#pragma once
// Fits the factors of strategy/software.hpp to published runs on one GPU: a hierarchical least squares in the
// logarithm of the step time. A run's time is the sum of its kernels, each group times the product of the
// factors that match, of its launches and of the rest. Every factor is drawn towards 1 as if its logarithm
// were normal with the standard deviation of its level, so that factors with few runs hardly differ from 1
// (maximum a posteriori; for the linearised problem the best linear unbiased prediction, Henderson 1975).
// The 150 factors are kept that predict nearly the same as all of them (predictive projection).

#include "published/kernel_times.hpp"
#include "published/left_out.hpp"
#include "strategy/software.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

class SoftwareFit {
public:
  /// Throws InputError if there are no runs.
  explicit SoftwareFit(std::vector<KernelTimes> runs);

  [[nodiscard]] const std::vector<KernelTimes>& runs() const;

  /// All factors, with the rows they rest on.
  [[nodiscard]] Software software() const;

  /// The factors, also chosen, as if there were no runs with this property. For a series: without the tenth
  /// of all series that contains it.
  [[nodiscard]] Software without(GroupLeftOut left_out, const std::string& property) const;

  /// Errors of the runs, each predicted without those that have its property.
  [[nodiscard]] LeftOutError left_out_error(GroupLeftOut left_out) const;

private:
  [[nodiscard]] Software fitted_without(const std::function<bool(const KernelTimes&)>& is_left_out) const;

  std::vector<KernelTimes> runs_;
  Software software_;
  std::map<std::string, std::size_t> fold_of_series_;
  std::vector<Software> without_fold_;
};

/// Step time of a run with these factors, in seconds.
double step_time(const KernelTimes& run, const Software& software);

/// "dlperf.csv 2-9 12; lambda.csv 20": where rows are.
std::string places_of(std::span<const PublishedRow* const> rows);

}  // namespace trainyard
