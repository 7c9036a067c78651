#pragma once
// Fits the factors of strategy/software.hpp to published runs on one GPU: a hierarchical least squares in the
// logarithm of the step time. A run's time is the sum of its kernels, each group times the product of the
// factors that match, of its launches and of the rest. Every factor is drawn towards 1 as if its logarithm
// were normal with the standard deviation of its level, so that factors with few runs hardly differ from 1
// (maximum a posteriori; for the linearised problem the best linear unbiased prediction, Henderson 1975).

#include "published/kernel_times.hpp"
#include "published/left_out.hpp"
#include "strategy/software.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

class SoftwareFit {
public:
  /// Throws InputError if there are no runs.
  explicit SoftwareFit(std::vector<KernelTimes> runs);
  ~SoftwareFit();
  SoftwareFit(SoftwareFit&&) noexcept;
  SoftwareFit& operator=(SoftwareFit&&) noexcept;

  [[nodiscard]] const std::vector<KernelTimes>& runs() const;

  /// All factors, with the rows they rest on.
  [[nodiscard]] Software software() const;

  /// The factors as if some runs (their indices in runs()) had not been there: one Newton step from the fit
  /// to all.
  [[nodiscard]] Software without(const std::vector<std::size_t>& left_out) const;

  /// The same without the runs that have this property.
  [[nodiscard]] Software without(GroupLeftOut left_out, const std::string& property) const;

  /// Errors of the runs, each predicted without those that have its property.
  [[nodiscard]] LeftOutError left_out_error(GroupLeftOut left_out) const;

private:
  struct Solution;
  std::vector<KernelTimes> runs_;
  std::unique_ptr<Solution> solution_;
};

/// Step time of a run with these factors, in seconds.
double step_time(const KernelTimes& run, const Software& software);

/// "dlperf.csv 2-9 12; lambda.csv 20": where rows are.
std::string places_of(std::span<const PublishedRow* const> rows);

}  // namespace trainyard
