#pragma once
// A job of hours or months during which things fail: it writes checkpoints, goes back to the last one when
// it cannot go on, or goes on with the workers that are left. Of its steps it knows the pace alone.

#include "units/quantity.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace trainyard {

/// What a fault takes away.
struct FaultyPart {
  int first_worker = 0;
  int workers = 0;                ///< that are gone until the restart time is over
  bool holds_parameters = false;  ///< without it nobody can go on
};

/// Things that fail alike, each by itself.
struct FaultSource {
  Seconds between;  ///< mean time between two faults of one part, exponential
  std::vector<FaultyPart> parts;
};

struct DatedFault {
  Seconds date;
  FaultyPart part;
};

struct FaultyJob {
  Seconds work;  ///< what it takes undisturbed
  int workers = 1;
  Seconds restart;  ///< from a fault until what was lost is back
  Seconds write;    ///< of a checkpoint, in which nothing else is done
  std::vector<FaultSource> rates;
  std::vector<DatedFault> dates;  ///< ascending
  /// Pace of the job without so many workers, at least one: of all it is 1. 0: it has to stop.
  std::function<double(int)> pace_without;
  bool can_wait = false;  ///< where it has to stop for missing workers alone, it waits and loses nothing
};

/// wall = the job's work + lost + slowed + writing + restarting, but for rounding.
struct FaultyRun {
  bool is_done = true;  ///< false: given up after a hundred times the work, or a million events
  Seconds wall;
  Seconds lost;    ///< work done again, since it came after the last checkpoint
  Seconds slowed;  ///< by what workers would have done that were not there
  Seconds writing;
  Seconds restarting;
  std::int64_t faults = 0;
  std::int64_t restarts = 0;  ///< from a checkpoint, or from nothing
};

/// A checkpoint is begun when `every` has gone by since the last one or a restart; none is written at the
/// end. A fault while one is written leaves the one before; a fault during a restart begins the restart
/// again; a worker that fails while it is gone comes back later. The faults of a seed and a repeat are the
/// same for every interval, by date.
FaultyRun run_with_faults(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat);

/// Nobody goes on without the part.
bool stops(const FaultyJob& job, const FaultyPart& part);

/// Mean time between two faults that stop the job; infinite where none does.
Seconds time_between_stops(const FaultyJob& job);

}  // namespace trainyard
