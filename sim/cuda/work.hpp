#pragma once
// The main loop: measures and records the plan's rows in order, until all are done, time is up, or the user
// interrupts. The measuring function is a parameter, so all of this runs without a GPU.

#include "measurement.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "recording.hpp"

#include <functional>
#include <set>
#include <vector>

namespace trainyard::cuda {

struct WorkOptions {
  std::function<Outcome(const Request&)> measure;  ///< may throw WrongResult, MeasurementFailed, GpuLost
  std::function<double()> now;                     ///< seconds since the program began
  std::function<bool()> interrupted;               ///< called before every row
  double seconds = 520;         ///< no row is begun that would probably end after this many
  std::set<int> left_out = {};  ///< lines of the plan that the user excludes
};

enum class WorkEnd { done, time_up, interrupted, gpu_lost };

struct WorkResult {
  WorkEnd end = WorkEnd::done;
  int measured = 0;
  int recorded_before = 0;
  int skipped = 0;  ///< impossible on this GPU, or excluded by the user
  int wrong = 0;    ///< a result that differs from the reference, or a failed measurement
  int left = 0;     ///< not reached
};

/// Executes the plan. Reports on `progress` which rows were skipped and why, and which failed. Throws
/// FileError if a row cannot be recorded.
WorkResult work_through(const std::vector<PlanRow>& plan, Recording& recording, const WorkOptions& options,
                        Progress& progress);

/// "12 rows measured, 3 skipped; 240 rows are left: the same command goes on with them".
std::string summary(const WorkResult& result);

/// The exit code: 0 done, 75 time was up, 130 interrupted, 70 something was wrong and nothing is left.
int exit_code(const WorkResult& result);

}  // namespace trainyard::cuda
