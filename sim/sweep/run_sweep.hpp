#pragma once
// Runs the points of a sweep in child processes: one process reads and checks them all, and a child simulates
// each, because SimGrid simulates once per process.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_row.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct SweepRun {
  int parallel = 1;  ///< children at once
  /// Figures of a point; runs in a child and may throw what simulate() throws.
  std::function<std::vector<std::optional<double>>(const ResolvedExperiment&)> figures;
  /// A finished row and all files read so far, in this process, in whatever order points end.
  std::function<void(const SweepRow&, const std::vector<std::string>& files)> done;
  std::function<bool()> is_interrupted;  ///< asked before each point: no more are begun
};

/// What became of the points asked for.
struct SweepOutcome {
  std::vector<std::string> broken;    ///< points that ended by a bug of ours or died: not handed over
  std::vector<std::string> warnings;  ///< of the files that were read, each once
  bool is_interrupted = false;
};

/// Runs these points, given by their indices. One that is wrong, impossible or names a file that cannot be
/// read has a row that says so. Throws what `done` throws, after ending the children.
SweepOutcome run_points(const config::Catalogue& catalogue, const Sweep& sweep,
                        const std::vector<std::size_t>& points, const SweepRun& run);

/// "nodes=4, batch_per_gpu=64": how messages name a point.
std::string point_in_words(const Sweep& sweep, std::size_t point);

}  // namespace trainyard
