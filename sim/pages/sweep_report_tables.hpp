#pragma once
// The tables of a sweep's page as reports of benchmarks have them (`report` of its file): a section for each
// value of a key, in it tables with other values next to each other.

#include "document/document.hpp"
#include "sweep/sweep_result.hpp"

namespace trainyard {

/// Adds a section for each value of the key `report.section`; nothing if the file has no `report`. In it, for
/// each combination of the keys that are neither sections, rows nor columns: a table for each compared
/// figure, and one with all figures. Columns of which all points are left out stand above it with their
/// reason; a cell whose point is left out or failed has the number of its reason, which stands below the
/// section.
void add_report_tables(doc::Document& page, const SweepResult& result);

}  // namespace trainyard
