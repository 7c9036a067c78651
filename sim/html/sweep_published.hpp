#pragma once
// Published figures on a sweep's page: a table beside the predictions, and plots of those that the scaling
// curves do not have.

#include "document/html.hpp"
#include "sweep/published_comparison.hpp"

#include <string_view>

namespace trainyard {

/// The mark of a published figure: a class of the style sheet and its shape.
inline constexpr const char* published_kind = "published";
inline constexpr int published_shape = 4;

/// The figures that scaling_curves() draws, if they are not relative to a point.
inline constexpr std::string_view throughput_figure = "throughput_samples_per_s";
inline constexpr std::string_view efficiency_figure = "scaling_efficiency";

/// "published: 95.0 %", for the pointer.
std::string published_tooltip(const PublishedComparison& comparison);

/// Empty if nothing was published.
Html published_html(const SweepResult& result);

}  // namespace trainyard
