#pragma once
// Reads and checks a point of a sweep as an experiment.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "sweep/sweep.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The source of a point: its experiment and overrides.
struct PointSource {
  std::string experiment;
  Overrides overrides;
};

/// The source with the factor on kernel times that the point keeps. Throws like read_point.
PointSource source_of_point(const config::Catalogue& catalogue, const Sweep& sweep, const PointValues& values,
                            InputFiles& files);

/// The sweep's experiment with the point's values. Throws like resolve, and InputError if a global batch
/// cannot be split evenly or the sweep's own keys contradict the experiment's.
ResolvedExperiment read_point(const config::Catalogue& catalogue, const Sweep& sweep,
                              const PointValues& values, InputFiles& files);

/// The factor on kernel times that the point keeps: that of the sweep's experiment without the varied keys.
/// Nothing without a measured throughput of one GPU, or if that is varied. Throws like read_point.
std::optional<double> kept_one_gpu_scale(const config::Catalogue& catalogue, const Sweep& sweep,
                                         const PointValues& values, InputFiles& files);

}  // namespace trainyard
