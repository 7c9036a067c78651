#include "strategy/fusion.hpp"

#include <cmath>
#include <utility>

namespace trainyard {

Seconds next_tick(Seconds ready, Seconds cycle_time) {
  if (cycle_time <= Seconds()) return ready;
  const Seconds tick = std::ceil(ready / cycle_time) * cycle_time;
  return tick < ready ? ready : tick;  // the product may round below `ready`
}

std::vector<Bucket> fused_buffers(std::span<const ReadyGradient> gradients, std::span<const Seconds> op_end,
                                  const Stack& stack, Bytes value) {
  const Fusion& fusion = *stack.fusion;
  BucketFiller filler;
  Seconds open_tick;
  for (const ReadyGradient& ready : gradients) {
    const int op = stack.overlap ? ready.op : gradients.back().op;
    const Seconds tick = next_tick(op_end[static_cast<std::size_t>(op)], fusion.cycle_time.value);
    const Bytes bytes = ready.gradient.elements * value;
    const bool fits = filler.open_bytes() + bytes <= fusion.threshold.value;
    if (tick != open_tick || !fits) filler.close();
    open_tick = tick;
    filler.add(ready.gradient, bytes, op);
  }
  return filler.take();
}

}  // namespace trainyard
