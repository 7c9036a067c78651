#pragma once
// The text of a trace that was imported, read back before anybody gets it.

#include "workload/trace.hpp"

#include <string>

namespace trainyard {

/// The trace as CSV (write_trace), which the reader of traces reads back to the same trace. Throws InputError
/// with `name` if it holds what no trace can, such as an op of several days.
std::string checked_trace_text(const std::string& name, const Trace& trace);

}  // namespace trainyard
