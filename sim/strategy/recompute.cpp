#include "strategy/recompute.hpp"

#include "workload/transformer_layers.hpp"

#include <map>
#include <utility>

namespace trainyard {
namespace {

/// The block whose layer an op's is, if the op is computed again.
std::optional<int> repeated_block(const Op& op, const std::vector<Layer>& layers, Recompute what) {
  if (op.of_layer < 0) return std::nullopt;
  const Layer& layer = layers[static_cast<std::size_t>(op.of_layer)];
  if (what == Recompute::selective && !is_attention_core(layer)) return std::nullopt;
  return layer.block;
}

Op repeated(Op op) {
  op.phase = Phase::backward;
  op.role = OpRole::recompute;
  op.layer += ".recompute";
  return op;
}

void keep_nothing(Layer& layer) {
  layer.saved_elements = 0;
  layer.saved_fixed = Bytes();
}

}  // namespace

void recompute(Trace& trace, const std::vector<Layer>& layers, Recompute what) {
  if (what == Recompute::none) return;
  std::map<int, std::vector<Op>> copies;  // by block
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    const std::optional<int> block = repeated_block(op, layers, what);
    if (block && op.phase == Phase::forward) copies[*block].push_back(repeated(op));
    if (block && op.phase == Phase::backward) {
      for (Op& copy : std::exchange(copies[*block], {})) ops.push_back(std::move(copy));
    }
    ops.push_back(std::move(op));
  }
  trace.ops = std::move(ops);
}

std::vector<Layer> kept_layers(std::vector<Layer> layers, Recompute what, std::optional<int> live) {
  if (what == Recompute::none) return layers;
  std::optional<int> before;  // the block of the layer before
  for (Layer& layer : layers) {
    const bool is_first = layer.block != std::exchange(before, layer.block);
    if (!layer.block || layer.block == live) continue;
    if (what == Recompute::full && !is_first) keep_nothing(layer);
    const bool holds_scores = is_attention_core(layer) && layer.kind != LayerKind::batched_matmul;
    if (what == Recompute::selective && holds_scores) keep_nothing(layer);
  }
  return layers;
}

}  // namespace trainyard
