#include "calibration/minimise.hpp"

#include <algorithm>
#include <memory>
#include <nlopt.h>
#include <stdexcept>
#include <type_traits>

namespace trainyard {
namespace {

using Loss = std::function<double(const std::vector<double>&)>;

double call_loss(unsigned size, const double* point, double* /*gradient*/, void* loss) {
  return (*static_cast<const Loss*>(loss))(std::vector<double>(point, point + size));
}

/// One descent; moves `point` to the best point found and returns its loss.
double descend(const Loss& loss, const std::vector<Bounds>& bounds, std::vector<double>& point) {
  const std::unique_ptr<std::remove_pointer_t<nlopt_opt>, decltype(&nlopt_destroy)> search(
      nlopt_create(NLOPT_LN_SBPLX, static_cast<unsigned>(point.size())), nlopt_destroy);
  std::vector<double> lower;
  std::vector<double> upper;
  for (const Bounds& bound : bounds) {
    lower.push_back(bound.lower);
    upper.push_back(bound.upper);
  }
  nlopt_set_lower_bounds(search.get(), lower.data());
  nlopt_set_upper_bounds(search.get(), upper.data());
  nlopt_set_min_objective(search.get(), call_loss, const_cast<Loss*>(&loss));
  nlopt_set_xtol_rel(search.get(), 1e-5);
  nlopt_set_maxeval(search.get(), 2000);
  double smallest = 0;
  const nlopt_result result = nlopt_optimize(search.get(), point.data(), &smallest);
  if (result < 0 && result != NLOPT_ROUNDOFF_LIMITED) throw std::logic_error("a fit did not start");
  return smallest;
}

}  // namespace

std::vector<double> minimise(const Loss& loss, const std::vector<double>& start,
                             const std::vector<Bounds>& bounds) {
  std::vector<double> best;
  double smallest = 0;
  for (const double part : {1.0, 0.6}) {
    std::vector<double> point = start;
    for (std::size_t i = 0; i < point.size(); ++i) {
      point[i] =
          std::clamp(bounds[i].lower + part * (start[i] - bounds[i].lower), bounds[i].lower, bounds[i].upper);
    }
    descend(loss, bounds, point);
    const double value = descend(loss, bounds, point);
    if (best.empty() || value < smallest) {
      smallest = value;
      best = point;
    }
  }
  return best;
}

}  // namespace trainyard
