#pragma once
// Many updates of workers that push to parameter servers, from a resolved experiment to the engine's record.

#include "engine/training.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/resolve.hpp"
#include "run/link_rows.hpp"
#include "run/replica_step.hpp"
#include "run/run.hpp"
#include "run/updates.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// For the limits of a run.
inline constexpr std::string_view events_of_steps = "steps, ops and messages of workers";
inline constexpr std::string_view fewer_steps = "fewer 'steps.measured' or 'steps.repeats' take less";

/// The simulated updates, from which the Run is made.
struct Training {
  Updates updates;
  std::shared_ptr<const Cluster> cluster;  ///< with the servers' nodes
  HostLoad load;                           ///< load of the servers on the workers' hosts
  LinkTraffic links;
  std::uint64_t events = 0;
  std::vector<OrderLog> logs;                          ///< by repeat, if there is something to learn
  std::vector<std::string> notes_before, notes_after;  ///< the notes on the updates stand between these
};

/// Whether workers of servers are replicas whose ranks share the model.
bool is_of_replicas(const ResolvedExperiment& resolved);

/// The updates of workers that send nothing over a network, by repeat. Adds to `events`.
std::vector<TrainingRecord> without_network(const UpdateSettings& settings, std::vector<StepTimes>& times,
                                            TrainingOptions options, std::uint64_t& events);

/// Messages that workers and servers exchange in all steps and repeats. Throws InputError if they are more
/// than flows can be.
double server_message_count(const ResolvedExperiment& resolved);

/// `steady`: the step of one rank, or of all replicas, without servers; `replica`: of a worker whose ranks
/// share the model. `learns`: whether the order of updates is recorded. Throws as plan_servers() does.
Training train_with_servers(const ResolvedExperiment& resolved, const UpdateSettings& settings,
                            const StepCounts& counts, const Run& steady,
                            const std::optional<ReplicaStep>& replica, bool learns);

}  // namespace trainyard
