#pragma once
// What training is measured by: intervals of workers and updates, counted from the end of the warm-up on.

#include "engine/training.hpp"

namespace trainyard::engine {

class TrainingRecorder {
public:
  TrainingRecorder(int workers, const TrainingOptions& options);

  /// An interval that has ended, cut where the measurement began. What is wasted is told apart from, and as
  /// well as, the computing it was.
  void spent(int worker, Activity activity, double from, double to);
  /// An update was made at `date`. True if it was the last to be measured.
  bool update(const UpdateDecision& decision, std::int64_t version, double date);
  void lead(std::int64_t steps);

  TrainingRecord finish(double date, std::uint64_t events);

private:
  [[nodiscard]] Seconds measured(double from, double to) const;
  void show(int worker, Activity activity, double from, double to);

  TrainingOptions options_;
  TrainingRecord record_;
};

}  // namespace trainyard::engine
