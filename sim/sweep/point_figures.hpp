#pragma once
// The figures of a sweep's points: which they are, how a point gets them, and the store that keeps them.

#include "experiment/resolve.hpp"
#include "run/figures.hpp"
#include "run/run.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_store.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

/// Which parts of a run the points have.
SweepOf parts_of_points(const Sweep& sweep);

/// The names of the figures.
std::vector<std::string> figures_of_points(const Sweep& sweep);

/// Simulates a point; `complete` sees the run before its figures are taken. Throws as simulate().
std::vector<std::optional<double>> simulated_figures(const Sweep& sweep, ResolvedExperiment resolved,
                                                     const std::function<void(Run&)>& complete = {});

/// Simulates points one after the other. Where faults alone differ from the point before, the steps are the
/// same and are not simulated again.
class PointSimulator {
public:
  explicit PointSimulator(const Sweep& sweep);

  /// As simulated_figures() of this point.
  std::vector<std::optional<double>> figures(std::size_t point, ResolvedExperiment resolved,
                                             const std::function<void(Run&)>& complete);

  /// A number for the steps that points share; none if no two points do.
  std::function<int(int)> kinds();

private:
  const Sweep& sweep_;
  bool varies_faults_ = false;
  std::vector<int> kind_of_point_;
  int kind_ = -1;  ///< of the steps
  std::optional<Run> steps_;
};

/// The common properties of the store for this sweep, as this version of the program writes it.
StoredSweep stored_sweep(const Sweep& sweep);

}  // namespace trainyard
