#pragma once
// What training is measured by: intervals of workers and updates, counted from the end of the warm-up on.

#include "engine/training.hpp"

namespace trainyard::engine {

/// What a worker does with its time.
enum class Activity { computing, communicating, waiting };

class TrainingRecorder {
public:
  TrainingRecorder(int workers, const TrainingOptions& options);

  /// An interval that has ended, cut where the measurement began.
  void spent(int worker, Activity activity, double from, double to);
  /// Computing that ended at `to`, whatever it was for, comes to nothing.
  void wasted(int worker, double from, double to);
  /// An update was made at `date`. True if it was the last to be measured.
  bool update(const UpdateDecision& decision, std::int64_t version, double date);
  void lead(std::int64_t steps);

  TrainingRecord finish(double date, std::uint64_t events);

private:
  [[nodiscard]] Seconds measured(double from, double to) const;

  TrainingOptions options_;
  TrainingRecord record_;
};

}  // namespace trainyard::engine
