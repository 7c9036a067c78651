#pragma once
// The charts of a sweep's page: throughput, throughput per GPU and efficiency of its series over the number
// of GPUs, and time and cost or energy of a training at each point.

#include "document/document.hpp"
#include "sweep/choice.hpp"
#include "sweep/published_comparison.hpp"
#include "sweep/scaling.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Series that are drawn together: few enough to be distinguishable.
struct CurvePanel {
  std::string title;  ///< common values of its series, without those of all series; empty if it contains all
  std::vector<Series> series;
  std::vector<std::string> names;  ///< of each: the keys in which its series differ
};

/// The series grouped by the values of their first keys, as few as needed for at most eight series per group.
std::vector<CurvePanel> curve_panels(const SweepResult& result);

/// Adds three charts for each panel in which a series has two runs.
void add_scaling_curves(doc::Section& section, const SweepResult& result);

/// Time against cost, or energy if no cost is known; nothing if fewer than two points have both.
std::optional<doc::Chart> needs_chart(const SweepResult& result, const std::vector<Needs>& needs,
                                      const Choice& choice);

/// For points that learn: adds the final loss of each point over the time of an update, and over the time to
/// the target if some point reaches it; the front of the best points is marked.
void add_learning_charts(doc::Section& section, const SweepResult& result);

/// The mark of a published figure: a class of the style sheet and its shape.
inline constexpr const char* published_kind = "published";
inline constexpr int published_shape = 4;

/// "published: 95.0 %", for the pointer.
std::string published_tooltip(const PublishedComparison& comparison);

/// Adds a heading and a chart for each published figure that several points have, except those of the scaling
/// curves.
void add_published_charts(doc::Section& section, const SweepResult& result);

}  // namespace trainyard
