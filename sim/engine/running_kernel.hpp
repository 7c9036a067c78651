#pragma once
// A kernel under way: how far it has got at a rate that changes with what runs beside it on the same GPU.

#include "compute/gpu_use.hpp"
#include "schedule/task_graph.hpp"

#include <algorithm>

namespace trainyard::engine {

class RunningKernel {
public:
  /// Begins alone at `date`. Keeps a reference to `what`.
  RunningKernel(const Compute& what, double date)
      : what_(&what), begun_(date), since_(date), left_(what.duration.si()) {}

  /// From `date` on something beside it takes this much. Returns whether its end has moved.
  bool run_beside(const GpuUse& taken, double date) {
    const double pace = pace_beside(taken);
    if (pace == pace_) return false;
    left_ = std::max(0.0, left_ - (date - since_) / pace_);
    since_ = date;
    pace_ = pace;
    has_changed_ = true;
    return true;
  }

  [[nodiscard]] const GpuUse& use() const { return what_->use; }
  [[nodiscard]] double begun() const { return begun_; }
  /// If nothing changes any more.
  [[nodiscard]] double end() const { return since_ + left_ * pace_; }
  /// From its beginning to this end; of one that nothing slowed the duration it was given, to the bit.
  [[nodiscard]] Seconds taken() const { return has_changed_ ? Seconds{end() - begun_} : what_->duration; }

private:
  /// Seconds that a second of it takes: what the software adds is not slowed.
  [[nodiscard]] double pace_beside(const GpuUse& taken) const {
    const double slow = slowdown(what_->use, taken);
    if (slow == 1 || what_->duration <= Seconds()) return 1;
    return slow + (1 - slow) * (what_->overhead / what_->duration);
  }

  const Compute* what_;
  double begun_;
  double since_;     ///< when the rate last changed
  double left_;      ///< seconds of it alone
  double pace_ = 1;  ///< seconds that one of them takes
  bool has_changed_ = false;
};

}  // namespace trainyard::engine
