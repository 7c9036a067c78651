#pragma once
// Traces as CSV files, to import users' own measurements and to export traces that replay to the same bits.
// docs/traces.md describes the format.

#include "workload/trace.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// The trace as CSV, every number in the shortest form that reads back to the same bits. Names must be UTF-8
/// without line breaks, tensor names also without ';' (those of models and of read_trace are).
std::string write_trace(const Trace& trace);

/// Reads the output of write_trace (to an equal trace) or a file written by hand: all columns may be missing
/// except `phase`, `layer` and one of `kind` and `duration_s`. `name` is printed in diagnostics. Throws
/// InputError with every problem found, each at the line and column of its cell.
Trace read_trace(std::string name, std::string_view text);

}  // namespace trainyard
