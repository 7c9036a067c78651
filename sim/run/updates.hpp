#pragma once
// A run of many updates: parameter servers, update rules that do not wait for all, random times.

#include "engine/training.hpp"
#include "experiment/experiment.hpp"
#include "platform/cluster.hpp"
#include "run/step.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The time of an update over the repeats.
struct UpdateTimes {
  Seconds median;
  Seconds low, high;      ///< of all repeats
  double confidence = 0;  ///< that the median of all runs there could be lies between low and high
};

/// How many updates old gradients are when an update uses them; 1 is fresh.
struct Staleness {
  std::vector<std::int64_t> gradients;  ///< by staleness; [0] is never used
  double mean = 0;
  int max = 0;
};

/// One rank over the measured time; a row of workers.csv.
struct WorkerRow {
  Rank rank{};
  NodeId node{};
  Seconds computing, communicating, waiting, loading, wasted;  ///< wasted is a part of computing
  std::int64_t gradients = 0;
};

/// Times and gradients of all of them together.
WorkerRow sum_of(const std::vector<WorkerRow>& workers);

/// The use of what serves parameters.
struct ServerRow {
  std::string name;  ///< "memory of node0.cpu1", "cores of node0.cpu1"
  double utilization = 0;
};

/// Times of workers and the staleness are those of the repeat with the median time of an update.
struct Updates {
  UpdateSettings settings;
  int ranks_per_worker = 1;  ///< more than 1 where a stack adds up the gradients of a node
  StepCounts counts;
  std::int64_t measured_updates = 0;  ///< in each repeat
  UpdateTimes time;
  Seconds measured;  ///< how long the measured updates took
  double gradients_per_update = 0;
  Staleness staleness;
  std::int64_t lead = 0;                      ///< of ssp: steps that a rank was ahead of the slowest, at most
  Seconds wasted;                             ///< computing of all ranks that was cancelled, per update
  Known<Joules> wasted_energy = unknown({});  ///< what their GPUs drew for it, per update
  Seconds communication;                      ///< of a rank in a step: nothing is computed meanwhile
  std::vector<WorkerRow> workers;
  std::vector<WorkerSpan> spans;  ///< from the beginning of the measurement, of the first ranks
  std::vector<ServerRow> servers;
  std::vector<TimelineEvent> bars;  ///< the spans as trace.json shows them
  Step steady;  ///< one step of all ranks in lock step; with servers that of one rank alone
};

/// From what the engine recorded in each repeat, without the steady step and the servers.
Updates updates_from(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                     const UpdateSettings& settings, int ranks_per_worker, const StepCounts& counts);

/// Steps of single ranks in all measured updates.
double steps_of(const Updates& updates);

/// When the last span that was kept ended, where that is before the measured time did.
std::optional<Seconds> shown_until(const Updates& updates);

}  // namespace trainyard
