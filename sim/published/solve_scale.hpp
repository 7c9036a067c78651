#pragma once
// The factor on kernel times with which a run is as fast as published.

#include <functional>
#include <optional>

namespace trainyard {

/// The factor x >= 0 at which `value_of(x)`, an increasing piecewise linear function, is `wanted`, to 1e-9 of
/// it; nothing if it is not within 1/20 and 20.
std::optional<double> solve_scale(double wanted, const std::function<double(double)>& value_of);

}  // namespace trainyard
