#pragma once
// Assumed inputs in the expected errors of a sweep's points.

#include "config/catalogue.hpp"
#include "run/run.hpp"
#include "sweep/sweep.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// In sweeps of more points, points with the same machine and parts, number of nodes and GPUs, model and
/// stack take the effects of the first of them that can be simulated: each point's own would cost as much as
/// the sweep.
inline constexpr std::size_t most_points_with_own_assumed = 100;

/// Widens the expected errors of points, in a worker.
class AssumedOfPoints {
public:
  AssumedOfPoints(const config::Catalogue& catalogue, const Sweep& sweep)
      : catalogue_(catalogue), sweep_(sweep) {}

  /// `run`: of the point.
  void widen(std::size_t point, Run& run);

private:
  /// The effects for like points, and the throughput to which they are relative.
  struct Common {
    std::optional<InputRanges> inputs = {};
    double throughput = 1;
  };

  void add_own(std::size_t point, Run& run);
  [[nodiscard]] std::string likeness(std::size_t point) const;
  Common common_of(const std::string& likeness);

  const config::Catalogue& catalogue_;
  const Sweep& sweep_;
  InputFiles files_ = {};
  std::map<std::string, Common> common_ = {};  ///< by likeness
};

}  // namespace trainyard
