#pragma once
// The charts of a sweep's page: throughput and efficiency of its series over the number of GPUs, and what a
// training takes at each point.

#include "html/html.hpp"
#include "sweep/choice.hpp"
#include "sweep/scaling.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Series that are drawn together: as many as can be told apart.
struct CurvePanel {
  std::string title;  ///< what its series have in common; empty if all series are in it
  std::vector<Series> series;
  std::vector<std::string> names;  ///< of each, without what is in the title or the same everywhere
};

/// The series by the values of their first keys, of as few keys as leave no more than eight together.
std::vector<CurvePanel> curve_panels(const SweepResult& result);

/// Empty where no series has two runs.
Html scaling_curves(const SweepResult& result);

/// Time against cost, or energy where no cost is known; empty where neither is.
Html needs_plot(const SweepResult& result, const std::vector<Needs>& needs, const Choice& choice);

}  // namespace trainyard
