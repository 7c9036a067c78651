#include "strategy/squeezed_pattern.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>

namespace trainyard {

namespace {

constexpr int kinds = 4;   ///< forward 0, forward 1, backward 1, backward 0
constexpr int period = 6;  ///< slots from one micro-batch to the next: the passes above, and two of weights

bool is_backward(int kind) { return kind >= 2; }

struct Slot {
  int kind = -1;  ///< -1: free
  int micro_batch = 0;
  int kept = 0;     ///< chunks whose activations the stage keeps after the slot
  int waiting = 0;  ///< gradients of weights that are left after it
};

/// The slots of a stage, with what it keeps along them.
class Slots {
public:
  explicit Slots(int count) : slots_(at(count)) {}

  [[nodiscard]] bool is_free(int slot) const { return slots_[at(slot)].kind < 0; }

  void put(int slot, int kind, int micro_batch) {
    slots_[at(slot)].kind = kind;
    slots_[at(slot)].micro_batch = micro_batch;
  }

  /// Counts along all slots. Returns the most that is kept.
  int count() {
    int most = 0;
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
      set_counts(slot);
      most = std::max(most, slots_[at(slot)].kept);
    }
    return most;
  }

  /// Moves the pass of `from` to the free slot `to` before it, if no slot then keeps more than `limit`.
  bool move(int from, int to, int limit) {
    const std::vector<Slot> before(slots_.begin() + to, slots_.end());
    std::swap(slots_[at(from)], slots_[at(to)]);
    for (int slot = to; slot < static_cast<int>(slots_.size()); ++slot) {
      set_counts(slot);
      const Slot& now = slots_[at(slot)];
      if (now.kept > limit) {
        std::ranges::copy(before, slots_.begin() + to);
        return false;
      }
      const Slot& then = before[at(slot - to)];
      if (slot >= from && now.kept == then.kept && now.waiting == then.waiting) break;
    }
    return true;
  }

  [[nodiscard]] std::vector<Pass> passes() const {
    std::vector<Pass> all;
    std::deque<Pass> waiting;
    const auto add_weights = [&] {
      all.push_back(waiting.front());
      waiting.pop_front();
    };
    for (const Slot& slot : slots_) {
      if (slot.kind < 0) {
        if (!waiting.empty()) add_weights();
        continue;
      }
      const int chunk = slot.kind == 1 || slot.kind == 2 ? 1 : 0;
      all.push_back(
          {is_backward(slot.kind) ? PassKind::backward : PassKind::forward, slot.micro_batch, chunk});
      if (is_backward(slot.kind)) waiting.push_back({PassKind::weights, slot.micro_batch, chunk});
    }
    while (!waiting.empty()) add_weights();
    return all;
  }

private:
  void set_counts(int slot) {
    Slot& one = slots_[at(slot)];
    const Slot& last = slot == 0 ? empty : slots_[at(slot - 1)];
    one.kept = last.kept;
    one.waiting = last.waiting;
    if (one.kind < 0 && one.waiting > 0) {
      --one.waiting;
      --one.kept;
    } else if (is_backward(one.kind)) {
      ++one.waiting;
    } else if (one.kind >= 0) {
      ++one.kept;
    }
  }

  static constexpr Slot empty{};
  std::vector<Slot> slots_;
};

class Squeeze {
public:
  Squeeze(const std::vector<std::array<int, 4>>& pattern, int micro_batches)
      : stages_(static_cast<int>(pattern.size())), micro_batches_(micro_batches) {
    const int first_end = std::ranges::max(pattern.front());
    int end = 0;
    for (const auto& of_stage : pattern) end = std::max(end, std::ranges::max(of_stage));
    slots_.assign(pattern.size(), Slots(end + period * micro_batches + 1));
    for (int stage = 0; stage < stages_; ++stage) {
      for (int kind = 0; kind < kinds; ++kind) {
        for (int i = 0; i < micro_batches; ++i) {
          times_.push_back(pattern[at(stage)][at(kind)] + period * i);
          slots_[at(stage)].put(times_.back(), kind, i);
        }
      }
      limit_ = std::max(limit_, slots_[at(stage)].count());
    }
    fills_until_ = first_end;
    drains_from_ = period * (micro_batches - 1) + 1;
  }

  Slots take(int stage) {
    std::vector<std::tuple<int, int, int, int>> passes;
    for (int of = 0; of < stages_; ++of) {
      for (int kind = 0; kind < kinds; ++kind) {
        for (int i = 0; i < micro_batches_; ++i) {
          const int slot = time(of, kind, i);
          if (slot < fills_until_ || slot >= drains_from_) passes.emplace_back(slot, of, kind, i);
        }
      }
    }
    std::ranges::sort(passes);
    for (const auto& [slot, of, kind, i] : passes) advance(of, kind, i);
    return std::move(slots_[at(stage)]);
  }

private:
  int& time(int stage, int kind, int micro_batch) {
    return times_[(at(stage) * kinds + at(kind)) * at(micro_batches_) + at(micro_batch)];
  }

  void advance(int stage, int kind, int micro_batch) {
    int ready = -1;
    const bool comes_from_before = kind % 2 == 0;  // chunk 0 forward, chunk 1 backward
    const int neighbour = comes_from_before ? stage - 1 : stage + 1;
    if (neighbour >= 0 && neighbour < stages_) ready = std::max(ready, time(neighbour, kind, micro_batch));
    if (kind > 0) ready = std::max(ready, time(stage, kind - 1, micro_batch));
    if (micro_batch > 0) ready = std::max(ready, time(stage, kind, micro_batch - 1));
    int& own = time(stage, kind, micro_batch);
    for (int slot = ready + 1; slot < own; ++slot) {
      if (!slots_[at(stage)].is_free(slot) || !slots_[at(stage)].move(own, slot, limit_)) continue;
      own = slot;
      return;
    }
  }

  int stages_, micro_batches_;
  std::vector<Slots> slots_;  ///< by stage
  std::vector<int> times_;    ///< the slot of each pass, by stage, kind and micro-batch
  int limit_ = 0;             ///< the most that a stage keeps
  int fills_until_ = 0;       ///< the first slot after which micro-batches only repeat each other
  int drains_from_ = 0;       ///< the first slot without a new micro-batch
};

}  // namespace

std::vector<Pass> squeezed_order(const std::vector<std::array<int, 4>>& pattern, int micro_batches,
                                 int stage) {
  return Squeeze(pattern, micro_batches).take(stage).passes();
}

}  // namespace trainyard
