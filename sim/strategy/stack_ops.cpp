#include "strategy/stack_ops.hpp"

#include "strategy/provenance_source.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace trainyard {

namespace {

/// Number of gradient values that the last micro-batch completes.
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
  op.role = OpRole::gradient_pass;
  op.shape = VectorShape{gradients};
  op.flops = Flops(gradients);
  op.bytes = bytes_of(pass, stack, precision, gradients);
  return op;
}

/// Ends the step with host time, if there is any.
void add_host_op(Trace& trace, std::string_view layer, Seconds duration, ComputeSource source) {
  if (duration <= Seconds()) return;
  Op host;
  host.phase = Phase::optimizer;
  host.layer = layer;
  host.kind = OpKind::host;
  host.role = role_of(layer);
  host.duration = duration;
  host.source = source;
  trace.ops.push_back(std::move(host));
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
  add_host_op(trace, "step_overhead", stack.step_overhead.value, source_of(stack.step_overhead.provenance));
}

Seconds host_time_of_ranks(const Stack& stack, int micro_batches, int ranks, int nodes, int gpus_per_node) {
  if (ranks < 2) return {};
  const Seconds of_gpus = (gpus_per_node - 1) * stack.step_overhead_per_gpu.value +
                          (micro_batches - 1) * stack.micro_batch_overhead.value;
  if (!stack.scalar_rings || nodes < 2) return of_gpus;
  const ScalarRings& rings = *stack.scalar_rings;
  const int hops = 2 * (ranks - 1);
  const int leaving = 2 * nodes - std::max(0, 3 - gpus_per_node);
  return of_gpus + rings.count * ((hops - leaving) * rings.hop.value + leaving * rings.node_hop.value);
}

void add_input_copy(Trace& trace, Seconds alone, Seconds together) {
  add_host_op(trace, "input_copy", alone, ComputeSource::roofline);
  add_host_op(trace, shared_copy_layer, together - alone, ComputeSource::roofline);
}

void add_ranks_overhead(Trace& trace, const Stack& stack, int ranks, int nodes, int gpus_per_node) {
  std::vector<const Sourced<Seconds>*> parts;
  if (gpus_per_node > 1) parts.push_back(&stack.step_overhead_per_gpu);
  if (trace.accumulation > 1) parts.push_back(&stack.micro_batch_overhead);
  if (stack.scalar_rings && nodes > 1) {
    parts.push_back(&stack.scalar_rings->hop);
    parts.push_back(&stack.scalar_rings->node_hop);
  }
  // The sum has the source of its least certain part: measured, fitted, neither.
  ComputeSource source = ComputeSource::measured;
  for (const Sourced<Seconds>* part : parts) {
    if (part->value > Seconds()) source = std::max(source, source_of(part->provenance));
  }
  add_host_op(trace, ranks_overhead_layer,
              host_time_of_ranks(stack, trace.accumulation, ranks, nodes, gpus_per_node), source);
}

}  // namespace trainyard
