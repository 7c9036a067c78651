#pragma once
// One rank's part of a steady step, as exports need it: its bars in the order of time, and the bar that each
// collective waits for.

#include "run/run.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ExportedStep {
  Rank rank{};
  int device = 0;                                  ///< its number on its node
  const Trace* trace = nullptr;                    ///< of its class
  std::vector<const TimelineEvent*> compute = {};  ///< kernels and waits for the host, in order
  std::vector<const TimelineEvent*> other_work =
      {};                                       ///< collectives, and kernels before and after them, by start
  std::vector<const TimelineEvent*> host = {};  ///< of the framework's communication thread
  /// By collective: the op whose end completes its data, -1 for none. Empty where a step runs ops several
  /// times.
  std::map<int, int> ready_op = {};
  std::vector<TimelineEvent> of_passes =
      {};  ///< the kernels and collectives of passes, for the pointers above
};

/// Points into the run. Throws InputError for runs of many updates, and for a rank that the timeline does not
/// show. `what`: "a profile", for the message.
ExportedStep rank_step(const Run& run, Rank rank, const std::string& what);

/// Throws InputError for experiments whose updates differ from each other.
void require_steady_step(const ResolvedExperiment& resolved, const std::string& what);

/// Also for those whose ranks share a model or replay traces of their own: their steps run ops several times,
/// or exchange messages.
void require_data_parallel_step(const ResolvedExperiment& resolved, const std::string& what);

/// A kernel of the framework around a collective: a copy into its buffer, a flattening, a compression.
struct SideKernel {
  int collective = -1;
  bool is_before = true;  ///< it prepares the data; otherwise it takes them out again
  std::string name;       ///< its purpose
  Seconds duration;       ///< alone
};

/// Kernels of a rank in a data-parallel step that are not ops, in the order of their launch, without work on
/// the host.
std::vector<SideKernel> side_kernels(const Run& run, Rank rank);

/// By collective of a data-parallel step: the op that waits for it. Empty if only the optimizer does.
std::vector<std::optional<int>> ops_that_wait(const Run& run);

}  // namespace trainyard
