#include "strategy/transfer.hpp"

#include "config/diagnostic.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

/// Positions of a layer's ops in one phase of a trace; -1 if there are none.
struct OpsOfLayer {
  int first = -1;
  int last = -1;
  int main = -1;     ///< the output or, for a matrix layer in backward, the gradient of the input
  int second = -1;   ///< of a matrix layer in backward: the gradient of the weights
  int products = 0;  ///< more than two: gradients of several projections of one input, and of that their sum
};

/// The ops of each layer.
std::vector<OpsOfLayer> find_ops(const Trace& trace, const std::vector<Layer>& layers, Phase phase) {
  std::vector<OpsOfLayer> found(layers.size());
  for (int i = 0; i < static_cast<int>(trace.ops.size()); ++i) {
    const Op& op = trace.ops[static_cast<std::size_t>(i)];
    if (op.phase != phase || op.of_layer < 0 || op.role != OpRole::layer) continue;
    const auto number = static_cast<std::size_t>(op.of_layer);
    OpsOfLayer& ops = found[number];
    ops.last = i;
    if (ops.first < 0) ops.first = i;
    if (is_cast(op, layers[number])) continue;  // or work of the stack
    ++ops.products;
    int& position = ops.main < 0 ? ops.main : ops.second;
    if (position < 0) position = i;
  }
  return found;
}

/// The op that launches a transfer, when, and how many ops may overlap with it.
struct LaunchPlace {
  int op = -1;
  LaunchTime at = LaunchTime::end;
  int waits = 0;
};

LaunchPlace place_of(const Transfer& transfer, const OpsOfLayer& ops, bool casts_input) {
  switch (transfer.place) {
    case TransferPlace::before: {
      // in forward the layer's input may arrive after a cast of its weights, but not after one of the input
      const bool follows_cast = transfer.phase == Phase::forward && !casts_input;
      return {follows_cast ? ops.main : ops.first, LaunchTime::start, 0};
    }
    case TransferPlace::beside_input_grad:
      return {ops.main, LaunchTime::start, ops.second < 0 ? 0 : ops.second - ops.main};
    case TransferPlace::beside_weight_grad:
      if (ops.products > 2) return {ops.last, LaunchTime::end, 0};
      return {ops.main, LaunchTime::end, ops.last - ops.main};
    case TransferPlace::after:
    case TransferPlace::beside_next:
      return {ops.last, LaunchTime::end, 0};
  }
  return {};
}

/// Ops from `first` on of the layers that follow a transfer's in its pass.
int ops_of_next(const Trace& trace, const Transfer& transfer, int first) {
  int count = 0;
  for (auto i = static_cast<std::size_t>(first); i < trace.ops.size(); ++i, ++count) {
    const int distance = trace.ops[i].of_layer - transfer.layer;
    const bool is_forward = transfer.phase == Phase::forward;
    if (trace.ops[i].phase != transfer.phase || trace.ops[i].of_layer < 0) break;
    if ((is_forward ? distance : -distance) > transfer.next_layers) break;
  }
  return count;
}

/// Before the next op of the pass: where a transfer follows a layer without kernels.
LaunchPlace before_next(const Trace& trace, const Transfer& transfer) {
  const bool is_forward = transfer.phase == Phase::forward;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    if (op.phase != transfer.phase || op.of_layer < 0 || op.role != OpRole::layer) continue;
    if (is_forward ? op.of_layer > transfer.layer : op.of_layer < transfer.layer)
      return {static_cast<int>(i), LaunchTime::start, 0};
  }
  return {};
}

[[noreturn]] void refuse_fused(const Layer& layer, Phase phase) {
  throw InputError(
      fmt::format("ranks exchange values of layer '{}' in {}, where it has no kernel of its own: the "
                  "stack fuses it into another",
                  layer.name, config::name_of(phase)),
      "fused_elementwise: false in the stack");
}

}  // namespace

void add_transfers(Trace& trace, const std::vector<Layer>& layers, const std::vector<Transfer>& transfers) {
  const std::vector<OpsOfLayer> forward = find_ops(trace, layers, Phase::forward);
  const std::vector<OpsOfLayer> backward = find_ops(trace, layers, Phase::backward);
  const Bytes activation = element_sizes(trace.precision.value_or(Precision::fp32)).activation;
  const bool casts_input = casts_inputs(trace.precision.value_or(Precision::fp32));
  for (const Transfer& transfer : transfers) {
    const auto& ops = transfer.phase == Phase::forward ? forward : backward;
    LaunchPlace place = place_of(transfer, ops[static_cast<std::size_t>(transfer.layer)], casts_input);
    if (place.op < 0 && transfer.place == TransferPlace::beside_next) place = before_next(trace, transfer);
    if (place.op < 0) refuse_fused(layers[static_cast<std::size_t>(transfer.layer)], transfer.phase);
    if (transfer.place == TransferPlace::beside_next)
      place.waits = ops_of_next(trace, transfer, place.at == LaunchTime::end ? place.op + 1 : place.op);
    const Bytes value = transfer.of == TransferDtype::fp32 ? Bytes(4) : activation;
    trace.ops[static_cast<std::size_t>(place.op)].communications.push_back(
        {.operation = transfer.operation,
         .size = trace.batch_per_gpu * transfer.elements * value + transfer.fixed,
         .axis = transfer.axis,
         .at = place.at,
         .waits = place.waits});
  }
}

}  // namespace trainyard
