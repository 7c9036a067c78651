#pragma once
// The timeline in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
// One process per recorded rank, one thread per stream; phases enclose the ops of the compute stream; an
// arrow leads from the op that completed a bucket to the bucket's collective.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// The whole file. Times are whole nanoseconds, written in microseconds as the format requires, so that
/// rounding never makes two events of a track overlap. The text depends only on the result.
std::string trace_json(const Run& run);

}  // namespace trainyard
