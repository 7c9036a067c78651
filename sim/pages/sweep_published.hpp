#pragma once
// Published figures on a sweep's page: charts of those that the scaling curves do not have.

#include "document/document.hpp"
#include "sweep/published_comparison.hpp"

#include <string>

namespace trainyard {

/// The mark of a published figure: a class of the style sheet and its shape.
inline constexpr const char* published_kind = "published";
inline constexpr int published_shape = 4;

/// "published: 95.0 %", for the pointer.
std::string published_tooltip(const PublishedComparison& comparison);

/// Adds a heading and a chart for each figure that several points have.
void add_published_charts(doc::Section& section, const SweepResult& result);

}  // namespace trainyard
