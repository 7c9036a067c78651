#include "convert/import_report.hpp"
#include "convert/trace_validation.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// b / a - 1; empty if a is 0.
doc::Value difference(Seconds a, Seconds b) {
  const double ratio = a > Seconds() ? b / a - 1 : 0;
  return a > Seconds() ? doc::Value(signed_percent(ratio), ratio) : doc::Value();
}

/// In the unit of the longest time; empty if there is none.
doc::Value time_value(std::optional<Seconds> time, Seconds longest) {
  return time ? doc::Value(human_like(*time, longest), *time) : doc::Value();
}

doc::Table empty_table(std::string key, std::string title, std::vector<doc::Column> columns) {
  return {.key = std::move(key),
          .title = std::move(title),
          .columns = std::move(columns),
          .rows = {},
          .shape = {.gap = 2, .elsewhere = "--json"}};
}

/// The first run of an op of the trace in a simulated step, whose micro-batches repeat the trace's; null if
/// the step has other ops.
const SimulatedOp* simulated_op(const TraceValidation& validation, const SimulatedStep& step,
                                std::size_t op) {
  const std::vector<Op>& ops = validation.imported.trace.ops;
  const bool is_update = ops[op].phase == Phase::optimizer;
  if (step.ops.size() < ops.size()) return nullptr;
  const std::size_t index = is_update ? step.ops.size() - (ops.size() - op) : op;
  const SimulatedOp& found = step.ops[index];
  return found.phase == ops[op].phase && found.kind == ops[op].kind ? &found : nullptr;
}

/// How often a step runs an op of the trace.
int runs_of_op(const TraceValidation& validation, const Op& op) {
  return op.phase == Phase::optimizer ? 1 : validation.imported.accumulation;
}

/// The time that was computed for an op; null if it keeps the profile's.
const SimulatedOp* computed_op(const TraceValidation& validation, std::size_t op) {
  return validation.is_computed[op] ? simulated_op(validation, validation.predicted, op) : nullptr;
}

/// When an op begins in the profile's step; nothing for gaps, and where one micro-batch stands for all.
std::optional<Seconds> start_in_profile(const TraceValidation& validation, std::size_t op) {
  const ImportedTrace& imported = validation.imported;
  if (imported.trace.ops[op].kind == OpKind::host || imported.accumulation > 1) return std::nullopt;
  return from_ns(imported.rows[op].first_start - imported.parts.start);
}

/// Ops of one pass and kind, over a step.
struct KindOfOps {
  int ops = 0;
  Seconds measured = {}, predicted = {};
};
using KindsOfOps = std::map<std::pair<Phase, OpKind>, KindOfOps>;

/// Counts an op of the profile with its time in a step.
KindOfOps& add_op(KindsOfOps& kinds, const TraceValidation& validation, const Op& op) {
  const int runs = runs_of_op(validation, op);
  KindOfOps& sum = kinds[{op.phase, op.kind}];
  sum.ops += runs;
  sum.measured += runs * *op.duration;
  return sum;
}

/// `simulation`: the column of simulated times. In the order of passes and kinds, or of passes and times.
doc::Table kinds_table(const KindsOfOps& kinds, const std::string& simulation, bool longest_first) {
  doc::Table table =
      empty_table(simulation + "_kinds", "ops by pass and kind",
                  {doc::texts("pass", "phase"), doc::texts("kind", "kind"), doc::numbers("ops", "ops", 1),
                   doc::numbers("profile", "profile_s"), doc::numbers(simulation, simulation + "_s"),
                   doc::numbers("difference", "error")});
  std::vector<std::pair<std::pair<Phase, OpKind>, KindOfOps>> rows(kinds.begin(), kinds.end());
  if (longest_first)
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
      return a.first.first != b.first.first ? a.first.first < b.first.first
                                            : a.second.measured > b.second.measured;
    });
  Seconds longest;
  for (const auto& [key, kind] : rows) longest = std::max({longest, kind.measured, kind.predicted});
  for (const auto& [key, kind] : rows) {
    table.rows.push_back(
        {.cells = {std::string(config::name_of(key.first)), std::string(config::name_of(key.second)),
                   doc::Value(fmt::format("{}", kind.ops), kind.ops), time_value(kind.measured, longest),
                   time_value(kind.predicted, longest), difference(kind.measured, kind.predicted)}});
  }
  return table;
}

/// The kernels of the trace's collectives in the profile's step.
SentCollectives profiled(const TraceValidation& validation, Operation operation) {
  SentCollectives sum{.operation = operation, .count = 0, .size = {}, .time = {}};
  const int runs = validation.imported.reduces_each ? validation.imported.accumulation : 1;
  for (const TracedCollective& one : validation.imported.sent) {
    if (one.operation != operation) continue;
    sum.count += runs;
    sum.size += runs * one.size;
    sum.time += runs * from_ns(one.time);
  }
  return sum;
}

/// Their transfer, if the profiles of all ranks say it.
std::optional<Seconds> transfer_of(const TraceValidation& validation, Operation operation) {
  const auto found = std::ranges::find(validation.transfers, config::name_of(operation),
                                       [](const auto& one) { return std::string_view(one.first); });
  return found == validation.transfers.end() ? std::nullopt : std::optional(from_ns(found->second));
}

}  // namespace

Seconds of_profile(const TraceValidation& validation, const TracePart& part) {
  return part.profile == nullptr ? Seconds() : from_ns(validation.imported.parts.*part.profile);
}

std::vector<ComparedStep> compared_steps(const TraceValidation& validation) {
  std::vector<ComparedStep> steps{{"replay", &validation.replay}, {"predicted", &validation.predicted}};
  if (validation.model) steps.push_back({"model", &*validation.model});
  return steps;
}

double step_error(const TraceValidation& validation, const SimulatedStep& step) {
  return difference(from_ns(validation.imported.parts.period), step.time).number.value_or(0);
}

std::vector<std::size_t> predicted_ops(const TraceValidation& validation) {
  const std::vector<Op>& ops = validation.imported.trace.ops;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (computed_op(validation, i) != nullptr) result.push_back(i);
  }
  std::ranges::stable_sort(result, std::greater{}, [&](std::size_t i) {
    return std::abs((computed_op(validation, i)->duration - *ops[i].duration).si());
  });
  return result;
}

OpTotals totals_of(const TraceValidation& validation, bool computed) {
  OpTotals totals;
  Seconds errors;
  const std::vector<Op>& ops = validation.imported.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const SimulatedOp* const predicted = computed_op(validation, i);
    const bool keeps_time = ops[i].kind != OpKind::host && !validation.is_computed[i];
    if (computed ? predicted == nullptr : !keeps_time) continue;
    const int runs = runs_of_op(validation, ops[i]);
    totals.ops += runs;
    totals.measured += runs * *ops[i].duration;
    if (!computed) continue;
    totals.predicted += runs * predicted->duration;
    errors += runs * Seconds(std::abs((predicted->duration - *ops[i].duration).si()));
  }
  if (totals.measured > Seconds()) totals.mean_error = errors / totals.measured;
  return totals;
}

doc::Table parts_table(const TraceValidation& validation) {
  doc::Table table = empty_table("parts", "parts of the step",
                                 {doc::texts("", "part"), doc::numbers("profile", "profile_s")});
  const std::vector<ComparedStep> steps = compared_steps(validation);
  constexpr int dropped[][2] = {{0, 0}, {0, 2}, {3, 1}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string name(steps[i].name);
    table.columns.push_back(doc::numbers(name, name + "_s", dropped[i][0]));
    table.columns.push_back(doc::numbers("difference", name + "_error", dropped[i][1]));
  }
  const Seconds longest = std::max(
      {of_profile(validation, trace_parts.back()), validation.replay.time, validation.predicted.time});
  for (const TracePart& part : trace_parts) {
    const Seconds own = of_profile(validation, part);
    doc::Row row{.cells = {std::string(part.label)}};
    row.cells.emplace_back(part.profile == nullptr ? doc::Value() : time_value(own, longest));
    bool is_in_a_step = part.profile != nullptr;
    for (const ComparedStep& one : steps) {
      const Seconds time = one.step->*part.simulated;
      is_in_a_step = is_in_a_step || time > Seconds();
      row.cells.emplace_back(time_value(time, longest));
      row.cells.emplace_back(difference(own, time));
    }
    if (is_in_a_step) table.rows.push_back(std::move(row));
  }
  return table;
}

doc::Table collectives_table(const TraceValidation& validation) {
  const bool has_transfers = !validation.transfers.empty();
  doc::Table table = empty_table("collectives", "collectives of the step",
                                 {doc::texts("collectives", "operation"), doc::numbers("number", "count"),
                                  doc::numbers("bytes", "bytes", 1), doc::numbers("profile", "profile_s"),
                                  has_transfers ? doc::numbers("transfer", "transfer_s")
                                                : doc::numbers("", "transfer_s", 0, doc::Shown::text),
                                  doc::numbers("replay", "replay_s"), doc::numbers("difference", "error")});
  for (const SentCollectives& one : validation.replay.collectives) {
    const SentCollectives own = profiled(validation, one.operation);
    if (own.count == 0) continue;
    const auto transfer = transfer_of(validation, one.operation);
    const Seconds longest = std::max(own.time, one.time);
    table.rows.push_back(
        {.cells = {std::string(config::name_of(one.operation)),
                   doc::Value(fmt::format("{}", own.count), own.count),
                   doc::Value(count_text(own.size.si()), own.size), time_value(own.time, longest),
                   time_value(transfer, longest), time_value(one.time, longest),
                   difference(transfer.value_or(own.time), one.time)}});
  }
  return table;
}

doc::Table predicted_kinds_table(const TraceValidation& validation) {
  KindsOfOps kinds;
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    if (const SimulatedOp* const computed = computed_op(validation, i); computed != nullptr)
      add_op(kinds, validation, op).predicted += runs_of_op(validation, op) * computed->duration;
  }
  return kinds_table(kinds, "predicted", true);
}

doc::Table model_kinds_table(const TraceValidation& validation) {
  KindsOfOps kinds;
  for (const Op& op : validation.imported.trace.ops) {
    if (op.kind != OpKind::host) add_op(kinds, validation, op);
  }
  for (const SimulatedOp& op : validation.model->ops) {
    if (op.kind != OpKind::host) kinds[{op.phase, op.kind}].predicted += op.duration;
  }
  return kinds_table(kinds, "model", false);
}

doc::Table ops_table(const TraceValidation& validation, const std::vector<std::size_t>& ops) {
  doc::Table table =
      empty_table("ops", "ops",
                  {doc::texts("pass", "phase"),
                   doc::Column{.key = "layer", .head = "layer", .layout = text_column().wraps(10)},
                   doc::Column{.key = "kind", .head = "kind", .layout = text_column().drops(3)},
                   doc::Column{.key = "shape", .head = "shape", .layout = text_column().drops(1)},
                   doc::numbers("runs", "runs", 0, doc::Shown::pages),
                   doc::numbers("profile start", "profile_start_s", 0, doc::Shown::pages),
                   doc::numbers("replay start", "replay_start_s", 0, doc::Shown::pages),
                   doc::numbers("profile", "profile_s"), doc::numbers("predicted", "predicted_s"),
                   doc::numbers("difference", "error"),
                   doc::Column{.key = "source", .head = "source", .layout = text_column().drops(2)}});
  Seconds longest;
  for (const std::size_t i : ops) {
    longest = std::max(longest, *validation.imported.trace.ops[i].duration);
    if (const SimulatedOp* const one = computed_op(validation, i)) longest = std::max(longest, one->duration);
  }
  for (const std::size_t i : ops) {
    const Op& op = validation.imported.trace.ops[i];
    const SimulatedOp* const replay = simulated_op(validation, validation.replay, i);
    const SimulatedOp* const computed = computed_op(validation, i);
    std::optional<Seconds> replayed, predicted;
    if (replay != nullptr) replayed = replay->start;
    if (computed != nullptr) predicted = computed->duration;
    const Seconds whole = validation.replay.time;
    const int runs = runs_of_op(validation, op);
    table.rows.push_back(
        {.cells = {std::string(config::name_of(op.phase)), op.layer, std::string(config::name_of(op.kind)),
                   to_string(op.shape), doc::Value(fmt::format("{}", runs), runs),
                   time_value(start_in_profile(validation, i), whole), time_value(replayed, whole),
                   time_value(op.duration, longest), time_value(predicted, longest),
                   predicted ? difference(*op.duration, *predicted) : doc::Value(),
                   computed == nullptr ? std::string() : std::string(config::name_of(computed->source))}});
  }
  return table;
}

}  // namespace trainyard
