#pragma once
// Records the measurements of a training run: activities of workers and updates, from the end of the warm-up
// on.

#include "engine/training.hpp"

namespace trainyard::engine {

class TrainingRecorder {
public:
  TrainingRecorder(int workers, const TrainingOptions& options);

  /// Adds an activity that has ended, without the part before the measurement. `wasted` comes in addition to
  /// the same time as `computing`.
  void spent(int worker, Activity activity, double from, double to);
  /// Adds an update made at `date`. True if it was the last to be measured.
  bool update(const UpdateDecision& decision, std::int64_t version, double date);
  void lead(std::int64_t steps);

  /// The record. Later events are not recorded: the run goes on only for its order log.
  TrainingRecord finish(double date, std::uint64_t events);
  [[nodiscard]] bool is_finished() const { return is_finished_; }

private:
  [[nodiscard]] Seconds measured(double from, double to) const;
  void show(int worker, Activity activity, double from, double to);

  TrainingOptions options_;
  TrainingRecord record_;
  bool is_finished_ = false;
};

}  // namespace trainyard::engine
