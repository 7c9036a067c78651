#pragma once
// The points of a sweep's page, with axes, colour, filter and order of the reader's choice: the controls,
// which the script (points.js) shows, the data it draws, and the table, which it sorts.

#include "document/html.hpp"
#include "sweep/sweep_result.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The controls and the place of the chart; empty if fewer than two points are finished.
Html points_chart(const SweepResult& result);

/// The table of the first points; with the script, of all that points_json() has.
Html points_table(const SweepResult& result);

/// The points for the script: {keys: [{name, values, of}], figures: [{name, label, unit, values}], points,
/// numbers, rows, columns, more, x, y, colour}. `points` is their number, `rows` that of those in the data.
/// `of` are indices into `values` for each point. `columns` are those of the table ("point", "key 0", "figure
/// 3"), `more` the cells of points after the table's. `x`, `y` and `colour` are columns: the first view,
/// whose colours are those of `by`, a varied key, if it has few enough values. `numbers` are the points' own
/// where the rows have another order, otherwise empty. Figures without values are left out.
std::string points_json(const SweepResult& result, const std::optional<std::string>& by = {});

}  // namespace trainyard
