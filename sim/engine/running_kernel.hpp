#pragma once
// A running kernel and its progress, at a pace that depends on the concurrent work on the same GPU.

#include "compute/gpu_use.hpp"
#include "schedule/task_graph.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard::engine {

class RunningKernel {
public:
  /// Launched at `date`, with a use of the GPU, while concurrent work takes a share of it.
  RunningKernel(const Compute& what, const GpuUse& use, const GpuUse& taken, double date)
      : what_(what), launched_(date), since_(date), left_(what.duration.si()) {
    what_.use = use;
    run_beside(taken, date);
  }

  /// From `date` on, concurrent work takes this share of the GPU. Returns whether the kernel's end has moved.
  bool run_beside(const GpuUse& taken, double date) {
    const double pace = pace_beside(taken);
    if (pace == pace_ || date >= end()) return false;
    left_ = std::max(0.0, left_ - (date - since_) / pace_);
    since_ = date;
    pace_ = pace;
    has_changed_ = true;
    return true;
  }

  [[nodiscard]] const Compute& what() const { return what_; }
  [[nodiscard]] const GpuUse& use() const { return what_.use; }
  [[nodiscard]] double launched() const { return launched_; }
  /// A persistent kernel that waits for multiprocessors.
  [[nodiscard]] bool waits() const { return std::isinf(pace_); }
  /// If the pace stays as it is; infinite while the kernel waits.
  [[nodiscard]] double end() const { return since_ + left_ * pace_; }
  /// The time from launch to end; equal to the given duration, to the bit, if it was never slowed.
  [[nodiscard]] Seconds taken() const { return has_changed_ ? Seconds{end() - launched_} : what_.duration; }

private:
  /// Seconds needed per second of the kernel's own duration; the software's overhead is not slowed.
  [[nodiscard]] double pace_beside(const GpuUse& taken) const {
    const double slow = slowdown(what_.use, taken);
    if (slow == 1 || what_.duration <= Seconds()) return 1;
    if (std::isinf(slow)) return slow;
    return slow + (1 - slow) * (what_.overhead / what_.duration);
  }

  Compute what_;
  double launched_;
  double since_;     ///< date of the last change of pace
  double left_;      ///< remaining seconds when running alone
  double pace_ = 1;  ///< seconds needed for one of them
  bool has_changed_ = false;
};

}  // namespace trainyard::engine
