#include "strategy/split_backward.hpp"

#include "workload/make_trace.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

bool has_weights(const Layer& layer) {
  return layer.kind == LayerKind::linear || layer.kind == LayerKind::local || is_convolution(layer);
}

/// By op: whether it computes a gradient of weights: the second product of a layer with weights, the only one
/// of a layer without a gradient of its input, and the cast that follows.
std::vector<bool> weight_gradients(const std::vector<Op>& ops, const std::vector<Layer>& layers) {
  std::vector<int> products(layers.size());
  std::vector<bool> found;
  for (const Op& op : ops) {
    found.push_back(false);
    if (op.of_layer < 0 || op.role != OpRole::layer) continue;
    const auto number = static_cast<std::size_t>(op.of_layer);
    const Layer& layer = layers[number];
    if (!has_weights(layer)) continue;
    const int inputs = layer.has_input_gradient ? 1 : 0;
    if (is_matrix(op.kind))
      found.back() = products[number]++ >= inputs;
    else
      found.back() = is_cast(op, layer) && products[number] > inputs;
  }
  return found;
}

}  // namespace

std::vector<Op> split_backward(std::vector<Op>& backward, const std::vector<Layer>& layers) {
  const std::vector<bool> moves = weight_gradients(backward, layers);
  std::vector<int> left{0};  // by op: ops before it that stay
  for (const bool is_moved : moves) left.push_back(left.back() + (is_moved ? 0 : 1));
  std::vector<Op> inputs;
  std::vector<Op> weights;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    Op& op = backward[i];
    for (OpCommunication& one : op.communications) {
      if (!one.waits) continue;
      const std::size_t next = one.at == LaunchTime::end ? i + 1 : i;
      const std::size_t needed_by = std::min(next + static_cast<std::size_t>(*one.waits), moves.size());
      one.waits = left[needed_by] - left[next];
    }
    if (moves[i] && !inputs.empty()) {  // its collectives are about the gradient of the input
      auto& sent = op.communications;
      for (OpCommunication& one : sent) one.at = LaunchTime::end;
      inputs.back().communications.insert(inputs.back().communications.end(), sent.begin(), sent.end());
      sent.clear();
    }
    (moves[i] ? weights : inputs).push_back(std::move(op));
  }
  backward = std::move(inputs);
  return weights;
}

}  // namespace trainyard
