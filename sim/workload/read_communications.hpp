#pragma once
// The collectives and messages of an op in a trace CSV: six columns, each a list with an item for each of
// them.

#include "workload/trace.hpp"
#include "workload/trace_row.hpp"

namespace trainyard {

/// Sets the op's communications. Reports wrong cells.
void read_communications(const TraceRow& row, Op& op);

}  // namespace trainyard
