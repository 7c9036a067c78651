#pragma once
// Replays many updates of a training job whose workers need not stay in step: draws the durations of their
// steps, lets the update rule decide who waits for whom, and records the outcome.

#include "schedule/server_plan.hpp"
#include "schedule/step_times.hpp"
#include "strategy/order_log.hpp"
#include "strategy/update_rule.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace trainyard {

/// Time to read and decode the samples of a step.
struct LoadingTimes {
  std::vector<Seconds> per_step = {};  ///< by worker; empty: samples are always ready
  bool is_prefetched = true;           ///< false: every step waits for its own samples
};

/// The order log of each repeat, from its first step on: the warm-up belongs to it, since learning begins
/// with it. It does not change the measurement, whatever its length.
struct OrderLogOptions {
  std::function<void(OrderLog)> take = {};  ///< gets the log when a repeat ends; empty: none is written
  /// The log has the updates up to this date and up to this version. 0: no such end. Without an end it stops
  /// with the measurement; otherwise the run goes on for it after the measurement, if need be.
  Seconds until = {};
  std::int64_t updates = 0;
};

struct TrainingOptions {
  std::int64_t warmup = 0;    ///< updates before the measurement begins
  std::int64_t measured = 1;  ///< updates that are measured
  /// Only for sync and local_sgd without servers: the time from the last worker's gradient until all go on,
  /// given the compute time of that worker's last step. Empty: no time.
  std::function<Seconds(Seconds)> exchange = {};
  LoadingTimes loading = {};
  OrderLogOptions log = {};
  /// For rules whose k grows: the k of the next update, given the order log of this repeat so far. Asked
  /// after every update, as long as the log is written. Empty: k stays.
  std::function<int(int repeat, const OrderLog& so_far)> choose_k = {};
  int repeat = 0;  ///< for run_without_network
};

enum class Activity { computing, communicating, waiting, loading, wasted };

/// "computing", "communicating", "waiting", "loading" (waiting for samples); "wasted" is cancelled computing.
std::string_view name_of(Activity activity);

/// One activity of a worker; dates count from the beginning of the measurement.
struct WorkerSpan {
  int worker = 0;
  Activity activity{};
  Seconds begun;
  Seconds ended;
};

/// Totals of one worker during the measurement.
struct WorkerRecord {
  Seconds computing;           ///< including wasted
  Seconds wasted;              ///< the cancelled part of computing
  Seconds waiting;             ///< for the update rule
  Seconds communicating;       ///< gradients or parameters are under way and the worker does not compute
  Seconds loading;             ///< waiting for samples
  std::int64_t gradients = 0;  ///< its gradients that went into updates
};

struct TrainingRecord {
  Seconds begun;  ///< date of the last update of the warm-up; 0 without one
  Seconds ended;  ///< date of the last measured update
  std::int64_t updates = 0;
  std::vector<double> dates;            ///< of these updates, in s
  std::int64_t gradients = 0;           ///< in these updates; each is the sum of `push_every` steps
  std::vector<std::int64_t> staleness;  ///< number of gradients by age in updates: [1] were fresh
  std::int64_t lead = 0;                ///< largest number of steps a worker was ahead of the slowest
  std::vector<WorkerRecord> workers;
  std::vector<WorkerSpan> spans;  ///< the first spans of the first workers, few enough for a timeline
  std::uint64_t events = 0;
};

/// Training in which sending gradients and parameters takes no time but the random delay of `times`. A worker
/// waits for it before it goes on, also with downpour.
TrainingRecord run_without_network(const UpdateSettings& settings, StepTimes& times,
                                   const TrainingOptions& options);

/// Workers that push gradients to servers and pull parameters from them.
struct ServerTraining {
  const ServerPlan* plan = nullptr;
  std::vector<double> ready;   ///< by message of the plan: the part of a step after which it may be pushed
  std::vector<double> needed;  ///< by message: the part of a step that can be computed without it
  bool by_priority = false;    ///< the waiting message that is needed first is sent next
  PullTime pull = PullTime::per_tensor;
  bool on_simgrid = false;  ///< SimGrid simulates the flows: the slow reference
};

struct ServerRecord {
  std::vector<TrainingRecord> repeats;
  std::int64_t updates = 0;        ///< of all repeats, with those before and after the measurement
  std::vector<double> link_bytes;  ///< by link of the plan, over all repeats
  Seconds ended;                   ///< end of the last repeat
  std::uint64_t flows = 0;
};

/// Every message is a flow, and repeats run one after the other. A worker has one connection per set of
/// shards and direction, on which messages follow each other. PullTime::per_tensor: the parameters of each
/// message are updated, and pulled, on their own: a worker pulls a message as soon as the servers have as
/// many gradients of it as the rule needs (sync and local_sgd: of all workers; k_sync, k_batch_sync: k, then
/// all workers pull; k_async: k, then their workers pull; async: its own; k_batch_async: k since the
/// parameters that it has; ssp: its own, if it will not have to wait). The rest is pulled once the rule lets
/// it go on, with after_update all. Which workers an update has, and its date, is decided by whole gradients.
/// A worker begins its next step at once and stops where it needs parameters that have not arrived. With
/// downpour it goes on while it pushes, and waits only for the previous push; each shard applies its part on
/// arrival, and an update is counted with the last of them. Cancelled messages that have not started are not
/// sent; those under way are dropped on arrival. In the order log, shards apply the gradients of async, ssp
/// and downpour on arrival, each at its own date; with other rules all apply an update together. Copies of
/// parameters are those of the date at which a worker may go on. `times`: one per repeat. With
/// on_simgrid once per process (flow_network.hpp).
ServerRecord run_with_servers(const UpdateSettings& settings, std::vector<StepTimes>& times,
                              const ServerTraining& training, const TrainingOptions& options);

}  // namespace trainyard
