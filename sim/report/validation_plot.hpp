#pragma once
// The picture of `trainyard validate --plot`: a panel per published curve, those of a family together.

#include "published/validate.hpp"

#include <string>

namespace trainyard {

/// The curves of three sizes and more as an SVG picture: bus bandwidth over size, measured as dots, predicted
/// as lines, which are told apart without colours. How many are too short to be drawn is said in it.
std::string validation_plot(const Validation& validation);

}  // namespace trainyard
