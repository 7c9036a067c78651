#include "experiment/trace_checks.hpp"

#include "experiment/overrides.hpp"
#include "strategy/buckets.hpp"
#include "strategy/micro_batches.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

void require_no_model_keys(const std::map<std::string, std::string>& set) {
  for (const auto& [key, value] : set) {
    if (file_named_by(key) == "model")
      throw InputError("a replayed trace has no model to set", "edit the trace");
  }
}

std::optional<double> same_samples(std::optional<double> before, std::optional<double> stated) {
  if (!stated) return before;
  if (before.value_or(*stated) != *stated)
    throw InputError("the traces of an experiment state different numbers of samples_per_epoch",
                     "write the same number into all of them");
  return stated;
}

void check_batch(const Trace& trace, int batch_per_gpu) {
  if (trace.batch_per_gpu == 0 || trace.batch_per_gpu == batch_per_gpu) return;
  throw InputError(
      fmt::format("the trace is a step of {}, not {}", plural(trace.batch_per_gpu, "sample"), batch_per_gpu),
      "a trace fixes the batch size: record a trace for each batch");
}

void check_precision(const Trace& trace, Precision precision) {
  if (!trace.precision || *trace.precision == precision) return;
  throw InputError(fmt::format("the trace is a step in {}, not {}", config::name_of(*trace.precision),
                               config::name_of(precision)),
                   "record a trace for each precision");
}

void check_accumulation(const Trace& trace, int accumulation) {
  if (trace.accumulation == 1 || trace.accumulation == accumulation) return;
  throw InputError(
      fmt::format("the trace is a step of {} micro-batches, not {}", trace.accumulation, accumulation),
      "a trace without '# accumulation:' is one micro-batch and can be repeated");
}

void require_no_8_bits(const RankClass& one, Precision precision) {
  if (is_narrow(precision)) return;
  const auto op = std::ranges::find(one.trace.ops, true, &Op::in_8_bits);
  if (op == one.trace.ops.end()) return;
  Diagnostic error;
  error.file = one.file;
  error.line = op->line.number;
  error.column = 1;
  error.key_path = "dtype";
  error.message = fmt::format("op '{}' is a product in 8 bits, but the step is in {}", op->layer,
                              config::name_of(precision));
  error.hint = "precision: fp8 in the experiment, or leave 'dtype' empty";
  throw InputError({std::move(error)});
}

std::optional<Diagnostic> without_8_bits(const std::vector<RankClass>& classes, Precision precision) {
  if (!is_narrow(precision)) return std::nullopt;
  bool has_products = false;
  for (const RankClass& one : classes) {
    if (std::ranges::find(one.trace.ops, true, &Op::in_8_bits) != one.trace.ops.end()) return std::nullopt;
    has_products =
        has_products || std::ranges::find(one.trace.ops, OpKind::gemm, &Op::kind) != one.trace.ops.end();
  }
  if (!has_products) return std::nullopt;
  Diagnostic warning;
  warning.file = classes.front().file;
  warning.key_path = "dtype";
  warning.message = fmt::format("the step is in {}, but no product is in 8 bits: all count as bf16",
                                config::name_of(precision));
  warning.hint = "write fp8 in column 'dtype' of products in 8 bits, or precision: bf16";
  warning.severity = Severity::warning;
  return warning;
}

void require_no_messages(const RankClass& one) {
  if (!has_messages(one.trace)) return;
  throw InputError(
      "the trace has messages, whose ends the ranks of a job run at different ops",
      "name the trace of each rank: traces: [{trace: a.csv, ranks: 0}, {trace: b.csv, ranks: 1}]");
}

void check_reductions(const Trace& trace, const Stack& stack) {
  if (stack.reduce_each_micro_batch || trace.accumulation == 1) return;
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  if (by_micro_batch(trace, gradients).size() < 2) return;
  throw InputError("the trace completes gradients in several micro-batches, but the stack reduces them once",
                   "reduce_each_micro_batch: true in the stack, or gradients in the last micro-batch only");
}

}  // namespace trainyard
