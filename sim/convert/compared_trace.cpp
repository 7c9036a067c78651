#include "convert/compared_trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace trainyard {

Seconds seconds_of_ns(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

Seconds of_profile(const TraceValidation& validation, const TracePart& part) {
  return part.profile == nullptr ? Seconds() : seconds_of_ns(validation.imported.parts.*part.profile);
}

std::optional<double> change(Seconds a, Seconds b) {
  return a > Seconds() ? std::optional(b / a - 1) : std::nullopt;
}

const SimulatedOp* simulated_op(const TraceValidation& validation, const SimulatedStep& step,
                                std::size_t op) {
  const std::vector<Op>& ops = validation.imported.trace.ops;
  const bool is_update = ops[op].phase == Phase::optimizer;
  if (step.ops.size() < ops.size()) return nullptr;
  const std::size_t index = is_update ? step.ops.size() - (ops.size() - op) : op;
  const SimulatedOp& found = step.ops[index];
  return found.phase == ops[op].phase && found.kind == ops[op].kind ? &found : nullptr;
}

int runs_of_op(const TraceValidation& validation, const Op& op) {
  return op.phase == Phase::optimizer ? 1 : validation.imported.accumulation;
}

const SimulatedOp* computed_op(const TraceValidation& validation, std::size_t op) {
  return validation.is_computed[op] ? simulated_op(validation, validation.predicted, op) : nullptr;
}

std::optional<Seconds> start_in_profile(const TraceValidation& validation, std::size_t op) {
  const ImportedTrace& imported = validation.imported;
  if (imported.trace.ops[op].kind == OpKind::host || imported.accumulation > 1) return std::nullopt;
  return seconds_of_ns(imported.rows[op].first_start - imported.parts.start);
}

std::vector<PredictedOp> predicted_ops(const TraceValidation& validation) {
  std::vector<PredictedOp> result;
  const std::vector<Op>& ops = validation.imported.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const SimulatedOp* const its = computed_op(validation, i);
    if (its != nullptr) result.push_back({i, *ops[i].duration, its->duration, its->source});
  }
  return result;
}

std::vector<KindOfOps> predicted_kinds(const TraceValidation& validation,
                                       const std::vector<PredictedOp>& predicted) {
  std::map<std::pair<Phase, OpKind>, KindOfOps> kinds;
  for (const PredictedOp& one : predicted) {
    const Op& op = validation.imported.trace.ops[one.op];
    KindOfOps& its = kinds[{op.phase, op.kind}];
    const int runs = runs_of_op(validation, op);
    its.phase = op.phase;
    its.kind = op.kind;
    its.ops += runs;
    its.measured += runs * one.measured;
    its.predicted += runs * one.predicted;
  }
  std::vector<KindOfOps> result;
  for (const auto& [key, its] : kinds) result.push_back(its);
  std::ranges::stable_sort(result, [](const KindOfOps& a, const KindOfOps& b) {
    return a.phase != b.phase ? a.phase < b.phase : a.measured > b.measured;
  });
  return result;
}

std::vector<KindOfOps> kinds_beside_model(const TraceValidation& validation) {
  std::map<std::pair<Phase, OpKind>, KindOfOps> kinds;
  for (const Op& op : validation.imported.trace.ops) {
    if (op.kind == OpKind::host) continue;
    KindOfOps& its = kinds[{op.phase, op.kind}];
    its.ops += runs_of_op(validation, op);
    its.measured += runs_of_op(validation, op) * *op.duration;
  }
  for (const SimulatedOp& op : validation.model->ops) {
    if (op.kind != OpKind::host) kinds[{op.phase, op.kind}].predicted += op.duration;
  }
  std::vector<KindOfOps> result;
  for (auto& [key, its] : kinds) {
    std::tie(its.phase, its.kind) = key;
    result.push_back(its);
  }
  return result;
}

OpTotals totals_of(const TraceValidation& validation, const std::vector<PredictedOp>& predicted) {
  OpTotals totals;
  Seconds errors;
  for (const PredictedOp& one : predicted) {
    const int runs = runs_of_op(validation, validation.imported.trace.ops[one.op]);
    totals.ops += runs;
    totals.measured += runs * one.measured;
    totals.predicted += runs * one.predicted;
    errors += runs * Seconds(std::abs((one.predicted - one.measured).si()));
  }
  if (totals.measured > Seconds()) totals.mean_error = errors / totals.measured;
  return totals;
}

OpTotals rest_of(const TraceValidation& validation) {
  OpTotals rest;
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    if (op.kind == OpKind::host || validation.is_computed[i]) continue;
    rest.ops += runs_of_op(validation, op);
    rest.measured += runs_of_op(validation, op) * *op.duration;
  }
  return rest;
}

SentCollectives profiled(const TraceValidation& validation, Operation operation) {
  SentCollectives sum{.operation = operation, .count = 0, .size = {}, .time = {}};
  const int runs = validation.imported.reduces_each ? validation.imported.accumulation : 1;
  for (const TracedCollective& one : validation.imported.sent) {
    if (one.operation != operation) continue;
    sum.count += runs;
    sum.size += runs * one.size;
    sum.time += runs * seconds_of_ns(one.time);
  }
  return sum;
}

std::optional<Seconds> transfer_of(const TraceValidation& validation, Operation operation) {
  const auto its = std::ranges::find(validation.transfers, config::name_of(operation),
                                     [](const auto& one) { return std::string_view(one.first); });
  return its == validation.transfers.end() ? std::nullopt : std::optional(seconds_of_ns(its->second));
}

double step_error(const TraceValidation& validation, const SimulatedStep& step) {
  return change(seconds_of_ns(validation.imported.parts.period), step.time).value_or(0);
}

}  // namespace trainyard
