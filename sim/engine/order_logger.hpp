#pragma once
// Writes the order log of a run of many updates (strategy/order_log.hpp) while an engine runs it. The engine
// reports its events whether a log is wanted or not; nothing here has an effect on it, except that
// wants_more() may ask for updates beyond the measurement.

#include "engine/training.hpp"
#include "strategy/order_log.hpp"

#include <cstdint>
#include <vector>

namespace trainyard::engine {

class OrderLogger {
public:
  /// `shards`: number of shards that update at different times; 1 if all update together.
  OrderLogger(const UpdateSettings& settings, const TrainingOptions& options, int shards);

  /// `worker` takes copies of all shards for its next step. Not written if it has the same copies already.
  void read(int worker);
  /// `worker` begins a step.
  void began(int worker) { ++steps_[at(worker)]; }
  /// `worker` sends the sum over its last push_every steps, the newest of which may still run.
  void pushed(int worker);
  /// The gradient that `worker` pushed last has arrived and waits for an update of all shards.
  void gradient(int worker);
  /// All shards apply the gradients that wait.
  void update(double date);
  /// One of several shards applies its part of the gradient that `worker` pushed last.
  void update_shard(int worker, int shard, double date);
  /// All shards have reached this version.
  void reached(std::int64_t version, double date);

  /// Whether the run has to go on for the log although its measurement is complete.
  [[nodiscard]] bool wants_more() const { return is_open_ && has_end_; }
  /// The log so far; null once it is complete, or if none is written.
  [[nodiscard]] const OrderLog* so_far() const { return is_open_ ? &log_ : nullptr; }
  /// Hands the log over.
  void finish();

private:
  void append(int shard, double date, std::size_t first_use);

  const OrderLogOptions& options_;
  int push_every_;
  bool has_local_steps_;  ///< workers change their copies
  bool has_end_;          ///< the log ends at a date or a version of its own
  bool is_open_;
  OrderLog log_;
  std::vector<std::int32_t> steps_;     ///< by worker: steps begun
  std::vector<std::size_t> read_at_;    ///< by worker: updates in the log when it read last
  std::vector<GradientUse> last_push_;  ///< by worker
  std::vector<GradientUse> waiting_;    ///< for the next update of all shards
  std::vector<std::int64_t> versions_;  ///< by shard
};

}  // namespace trainyard::engine
