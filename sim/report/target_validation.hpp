#pragma once
// Published trainings to a target beside their predictions, as text and as JSON.

#include "published/validate_targets.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

std::string target_validation_table(const TargetValidation& validation, const std::vector<TargetFit>& fits,
                                    bool only_families, const PrintStyle& style = {});

nlohmann::ordered_json target_validation_json(const TargetValidation& validation, TargetFit fit);

}  // namespace trainyard
