#pragma once
// The work: the plan's rows in their order, each measured and recorded, until all are done, time is up, or
// the user interrupts. What measures is handed in, so all of this runs without a GPU.

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
  std::function<bool()> interrupted;               ///< asked before every row
  double seconds = 520;                            ///< no row is begun that would probably end after so many
  std::set<int> left_out = {};                     ///< lines of the plan that the user wants left out
};

enum class WorkEnd { done, time_up, interrupted, gpu_lost };

struct WorkResult {
  WorkEnd end = WorkEnd::done;
  int measured = 0;
  int recorded_before = 0;
  int skipped = 0;  ///< not for this GPU, or left out by the user
  int wrong = 0;    ///< a result that differs from the reference, or a failed measurement
  int left = 0;     ///< not reached
};

/// Works through the plan. Says on `progress` which rows were skipped and why, and which went wrong. Throws
/// FileError if a row cannot be recorded.
WorkResult work_through(const std::vector<PlanRow>& plan, Recording& recording, const WorkOptions& options,
                        Progress& progress);

/// "12 rows measured, 3 skipped; 240 rows are left: the same command goes on with them".
std::string summary(const WorkResult& result);

/// The exit code: 0 done, 75 time was up, 130 interrupted, 70 something was wrong and nothing is left.
int exit_code(const WorkResult& result);

}  // namespace trainyard::cuda
