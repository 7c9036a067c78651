#pragma once
// Replays many updates of a training job whose workers need not keep step: draws how long their steps take,
// lets the update rule decide who waits for whom, and records what came of it.

#include "schedule/server_plan.hpp"
#include "schedule/step_times.hpp"
#include "strategy/update_rule.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard {

/// What it takes to read and decode the samples of a step.
struct LoadingTimes {
  std::vector<Seconds> per_step = {};  ///< by worker; empty: samples are always there
  bool is_prefetched = true;           ///< false: every step waits for its own
};

struct TrainingOptions {
  std::int64_t warmup = 0;    ///< updates before the measurement begins
  std::int64_t measured = 1;  ///< updates that are measured
  /// Of sync and local_sgd without servers: from the last worker's gradient until all go on.
  Seconds exchange = {};
  LoadingTimes loading = {};
};

enum class Activity { computing, communicating, waiting, loading, wasted };

/// "computing", "communicating", "waiting", "loading" (waiting for samples); "wasted" is computing that comes
/// to nothing.
std::string_view name_of(Activity activity);

/// What a worker did for a while, from the beginning of the measurement.
struct WorkerSpan {
  int worker = 0;
  Activity activity{};
  Seconds begun;
  Seconds ended;
};

/// Of one worker while measured.
struct WorkerRecord {
  Seconds computing;           ///< whatever became of it
  Seconds wasted;              ///< the part of it that was cancelled
  Seconds waiting;             ///< for the update rule
  Seconds communicating;       ///< gradients or parameters are under way and nothing is computed
  Seconds loading;             ///< samples are not there yet
  std::int64_t gradients = 0;  ///< of this worker, in updates
};

struct TrainingRecord {
  Seconds begun;  ///< date of the last update of the warm-up; 0 without one
  Seconds ended;  ///< date of the last measured update
  std::int64_t updates = 0;
  std::int64_t gradients = 0;           ///< in these updates; each of `push_every` steps
  std::vector<std::int64_t> staleness;  ///< gradients by how many updates old they were: [1] were fresh
  std::int64_t lead = 0;                ///< steps that a worker was ahead of the slowest, at most
  std::vector<WorkerRecord> workers;
  std::vector<WorkerSpan> spans;  ///< of the first workers, as many as a person can look at; the first ones
  std::uint64_t events = 0;
};

/// Of work whose gradients and parameters take no time to send.
TrainingRecord run_without_network(const UpdateSettings& settings, StepTimes& times,
                                   const TrainingOptions& options);

/// Of workers that push gradients to servers and pull parameters from them.
struct ServerTraining {
  const ServerPlan* plan = nullptr;
  std::vector<double> ready;   ///< by message of the plan: the part of a step after which it may be pushed
  std::vector<double> needed;  ///< by message: the part of a step that can be computed without it
  bool by_priority = false;    ///< of messages that wait for each other the one needed first goes next
};

struct ServerRecord {
  std::vector<TrainingRecord> repeats;
  std::vector<double> link_bytes;  ///< by link of the plan, in all repeats from beginning to end
  Seconds ended;                   ///< when the last repeat was over
  std::uint64_t flows = 0;
};

/// Every message a flow of its own, one repeat after the other. A worker has a connection to each set of
/// shards in each direction, on which messages follow each other. With rule sync a message is pulled as soon
/// as all workers have pushed it, otherwise once the rule lets the worker go on. A worker begins its next
/// step at once and stops where it needs what has not come yet. With downpour it goes on while it pushes, and
/// waits only for the push before; each shard takes its part when that comes, and an update is counted with
/// the last of them. What was cancelled is not sent any more; what is under way goes on and is dropped where
/// it arrives. `times`: one for each repeat. Once per process (simgrid_network.hpp).
ServerRecord run_with_servers(const UpdateSettings& settings, std::vector<StepTimes>& times,
                              const ServerTraining& training, const TrainingOptions& options);

}  // namespace trainyard
