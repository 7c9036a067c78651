#pragma once
// Traces as CSV files: the door through which users bring their own measurements, and the export that replays
// to the same bits. workloads/README.md describes the format.

#include "workload/trace.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// The trace as CSV, every number in the shortest form that reads back to the same bits. Names must be UTF-8
/// without line breaks, tensor names also without ';' (those of models and of read_trace are).
std::string write_trace(const Trace& trace);

/// Reads what write_trace wrote (to an equal trace) or what a user wrote by hand: columns may be missing but
/// for `phase`, `layer` and one of `kind` and `duration_s`. `name` is printed in diagnostics. Throws
/// InputError with every problem found, each at the line and column of its cell.
Trace read_trace(std::string name, std::string_view text);

}  // namespace trainyard
