#pragma once
// A run of many updates: parameter servers, asynchronous update rules, random times.

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

/// Time per update, over the repeats.
struct UpdateTimes {
  Seconds median;
  Seconds low, high;      ///< of all repeats
  double confidence = 0;  ///< probability that the median of all possible runs lies between low and high
};

/// Times between two updates that follow each other, of all repeats: half, 90 and 99 % take at most these.
struct UpdateQuantiles {
  Seconds p50, p90, p99;
};

/// Age of gradients, in updates, when an update uses them; 1 is fresh.
struct Staleness {
  std::vector<std::int64_t> gradients;  ///< by staleness; [0] is never used
  double mean = 0;
  int max = 0;
};

/// One rank over the measured time; a row of workers.csv.
struct WorkerRow {
  Rank rank{};
  NodeId node{};
  Seconds computing, communicating, waiting, loading, wasted;  ///< wasted is part of computing
  std::int64_t gradients = 0;
};

/// Sum of times and gradients over all of them.
WorkerRow sum_of(const std::vector<WorkerRow>& workers);

/// Use of a resource that serves parameters.
struct ServerRow {
  std::string name;  ///< "memory of node0.cpu1", "cores of node0.cpu1"
  double utilization = 0;
};

/// The shard of the parameter servers that holds most.
struct LoadedShard {
  int shard = 0;      ///< numbered from 0
  int shards = 0;     ///< number of all
  Bytes bytes;        ///< of gradients that a worker pushes to it per step
  Bytes all;          ///< to all shards
  std::string layer;  ///< the layer with most of them there
  Bytes of_layer;
};

/// Times of workers and the staleness come from the repeat with the median time per update.
struct Updates {
  UpdateSettings settings;
  int ranks_per_worker = 1;  ///< more than 1 if a stack sums the gradients of a node
  StepCounts counts;
  std::int64_t measured_updates = 0;  ///< in each repeat
  UpdateTimes time;
  UpdateQuantiles each;
  Seconds measured;                 ///< length of the measured updates
  double gradients_per_update = 0;  ///< as they are pushed
  Staleness staleness;
  std::int64_t lead = 0;  ///< for ssp: largest number of steps by which a rank was ahead of the slowest
  Seconds wasted;         ///< cancelled computing time of all ranks, per update
  Known<Joules> wasted_energy = unknown({});  ///< energy of their GPUs for it, per update
  std::vector<WorkerRow> workers;
  std::vector<WorkerSpan> spans;  ///< for the first ranks, from the beginning of the measurement
  std::vector<ServerRow> servers;
  std::optional<LoadedShard> loaded_shard;  ///< if it holds much more than the mean of the shards
  std::optional<NetworkEngine> network;     ///< of messages between workers and servers
  std::vector<TimelineEvent> bars;          ///< the spans as trace.json shows them
  Step steady;  ///< one step of all ranks in lock step; with servers, of one rank alone
};

/// The mean over the ranks, per update, of a time that all workers together took.
Seconds mean_per_update(const Updates& updates, Seconds of_all);

/// The updates of the engine's records of each repeat, without the steady step and the servers.
Updates updates_from(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                     const UpdateSettings& settings, int ranks_per_worker, const StepCounts& counts);

/// The server with the largest utilization; null if there are none.
const ServerRow* busiest_server(const Updates& updates);

/// Mean number of gradients in an update: workers of downpour push sums of several.
double gradients_in_update(const Updates& updates);

/// Steps of single ranks in all measured updates.
double steps_of(const Updates& updates);

/// End of the last span that was kept, if that is before the end of the measured time.
std::optional<Seconds> shown_until(const Updates& updates);

}  // namespace trainyard
