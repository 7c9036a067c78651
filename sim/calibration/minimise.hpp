#pragma once
// Minimisation for this folder: NLopt's subplex, which needs no derivative (rooflines have kinks) and
// respects bounds.

#include <functional>
#include <vector>

namespace trainyard {

struct Bounds {
  double lower = 0, upper = 0;
};

/// The point with the smallest `loss`, from two starts: `start`, and `start` at 0.6 of its distance to the
/// lower bounds; each search is restarted once at its end. Deterministic. `loss` only gets points within the
/// bounds.
std::vector<double> minimise(const std::function<double(const std::vector<double>&)>& loss,
                             const std::vector<double>& start, const std::vector<Bounds>& bounds);

}  // namespace trainyard
