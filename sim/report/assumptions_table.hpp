#pragma once
// What `trainyard validate --assumed` says of the values that nobody has measured or specified.

#include "published/assumptions.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Mean errors with less, as it is and with more of each assumed value; those that decide most come first.
std::string assumptions_table(const std::vector<AssumptionEffect>& effects, FitProtocol protocol);

/// The same, errors as ratios.
nlohmann::ordered_json assumptions_json(const std::vector<AssumptionEffect>& effects);

}  // namespace trainyard
