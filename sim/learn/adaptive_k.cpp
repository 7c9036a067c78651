#include "learn/adaptive_k.hpp"

#include "learn/objective.hpp"
#include "learn/replay.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

AdaptiveK::AdaptiveK(const UpdateSettings& start, const LearnSettings& learning, const LearningSets* sets,
                     std::uint64_t seed)
    : start_(start), learning_(learning), sets_(sets), seed_(seed) {}

int AdaptiveK::after_update(int repeat, const OrderLog& so_far) {
  if (repeat != repeat_) {
    repeat_ = repeat;
    k_ = start_.k;
    first_loss_ = 0;
  }
  const auto every = static_cast<std::size_t>(start_.growth->every);
  if (so_far.updates.size() % every != 0 || k_ >= start_.growth->most) return k_;
  const auto objective =
      make_objective(learning_, sets_, so_far.workers, seed_, static_cast<std::uint64_t>(repeat));
  Replay replay(so_far, start_.rule, learning_, *objective);
  if (first_loss_ <= 0) first_loss_ = objective->evaluate(replay.parameters()).train_loss;
  while (replay.upcoming() != nullptr) replay.next();
  const double loss = objective->evaluate(replay.parameters()).train_loss;
  k_ = grown_k(start_.k, k_, start_.growth->most, first_loss_, loss);
  return k_;
}

int grown_k(int first_k, int now, int most, double first_loss, double loss) {
  if (!std::isfinite(first_loss) || !std::isfinite(loss)) return now;
  if (loss <= 0) return std::max(now, most);
  const double wanted = std::floor(first_k * std::sqrt(first_loss / loss) + 0.5);
  return std::max(now, static_cast<int>(std::min(wanted, static_cast<double>(most))));
}

}  // namespace trainyard
