#pragma once
// The timeline of report.html: JSON for its script, the controls, and rank 0's timeline as a picture for
// readers without a script.

#include "document/html.hpp"
#include "run/run.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// {"end": ns, "kinds": [[class, name]], "items": [[title, details, flops, bytes, ns alone]], "tracks":
/// [[name, [[stream, [gap, length, kind, item, gap, ...]]]]]}. A gap is the distance to the previous bar, in
/// ns; an item of -1 means none. Ranks whose bars are the same to the nanosecond share one track. Empty
/// without a timeline.
std::string timeline_json(const Run& run);

/// The section's content; empty without a timeline.
Html timeline_html(const Run& run);

/// The class that fills bars of this category.
std::string_view kind_of_category(std::string_view category);

}  // namespace trainyard
