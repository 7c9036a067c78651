#pragma once
// The figures of a sweep's rows: fields of the summary, under the same names.

#include "experiment/setup.hpp"
#include "run/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Their names, with units. All are fields of summary.json but rent_usd_per_h: what all nodes cost by the
/// hour.
std::vector<std::string> sweep_figure_names();

/// Their values, in the same order; none where the summary has null or no such field.
std::vector<std::optional<double>> sweep_figures(const Inputs& inputs, const Result& result);

}  // namespace trainyard
