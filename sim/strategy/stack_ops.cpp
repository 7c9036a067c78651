#include "strategy/stack_ops.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace trainyard {

namespace {

/// Values of the gradients that the last micro-batch completes.
double gradients_of_step(const Trace& trace) {
  double sum = 0;
  for (const Op& op : trace.ops | std::views::reverse) {
    if (op.phase == Phase::forward) break;
    for (const Gradient& gradient : op.gradients) sum += gradient.elements;
  }
  return sum;
}

Op pass_op(const GradientPass& pass, const Stack& stack, Precision precision, double gradients) {
  Op op;
  op.phase = pass.when == PassTime::before ? Phase::backward : Phase::optimizer;
  op.layer = std::string(gradient_pass_prefix) + pass.name;
  op.kind = OpKind::elementwise;
  op.shape = VectorShape{gradients};
  op.flops = Flops(gradients);
  op.bytes = bytes_of(pass, stack, precision, gradients);
  return op;
}

/// What a duration of this provenance counts as.
ComputeSource source_of(Provenance provenance) {
  if (provenance == Provenance::measured) return ComputeSource::measured;
  return provenance == Provenance::fitted ? ComputeSource::fitted : ComputeSource::roofline;
}

}  // namespace

bool is_done(const GradientPass& pass, Precision precision) {
  return pass.only.empty() || std::ranges::find(pass.only, precision) != pass.only.end();
}

Bytes bytes_of(const GradientPass& pass, const Stack& stack, Precision precision, double gradients) {
  const Bytes value = pass.of == PassDtype::fp32 ? Bytes(4) : size_of(stack.gradient_dtype, precision);
  return (pass.reads + pass.writes) * gradients * value;
}

void add_stack_ops(Trace& trace, const Stack& stack) {
  const Precision precision = trace.precision.value_or(Precision::fp32);
  const double gradients = gradients_of_step(trace);
  std::vector<Op> before;
  std::vector<Op> after;
  for (const GradientPass& pass : stack.gradient_work) {
    if (gradients <= 0 || pass.ranks == PassRanks::many || !is_done(pass, precision)) continue;
    (pass.when == PassTime::before ? before : after).push_back(pass_op(pass, stack, precision, gradients));
  }
  const auto update = std::ranges::find(trace.ops, Phase::optimizer, &Op::phase);
  before.insert(before.end(), after.begin(), after.end());
  trace.ops.insert(update, before.begin(), before.end());
  if (stack.step_overhead.value <= Seconds()) return;
  Op host;
  host.phase = Phase::optimizer;
  host.layer = "step_overhead";
  host.kind = OpKind::host;
  host.duration = stack.step_overhead.value;
  host.source = source_of(stack.step_overhead.provenance);
  trace.ops.push_back(std::move(host));
}

}  // namespace trainyard
