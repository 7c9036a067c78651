#pragma once
// A change of an experiment's stack for one of its predictions.

#include "experiment/experiment.hpp"

#include <utility>

namespace trainyard {

/// Which factors kernel times have.
enum class StackFactors { shipped, none, fitted_without };

/// A change of an experiment's stack.
struct StackChange {
  StackFactors factors = StackFactors::shipped;
  double scale = 1;  ///< on all kernel times
};

/// Restores the factors of the experiment's stack at the end of its life: a copy of its platform, model and
/// trace for each step of a fit would take as long as the step's simulation.
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

private:
  Stack& stack_;
  double compute_scale_;
  OpSlowdown slowdown_;
  double slowest_gpu_;
};

}  // namespace trainyard
