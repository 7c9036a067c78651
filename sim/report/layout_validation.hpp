#pragma once
// `trainyard validate` for runs whose ranks share a model: a table for people, and JSON.

#include "published/validate_layouts.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

std::string layout_validation_table(const LayoutValidation& validation, const std::vector<LayoutFit>& fits,
                                    bool only_families, const PrintStyle& style = {});

/// For one fit, in the form of training_validation_json: fit, overall, families, expected_error, rows (with
/// `layout`) and excluded; besides them memory, and pairs: by setting their number, mean change and mean
/// error, and under `each` every pair with its file, its two lines and both changes. Errors and changes are
/// ratios. workloads/published/README.md has the fields.
nlohmann::ordered_json layout_validation_json(const LayoutValidation& validation, LayoutFit fit);

}  // namespace trainyard
