#pragma once
// The text of a trace that was imported, read back before anybody gets it.

#include "config/diagnostic.hpp"
#include "workload/trace.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The trace as CSV (write_trace), which the reader of traces reads back to the same trace. Throws InputError
/// about the ops of `source`, the file that the trace is from, if no trace can hold its content, such as an
/// op of several days.
std::string checked_trace_text(const std::string& source, const Trace& trace);

/// Turns a reader's errors at lines of a trace, which users do not see, into errors about the ops of the file
/// that the trace is from. `text`: of the trace file `file`.
std::vector<Diagnostic> about_ops(std::vector<Diagnostic> diagnostics, const std::string& file,
                                  std::string_view text, const Trace& trace, const std::string& source);

}  // namespace trainyard
