#pragma once
// The picture of `trainyard validate --plot`: a panel per published curve, those of a family together.

#include "published/validate.hpp"

#include <string>

namespace trainyard {

/// The curves of three sizes and more as an SVG picture: bus bandwidth over size, measured values as dots,
/// predictions as lines, distinguishable without colours. It states the number of curves too short to be
/// drawn.
std::string validation_plot(const CollectiveValidation& validation);

}  // namespace trainyard
