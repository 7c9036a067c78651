#pragma once
// The one way this folder minimises: NLopt's subplex, which needs no derivative (rooflines have kinks) and
// keeps to bounds.

#include <functional>
#include <vector>

namespace trainyard {

struct Bounds {
  double lower = 0, upper = 0;
};

/// The point that makes `loss` smallest, from `start` and from `start` at 0.6 of its distance to the lower
/// bounds; the search is restarted once where it ends. Deterministic. Points that `loss` sees are within the
/// bounds.
std::vector<double> minimise(const std::function<double(const std::vector<double>&)>& loss,
                             const std::vector<double>& start, const std::vector<Bounds>& bounds);

}  // namespace trainyard
