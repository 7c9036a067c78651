#pragma once
// A job of hours or months with faults: it writes checkpoints, and after a fault returns to the last one or
// continues with the remaining workers. Steps are not simulated; the job has a pace.

#include "units/quantity.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace trainyard {

/// The workers or parameters that a fault takes away.
struct FaultyPart {
  int first_worker = 0;
  int workers = 0;                ///< missing until the restart time is over
  bool holds_parameters = false;  ///< no worker can go on without this part
  /// The node to repair; none if nothing is broken.
  std::optional<int> node = {};
  bool is_planned = false;  ///< the job writes a checkpoint before it stops
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

/// Copies of the state in the memory of other nodes.
struct MemoryCopies {
  Seconds every;
  Seconds stall;     ///< of training for each copy
  Seconds transfer;  ///< until the copy is on the other nodes
  int copies = 1;    ///< of node n's state, on nodes n + 1 to n + copies, after the last one on the first
};

/// Nodes that failed come back.
struct Repair {
  Seconds time;
  int spares = 0;  ///< that take their places at once; they do not fail
  /// Without a spare the workers of the node are missing, and the job restarts without them, and once more
  /// with them. Otherwise it waits.
  bool is_elastic = false;
};

struct FaultyJob {
  Seconds work;  ///< time without faults
  int workers = 1;
  int nodes = 1;
  Seconds restart;     ///< from a fault until the missing part is back
  Seconds write;       ///< of a checkpoint; the job makes no progress meanwhile
  Seconds background;  ///< from then on until the job can continue from it
  std::optional<MemoryCopies> in_memory = {};
  std::optional<Repair> repair = {};
  std::vector<FaultSource> rates;
  std::vector<DatedFault> dates;  ///< ascending
  /// Pace of the job without this number of workers (at least 1), relative to the pace with all. 0: it has to
  /// stop.
  std::function<double(int)> pace_without;
  bool can_wait = false;  ///< if only workers are missing, a job that has to stop waits and loses no work
};

/// wall = the job's work + lost + slowed + writing + restarting + waiting, except for rounding.
struct FaultyRun {
  bool is_done = true;  ///< false: given up after 100 times the work, or a million events
  Seconds wall;
  Seconds lost;     ///< work repeated because it was not in the last checkpoint
  Seconds slowed;   ///< work that missing workers would have done
  Seconds writing;  ///< and copying into memory
  Seconds restarting;
  Seconds waiting;  ///< for nodes that are repaired
  std::int64_t faults = 0;
  std::int64_t restarts = 0;     ///< from a checkpoint, or from the beginning
  std::int64_t checkpoints = 0;  ///< written
};

/// Writes a checkpoint when `every` has passed since the last one or a restart, and the last one is complete,
/// but not at the end. A fault during writing leaves only the previous checkpoint; a fault during a restart
/// begins the restart again; a worker that fails while missing comes back later, or, if nodes are repaired,
/// cannot fail. A planned stop while the job stands still costs nothing more. Faults depend on seed and
/// repeat, not on the interval: their dates are the same for all of them.
FaultyRun run_with_faults(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat);

/// Whether no worker can go on without the part.
bool stops(const FaultyJob& job, const FaultyPart& part);

/// Mean time between two faults that stop the job unplanned; infinite if none does.
Seconds time_between_stops(const FaultyJob& job);

}  // namespace trainyard
