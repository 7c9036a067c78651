#pragma once
// What can be said of a layout without simulating it: whether it is possible and fits, and a time and an
// energy below which no simulation of it can be.

#include "experiment/resolve.hpp"
#include "plan/layout_space.hpp"
#include "schedule/step_bound.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class LayoutFate : char { open, impossible, too_large };

struct LayoutVerdict {
  LayoutFate fate = LayoutFate::open;
  std::string reason = {};            ///< of an impossible one
  Seconds time = {};                  ///< of an open one: no step is shorter
  std::optional<Joules> energy = {};  ///< no step needs less; empty: the power is not known
};

/// Judges the layouts of one job.
class LayoutJudge {
public:
  /// `base`: the job without a layout. `headroom`: the share of the available memory that must stay free.
  LayoutJudge(ResolvedExperiment base, double headroom);

  LayoutVerdict judge(const PlanLayout& layout);

private:
  [[nodiscard]] std::optional<Joules> energy_of(const StepBound& bound) const;

  ResolvedExperiment trial_;
  Model model_;
  double headroom_;
};

}  // namespace trainyard
