#pragma once
// The charts of a sweep's page: throughput, throughput per GPU and efficiency of its series over the number
// of GPUs, and time and cost or energy of a training at each point.

#include "document/html.hpp"
#include "sweep/choice.hpp"
#include "sweep/scaling.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Series that are drawn together: few enough to be distinguishable.
struct CurvePanel {
  std::string title;  ///< common values of its series, without those of all series; empty if it contains all
  std::vector<Series> series;
  std::vector<std::string> names;  ///< of each: the keys in which its series differ
};

/// The names of all series without keys whose value is the same in all of them; of a single one the sweep's
/// name.
std::vector<std::string> telling_names(const SweepResult& result, const std::vector<Series>& all);

/// The series grouped by the values of their first keys, as few as needed for at most eight series per group.
std::vector<CurvePanel> curve_panels(const SweepResult& result);

/// Empty if no series has two runs.
Html scaling_curves(const SweepResult& result);

/// Time against cost, or energy if no cost is known; empty if neither is.
Html needs_plot(const SweepResult& result, const std::vector<Needs>& needs, const Choice& choice);

}  // namespace trainyard
