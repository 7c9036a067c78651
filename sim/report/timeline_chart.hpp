#pragma once
// A rank's two streams as two lines of text: a picture of their overlap for the summary. If the ranks share a
// model, one line for each stage.

#include "run/run.hpp"

#include <string>

namespace trainyard {

struct TimelineChart {
  std::string compute;  ///< f, b, o: the phase that fills most of the column; '.' while the stream waits
  std::string communication;  ///< '=' where collectives run for most of the column, '-' for part of it
};

/// Both lines are `width` columns wide and show the step from 0 to its end. Blank if the step takes no time.
TimelineChart timeline_chart(const Run& run, const ClassStep& one, int width);

/// The step of the class's first rank in `width` columns: f, b, o for the passes and the optimizer, '-' for
/// communication while neither runs, '.' for the bubble. Where a column covers several, letters alternate in
/// proportion to their times. Blank if the step takes no time.
std::string stage_chart(const Run& run, const ClassStep& one, int width);

}  // namespace trainyard
