#pragma once
// Report of `trainyard validate --assumed` on values that nobody has measured or specified.

#include "published/assumptions.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Mean errors with a smaller, the current and a larger value of each assumption; the largest effects first.
std::string assumptions_table(const std::vector<AssumptionEffect>& effects, Fit fit,
                              const PrintStyle& style = {});

/// The same, errors as ratios.
nlohmann::ordered_json assumptions_json(const std::vector<AssumptionEffect>& effects);

}  // namespace trainyard
