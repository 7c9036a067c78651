#pragma once
// Output of `trainyard validate` and `trainyard calibrate collectives`: predicted and measured values and
// errors by size and by curve, and a short summary.

#include "calibration/fit_collectives.hpp"
#include "published/validate.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Of the JSON of `validate`, whatever it is about.
inline constexpr int validation_schema_version = 4;

/// Every size of every curve, then a line per curve, then families and all together, then the excluded rows.
/// `only_curves` omits the sizes.
std::string validation_table(const CollectiveValidation& validation, bool only_curves,
                             const PrintStyle& style = {});

/// {schema_version, overall, families, baselines, curves, rows, outliers, excluded}: errors as ratios,
/// measured and predicted values with their unit.
nlohmann::ordered_json validation_json(const CollectiveValidation& validation);

/// The fitted constants' errors by curve, and rates next to those of the platform files.
std::string fit_table(const CollectiveFit& fit, const PrintStyle& style = {});

}  // namespace trainyard
