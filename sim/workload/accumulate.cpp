#include "workload/accumulate.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr const char* addition_layer = "gradient_accumulation";

double gradient_elements(const std::vector<Op>& ops) {
  double sum = 0;
  for (const Op& op : ops) {
    for (const Gradient& gradient : op.gradients) sum += gradient.elements;
  }
  return sum;
}

/// Messages and collectives along the other axes are part of every forward and backward pass. Without groups,
/// all ranks are replicas.
bool is_of_gradients(const OpCommunication& one) { return !one.message && !traits(one.axis).share_model(); }

Op addition_op(double elements, Bytes gradient) {
  Op op;
  op.phase = Phase::backward;
  op.layer = addition_layer;
  op.kind = OpKind::elementwise;
  op.shape = VectorShape{elements};
  op.flops = Flops(elements);
  op.bytes = 3 * elements * gradient;
  return op;
}

}  // namespace

std::optional<Op> gradient_addition(const std::vector<Op>& ops, Bytes gradient) {
  const double elements = gradient_elements(ops);
  if (elements <= 0) return std::nullopt;
  return addition_op(elements, gradient);
}

bool is_gradient_addition(const Op& op) { return op.layer == addition_layer; }

void accumulate(Trace& trace, int micro_batches, Bytes gradient, AccumulationRules rules) {
  if (micro_batches < 1) throw InputError("a step needs at least one micro-batch");
  if (trace.accumulation > 1) throw InputError("the trace accumulates gradients already");
  trace.accumulation = micro_batches;
  if (micro_batches == 1) return;
  const auto update = std::find_if(trace.ops.begin(), trace.ops.end(),
                                   [](const Op& op) { return op.phase == Phase::optimizer; });
  std::vector<Op> earlier(trace.ops.begin(), update);
  for (Op& op : earlier) {
    if (rules.reduces_each) break;
    op.gradients.clear();
    std::erase_if(op.communications, is_of_gradients);
  }
  if (!rules.reduces_each)  // only the sum is passed over
    std::erase_if(earlier, [](const Op& op) { return op.role == OpRole::gradient_pass; });
  if (auto addition = rules.fuses_additions ? std::nullopt : gradient_addition(trace.ops, gradient))
    earlier.push_back(*std::move(addition));

  std::vector<Op> ops;
  ops.reserve(earlier.size() * static_cast<std::size_t>(micro_batches) + 1);
  for (int i = 1; i < micro_batches; ++i) {
    ops.insert(ops.end(), earlier.begin(), earlier.end());
  }
  std::move(trace.ops.begin(), trace.ops.end(), std::back_inserter(ops));
  trace.ops = std::move(ops);
}

}  // namespace trainyard
