#pragma once
// A rank's two streams as two lines of text: a picture of their overlap for the summary.

#include "run/run.hpp"

#include <string>

namespace trainyard {

struct TimelineChart {
  std::string compute;  ///< f, b, o: the phase that fills most of the column; '.' while the stream waits
  std::string communication;  ///< '=' where collectives run for most of the column, '-' for part of it
};

/// Both lines are `width` columns wide and show the step from 0 to its end. Blank if the step takes no time.
TimelineChart timeline_chart(const Run& run, const ClassStep& one, int width);

}  // namespace trainyard
