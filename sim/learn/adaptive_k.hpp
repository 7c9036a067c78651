#pragma once
// Chooses the number of gradients per update while a job runs, from the loss that the job has reached: few
// gradients at first, for frequent updates, and more later, for a lower floor. AdaSync: Dutta et al., arXiv
// 2003.10579, k_t = k_0 sqrt(F(w_0) / F(w_t)).
//
// The engine hands over the order log so far, which is replayed from its beginning: the cost of a run grows
// with the square of the number of looks at the loss.

#include "learn/learn_settings.hpp"
#include "learn/samples.hpp"
#include "strategy/order_log.hpp"
#include "strategy/update_rule.hpp"

#include <cstdint>

namespace trainyard {

class AdaptiveK {
public:
  /// `start`: the update rule, with its first k and its `growth`. `sets`: null for a quadratic. Both
  /// `learning` and `sets` must outlive it.
  AdaptiveK(const UpdateSettings& start, const LearnSettings& learning, const LearningSets* sets,
            std::uint64_t seed);

  /// The k of the next update, after the last of `so_far`: never smaller than before. Updates of a repeat are
  /// reported one by one.
  int after_update(int repeat, const OrderLog& so_far);

private:
  UpdateSettings start_;
  const LearnSettings& learning_;
  const LearningSets* sets_;
  std::uint64_t seed_;
  int repeat_ = -1;
  int k_ = 0;
  double first_loss_ = 0;
};

/// k_0 sqrt(first_loss / loss), rounded to the nearest number, at least `now` and at most `most`. A loss that
/// is not a number changes nothing.
int grown_k(int first_k, int now, int most, double first_loss, double loss);

}  // namespace trainyard
