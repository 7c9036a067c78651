#pragma once
// The task graph of one training step: every rank's computations, their dependencies, and the collectives in
// which ranks meet. Ranks that run the same trace share one program; the engine keeps a cursor per rank and
// stream, so nothing here or there grows as ranks x layers.

#include "collectives/collective.hpp"
#include "compute/gpu_use.hpp"
#include "units/quantity.hpp"

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace trainyard {

/// A GPU stream runs its tasks in order, as in CUDA; streams meet through events and collectives.
/// `host` is the framework's communication thread on the CPU.
enum class Stream : int { compute, communication, host };
inline constexpr int stream_count = 3;

/// Occupies the stream for a time: a kernel, slowed by concurrent work on the other GPU stream, or work on
/// `host`, which is never slowed. For the reports: `op` is the index in the trace, or `collective` that of
/// the collective it prepares.
struct Compute {
  Seconds duration;  ///< alone
  int op = -1;
  int collective = -1;
  GpuUse use = {};        ///< its use of the GPU; if none, it is never slowed
  Seconds overhead = {};  ///< part of the duration: software overhead, during which the GPU is idle
};

/// Takes part in a collective: starts when all its participants have arrived, holds the stream until it ends.
struct Join {
  int collective = -1;
  GpuUse use =
      {};  ///< its use of this rank's GPU: blocks from the rank's arrival on, memory once all have arrived
};

/// Marks an event of this rank as happened (cudaEventRecord).
struct Record {
  int event = -1;
};

/// Holds the stream until the event has happened (cudaStreamWaitEvent).
struct Wait {
  int event = -1;
};

using Task = std::variant<Compute, Join, Record, Wait>;

/// One rank's work in a step.
struct Program {
  std::vector<Task> streams[stream_count];
  int events = 0;  ///< events have numbers from 0 up to this, exclusive
};

/// Calls `act` with each of the program's tasks of a type.
template <class T, class Act>
void for_each_task(Program& program, Act act) {
  for (std::vector<Task>& stream : program.streams) {
    for (Task& task : stream) {
      if (T* of_type = std::get_if<T>(&task)) act(*of_type);
    }
  }
}

/// A change of a link's capacity at a date.
struct LinkEvent {
  Seconds date;
  LinkId link{};
  Bandwidth bandwidth;  ///< 0: the link has failed
  std::string name;     ///< of the link, for messages
};

struct TaskGraph {
  std::vector<Program> programs;
  std::vector<int> program_of_rank;  ///< ranks that meet in different collectives run different programs
  /// The job of each rank. Job 0 is the simulated one. The ranks of any other job begin their programs again,
  /// all together, when the last of them has ended, as long as job 0 runs: other training, background traffic
  /// (whose ends are ranks like any other). A collective's participants belong to one job. Empty: all ranks
  /// belong to job 0.
  std::vector<int> job_of_rank;
  std::vector<Pattern> patterns;
  std::vector<Collective> collectives;
  std::vector<Bandwidth> links;        ///< capacity of each directed link at the start, by LinkId
  std::vector<LinkEvent> link_events;  ///< in any order

  [[nodiscard]] int ranks() const { return static_cast<int>(program_of_rank.size()); }
};

}  // namespace trainyard
