#pragma once
// Predictions of a case between the process that makes them and the one that asked.

#include "published/predict_cases.hpp"

#include <nlohmann/json_fwd.hpp>

namespace trainyard {

nlohmann::json json_of(const PredictedCase& predicted);
PredictedCase predicted_case(const nlohmann::json& json);

}  // namespace trainyard
