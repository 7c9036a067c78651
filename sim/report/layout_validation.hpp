#pragma once
// `trainyard validate` for runs whose ranks share a model: a table for people, and JSON.

#include "published/validate_layouts.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

std::string layout_validation_table(const LayoutValidation& validation, bool only_families);

/// {"overall": {FIT: errors}, "families": {NAME: {FIT: errors}}, "rows": [...], "excluded": {REASON: count}};
/// errors are ratios.
nlohmann::ordered_json layout_validation_json(const LayoutValidation& validation);

}  // namespace trainyard
