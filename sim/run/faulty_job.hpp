#pragma once
// A job of hours or months with faults: it writes checkpoints, and after a fault returns to the last one or
// continues with the remaining workers. Steps are not simulated; the job has a pace.

#include "units/quantity.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace trainyard {

/// The workers or parameters that a fault takes away.
struct FaultyPart {
  int first_worker = 0;
  int workers = 0;                ///< missing until the restart time is over
  bool holds_parameters = false;  ///< no worker can go on without this part
};

/// Parts with the same fault rate, which fail independently.
struct FaultSource {
  Seconds between;  ///< mean time between two faults of one part, exponentially distributed
  std::vector<FaultyPart> parts;
};

struct DatedFault {
  Seconds date;
  FaultyPart part;
};

struct FaultyJob {
  Seconds work;  ///< time without faults
  int workers = 1;
  Seconds restart;  ///< from a fault until the missing part is back
  Seconds write;    ///< of a checkpoint; the job makes no progress meanwhile
  std::vector<FaultSource> rates;
  std::vector<DatedFault> dates;  ///< ascending
  /// Pace of the job without this number of workers (at least 1), relative to the pace with all. 0: it has to
  /// stop.
  std::function<double(int)> pace_without;
  bool can_wait = false;  ///< if only workers are missing, a job that has to stop waits and loses no work
};

/// wall = the job's work + lost + slowed + writing + restarting, except for rounding.
struct FaultyRun {
  bool is_done = true;  ///< false: given up after 100 times the work, or a million events
  Seconds wall;
  Seconds lost;    ///< work repeated because it was not in the last checkpoint
  Seconds slowed;  ///< work that missing workers would have done
  Seconds writing;
  Seconds restarting;
  std::int64_t faults = 0;
  std::int64_t restarts = 0;  ///< from a checkpoint, or from the beginning
};

/// Writes a checkpoint when `every` has passed since the last one or a restart, but not at the end. A fault
/// during writing leaves only the previous checkpoint; a fault during a restart begins the restart again; a
/// worker that fails while missing comes back later. Faults depend on seed and repeat, not on the interval:
/// their dates are the same for all of them.
FaultyRun run_with_faults(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat);

/// Whether no worker can go on without the part.
bool stops(const FaultyJob& job, const FaultyPart& part);

/// Mean time between two faults that stop the job; infinite if none does.
Seconds time_between_stops(const FaultyJob& job);

}  // namespace trainyard
