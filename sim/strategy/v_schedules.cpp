#include "strategy/v_schedules.hpp"

#include "strategy/squeezed_pattern.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>

namespace trainyard {

namespace {

/// Appends passes to the order of a stage; the micro-batches of each kind of pass follow each other.
class VOrder {
public:
  void forward(int chunk) { passes_.push_back({PassKind::forward, forwards_[at(chunk)]++, chunk}); }

  /// The gradients of weights wait until weights().
  void backward(int chunk) {
    const Pass pass{PassKind::backward, backwards_[at(chunk)]++, chunk};
    passes_.push_back(pass);
    waiting_.push_back({PassKind::weights, pass.micro_batch, chunk});
  }

  void whole_backward(int chunk) {
    backward(chunk);
    passes_.push_back(waiting_.back());
    waiting_.pop_back();
  }

  /// The gradients of the weights that wait longest.
  void weights() {
    passes_.push_back(waiting_.front());
    waiting_.pop_front();
  }

  /// The same of one chunk.
  void weights(int chunk) {
    const auto first = std::ranges::find(waiting_, chunk, &Pass::chunk);
    passes_.push_back(*first);
    waiting_.erase(first);
  }

  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  [[nodiscard]] bool has_waiting(int chunk) const {
    return std::ranges::find(waiting_, chunk, &Pass::chunk) != waiting_.end();
  }
  [[nodiscard]] int forwards(int chunk) const { return forwards_[at(chunk)]; }

  std::vector<Pass> take() { return std::move(passes_); }

private:
  std::vector<Pass> passes_;
  std::deque<Pass> waiting_;  ///< gradients of weights that are not computed yet
  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
};

void repeat(int times, auto&& action) {
  for (int i = 0; i < times; ++i) action(i);
}

/// PyTorch writes the order for as many micro-batches as fill the pipeline and leaves out those that the job
/// does not have.
std::vector<Pass> zb_v(int stages, int micro_batches, int stage) {
  const int count = std::max(2 * stages - 1, micro_batches);
  const int after = stages - stage;
  VOrder order;
  repeat(2 * after - 1, [&](int) { order.forward(0); });
  repeat(stage, [&](int) {
    order.forward(1);
    order.forward(0);
  });
  repeat(after, [&](int) {
    order.forward(1);
    order.whole_backward(1);
  });
  while (order.forwards(1) < count) {
    if (order.forwards(0) < count) order.forward(0);
    order.whole_backward(0);
    order.forward(1);
    order.whole_backward(1);
  }
  repeat(stage, [&](int) {
    order.backward(0);
    order.backward(1);
  });
  repeat(after, [&](int) {
    order.backward(0);
    order.weights(0);
  });
  while (order.has_waiting(1)) order.weights(1);
  while (order.has_waiting()) order.weights();
  std::vector<Pass> passes = order.take();
  std::erase_if(passes, [&](const Pass& pass) { return pass.micro_batch >= micro_batches; });
  return passes;
}

/// The pairs of a forward and a backward pass whose kernels and messages DeepSeek's code mixes follow each
/// other here.
std::vector<Pass> dualpipe_v(int stages, int micro_batches, int stage) {
  const int after = stages - stage - 1;
  VOrder order;
  repeat(2 * after, [&](int) { order.forward(0); });
  repeat(stage + 1, [&](int) {
    order.forward(0);
    order.forward(1);
  });
  repeat(after, [&](int) {
    order.backward(1);
    order.weights();
    order.forward(1);
  });
  repeat(micro_batches - 2 * stages + stage + 1, [&](int) {
    order.forward(0);
    order.whole_backward(1);
    order.forward(1);
    order.whole_backward(0);
  });
  repeat(after, [&](int) {
    order.whole_backward(1);
    order.forward(1);
    order.whole_backward(0);
  });
  // from the middle on, gradients of weights fill the bubble
  const int split_from = (stage + 1) / 2 * 2 + (stage % 2 == 0 ? 1 : 0);
  repeat(2 * (stage + 1), [&](int i) {
    const int chunk = 1 - i % 2;
    if (i < split_from)
      order.whole_backward(chunk);
    else
      order.backward(chunk);
  });
  repeat(after, [&](int) {
    order.weights();
    order.backward(0);
  });
  while (order.has_waiting()) order.weights();
  return order.take();
}

/// The slots of the first micro-batch's passes on each stage: forward through chunk 0 and chunk 1, backward
/// through chunk 1 and chunk 0. A micro-batch begins every six slots, and the wait between forward and
/// backward keeps two passes out of one slot.
std::vector<std::array<int, 4>> v_half_pattern(int stages) {
  const int wait = stages % 2 == 0 ? 3 : 0;
  std::vector<std::array<int, 4>> slots;
  repeat(stages, [&](int i) {
    slots.push_back({2 * i, 3 * stages - i - 2, 3 * stages + wait + 2 * i - 1, 6 * stages + wait - i - 2});
  });
  return slots;
}

std::vector<std::array<int, 4>> v_min_pattern(int stages) {
  const int wait = stages % 3 == 0 ? 2 : 0;
  std::vector<std::array<int, 4>> slots;
  repeat(stages, [&](int i) {
    slots.push_back({i, 2 * stages - i - 1, 2 * stages + wait + i, 4 * stages + wait - i - 1});
  });
  return slots;
}

}  // namespace

std::vector<Pass> v_order(PipelineSchedule schedule, int stages, int micro_batches, int stage) {
  assert(traits(schedule).is_v);
  if (schedule == PipelineSchedule::zb_v) return zb_v(stages, micro_batches, stage);
  if (schedule == PipelineSchedule::dualpipe_v) return dualpipe_v(stages, micro_batches, stage);
  const auto pattern = schedule == PipelineSchedule::v_half ? v_half_pattern(stages) : v_min_pattern(stages);
  return squeezed_order(pattern, micro_batches, stage);
}

}  // namespace trainyard
