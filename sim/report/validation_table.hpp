#pragma once
// What `trainyard validate` and `trainyard calibrate collectives` print: predicted, measured and error by
// size and by curve, and what is left of it for people in a hurry.

#include "study/fit_collectives.hpp"
#include "study/validate.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Every size of every curve, then a line per curve, then families and all together, then the excluded rows.
/// `only_curves` leaves the sizes out.
std::string validation_table(const Validation& validation, bool only_curves);

/// {schema_version, overall, families, rows, excluded ...}: errors as ratios, times in seconds.
nlohmann::ordered_json validation_json(const Validation& validation);

/// The fitted constants' errors by curve, rates beside those of the platform files.
std::string fit_table(const CollectiveFit& fit);

/// The curves of three sizes and more as an SVG picture: bus bandwidth over size, measured as dots, predicted
/// as lines.
std::string validation_plot(const Validation& validation);

}  // namespace trainyard
