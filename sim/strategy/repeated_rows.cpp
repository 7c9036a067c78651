#include "strategy/repeated_rows.hpp"

#include "strategy/provenance_source.hpp"

#include <cstddef>
#include <utility>

namespace trainyard {

void add_repeated_rows(Trace& trace, const std::vector<Layer>& layers, const Stack& stack) {
  if (!stack.repeated_rows) return;
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    const bool is_of_table = op.phase == Phase::backward && op.kind == OpKind::embedding && op.of_layer >= 0;
    const double repeats =
        is_of_table ? trace.batch_per_gpu * layers[static_cast<std::size_t>(op.of_layer)].repeated_rows : 0;
    ops.push_back(std::move(op));
    if (repeats <= 1) continue;
    Op added;
    added.phase = Phase::backward;
    added.layer = ops.back().layer + ".repeated_rows";
    added.of_layer = ops.back().of_layer;
    added.kind = OpKind::embedding;
    added.shape = VectorShape{repeats};
    added.duration = repeats * stack.repeated_rows->value;
    added.source = source_of(stack.repeated_rows->provenance);
    // the gradients of the table are complete when all have been added
    added.gradients = std::exchange(ops.back().gradients, {});
    ops.push_back(std::move(added));
  }
  trace.ops = std::move(ops);
}

}  // namespace trainyard
