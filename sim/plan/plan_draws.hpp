#pragma once
// Seeded draws of a plan's step, for the plan that is best at a quantile. A draw has two parts.
//
// The speed of the slowest GPU. Speeds of GPUs are normal with the variation of their profile, as for
// random.gpus: slowest, whose mean the predicted step has. As there, all kernels take as long as on the
// slowest of the GPUs that wait for each other, so that its speed is all that must be drawn; of a pipeline
// that is an upper bound. All layouts of all groups have the same draw: a larger group has the slower slowest
// GPU.
//
// The error of the prediction: normal in the logarithm, with a tenth on each side of the expected error's
// interval (common_error.hpp). A quantile of one layout depends on its own distribution alone, so that all
// layouts have the same draw here: then none is better than another by the luck of its draws. Where layouts
// are compared draw by draw, their errors have a part of their own, seeded by the layout.
//
// The interval is of real machines, whose slowest GPUs also differ: that part, about a hundredth of the
// variance, is counted twice.

#include "accuracy/common_error.hpp"
#include "experiment/slowest_gpu.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard {

/// The GPUs of a group of plans.
struct GroupSpeeds {
  WaitedGpus waited = {};
  double nominal = 1;  ///< kernel times of the slowest relative to the mean GPU, in the predicted step

  /// The factor of a slow draw: 1 in 100 is slower.
  [[nodiscard]] double slow() const;
};

/// A figure of a layout, such as its step, that the draws vary: linear in the slowest GPU's kernel times
/// between two simulations, and in proportion to the error. A step is convex in them, being the longest of
/// paths, so that it is at most as long between the two, and longer beyond.
struct DrawnFigure {
  double nominal = 0;  ///< as predicted
  double slow = 0;     ///< with GroupSpeeds::slow()
  ErrorSpread error = {};
};

class PlanDraws {
public:
  /// `groups`: the speeds of each. Requires a quantile above 0 and below 1, and a draw.
  PlanDraws(double quantile, int draws, std::uint64_t seed, std::vector<GroupSpeeds> groups);

  [[nodiscard]] const GroupSpeeds& speeds(std::size_t group) const { return groups_[group]; }

  /// The least value that at least this share of draws does not exceed.
  [[nodiscard]] double quantile_of(std::size_t group, const DrawnFigure& figure) const;

  /// The quantile of a figure is at least its lower bound as predicted times this: no step shrinks by more
  /// than its kernels do.
  [[nodiscard]] double least_factor(std::size_t group, const ErrorSpread& error) const;

  /// The figure in each draw, with `common` as the share of the error's variance that all layouts have in
  /// common. `key` seeds the rest of the error.
  [[nodiscard]] std::vector<double> values(std::size_t group, const DrawnFigure& figure, double common,
                                           std::string_view key) const;

private:
  [[nodiscard]] double at_quantile(std::vector<double>& values) const;

  double quantile_;
  std::uint64_t seed_;
  std::vector<GroupSpeeds> groups_;
  std::vector<double> errors_;                ///< by draw: standard normal
  std::vector<std::vector<double>> slowest_;  ///< by group and draw: kernel times relative to the mean GPU
};

}  // namespace trainyard
