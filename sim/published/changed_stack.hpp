#pragma once
// Tries other factors of a stack in an experiment that is kept: a copy of its platform, model and trace for
// each step of a fit would take as long as the step's simulation.

#include "experiment/resolve.hpp"

#include <utility>

namespace trainyard {

/// Restores the factors of the experiment's stack at the end of its life: compute_scale, slowdown and
/// slowest_gpu.
class ChangedStack {
public:
  explicit ChangedStack(ResolvedExperiment& of)
      : stack_(of.stack),
        compute_scale_(stack_.compute_scale.value),
        slowdown_(stack_.slowdown),
        slowest_gpu_(stack_.slowest_gpu) {}
  ChangedStack(const ChangedStack&) = delete;
  ChangedStack& operator=(const ChangedStack&) = delete;
  ~ChangedStack() {
    stack_.compute_scale.value = compute_scale_;
    stack_.slowdown = std::move(slowdown_);
    stack_.slowest_gpu = slowest_gpu_;
  }

  [[nodiscard]] Stack* operator->() const { return &stack_; }

private:
  Stack& stack_;
  double compute_scale_;
  OpSlowdown slowdown_;
  double slowest_gpu_;
};

}  // namespace trainyard
