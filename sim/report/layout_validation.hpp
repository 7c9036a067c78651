#pragma once
// `trainyard validate` for runs whose ranks share a model: a table for people, and JSON.

#include "published/validate_layouts.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

std::string layout_validation_table(const LayoutValidation& validation, const std::vector<LayoutFit>& fits,
                                    bool only_families);

/// {"fit": FIT, "overall": {FIT: errors}, "families": {NAME: {FIT: errors}}, "pairs": {SETTING: {FIT: ...}},
/// "memory": {...}, "rows": [...], "excluded": {REASON: count}}; errors are ratios. `fit`: the one that was
/// asked for; all are listed.
nlohmann::ordered_json layout_validation_json(const LayoutValidation& validation, LayoutFit fit);

}  // namespace trainyard
