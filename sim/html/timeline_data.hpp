#pragma once
// The timeline of report.html: what its script draws as JSON, the controls, and rank 0's as a picture where
// no script runs.

#include "html/html.hpp"
#include "run/run.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// {"end": ns, "kinds": [[class, name]], "items": [[title, details, flops, bytes, ns alone]], "tracks":
/// [[name, [[stream, [gap, length, kind, item, gap, ...]]]]]}. A gap is that to the bar before, in ns; an
/// item of -1 is none. Ranks whose bars are the same to the nanosecond are one track. Empty without a
/// timeline.
std::string timeline_json(const Run& run);

/// The section's content; empty without a timeline.
Html timeline_html(const Run& run);

/// The class that fills bars of this category.
std::string_view kind_of_category(std::string_view category);

}  // namespace trainyard
