#pragma once
// Runs the points of a sweep in worker processes, which read, check and simulate them.

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
  int parallel = 1;  ///< number of concurrent workers
  /// Figures of the point with this index; runs in a worker and may throw the exceptions of simulate().
  std::function<std::vector<std::optional<double>>(std::size_t, ResolvedExperiment)> figures;
  /// Receives a finished row and all files read so far, in this process, in the order in which points end.
  std::function<void(const SweepRow&, const std::vector<std::string>& files)> done;
  std::function<bool()> is_interrupted;  ///< called before each point; if true, no more are begun
  std::function<int(int)> kind_of = {};  ///< of a point: those of one kind share their steps (PointSimulator)
};

/// The result of running points.
struct SweepOutcome {
  std::vector<std::string> broken;    ///< points that ended with an internal error or died: not handed over
  std::vector<std::string> warnings;  ///< from the files that were read, each once
  bool is_interrupted = false;
};

/// Runs the points with these indices. A point that is wrong, impossible or names an unreadable file gets a
/// row with that status. Exceptions of `done` are thrown on after killing the workers, and so is a FileError
/// of a simulation, which lacks a file of the program itself.
SweepOutcome run_points(const config::Catalogue& catalogue, const Sweep& sweep,
                        const std::vector<std::size_t>& points, const SweepRun& run);

/// "nodes=4, batch_per_gpu=64": the form in which messages name a point. Without keys left at their defaults.
std::string point_in_words(const Sweep& sweep, std::size_t point);

}  // namespace trainyard
