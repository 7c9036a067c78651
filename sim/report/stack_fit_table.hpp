#pragma once
// `trainyard calibrate stack` as text.

#include "calibration/fit_stack.hpp"

#include <string>

namespace trainyard {

/// Every row used for the fit with its own scale, and the scale of all of them.
std::string stack_fit_table(const StackFit& fit);

}  // namespace trainyard
