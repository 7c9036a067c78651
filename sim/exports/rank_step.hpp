#pragma once
// One rank's part of a steady step, as exports need it: its bars in the order of time, and what each
// collective waits for.

#include "run/run.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

struct RankStep {
  Rank rank{};
  int device = 0;                                  ///< its number on its node
  const Trace* trace = nullptr;                    ///< of its class
  std::vector<const TimelineEvent*> compute = {};  ///< kernels and waits for the host, in order
  std::vector<const TimelineEvent*> other_work =
      {};                                       ///< collectives, and kernels before and after them, by start
  std::vector<const TimelineEvent*> host = {};  ///< of the framework's communication thread
  std::map<int, int> ready_op = {};  ///< by collective: the op whose end completes its data; -1: none
};

/// Points into the run. Throws InputError for runs without one step op by op: of many updates, and of ranks
/// that share a model; and for a rank that the timeline does not show. `what`: "a profile", for the message.
RankStep rank_step(const Run& run, Rank rank, const std::string& what);

/// Throws the same errors about the experiment, before it is simulated.
void require_step_by_ops(const ResolvedExperiment& resolved, const std::string& what);

}  // namespace trainyard
