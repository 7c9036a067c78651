#pragma once
// What `trainyard validate` and `trainyard calibrate collectives` print: predicted, measured and error by
// size and by curve, and what is left of it for people in a hurry.

#include "calibration/fit_collectives.hpp"
#include "published/validate.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Every size of every curve, then a line per curve, then families and all together, then the excluded rows.
/// `only_curves` leaves the sizes out.
std::string validation_table(const Validation& validation, bool only_curves);

/// {schema_version, overall, families, baselines, curves, rows, outliers, excluded}: errors as ratios, what
/// was measured and predicted in the unit beside it.
nlohmann::ordered_json validation_json(const Validation& validation);

/// The fitted constants' errors by curve, rates beside those of the platform files.
std::string fit_table(const CollectiveFit& fit);

}  // namespace trainyard
