#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/read_communications.hpp"
#include "workload/shape_text.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr double longest_op = 86400;  // s; above it the unit is wrong
constexpr double most_flops = 1e24;
constexpr double most_elements = 1e15;  // per tensor; sums of bytes stay exact

constexpr auto column_texts() {
  std::array<std::string_view, trace_columns.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = trace_columns[i].text;
  return result;
}

TracePositions find_columns(const CsvFile& file, CsvProblems& problems) {
  constexpr auto names = column_texts();
  TracePositions positions;
  positions.fill(-1);
  for (std::size_t i = 0; i < file.header.cells.size(); ++i) {
    const CsvCell& cell = file.header.cells[i];
    std::size_t known = 0;
    while (known < names.size() && names[known] != cell.text) ++known;
    if (known == names.size()) {
      problems.error(file.header.line, cell, "", "unknown column " + in_quotes(cell.text),
                     config::suggest(cell.text, names));
    } else if (positions[known] >= 0) {
      problems.error(file.header.line, cell, "", "column " + in_quotes(cell.text) + " appears twice");
    } else {
      positions[known] = static_cast<int>(i);
    }
  }
  const auto is_missing = [&](TraceColumn column) { return positions[static_cast<std::size_t>(column)] < 0; };
  for (const TraceColumn column : {TraceColumn::phase, TraceColumn::layer}) {
    if (!is_missing(column)) continue;
    problems.error(file.header.line,
                   "column " + in_quotes(names[static_cast<std::size_t>(column)]) + " is missing",
                   "a trace needs the columns phase, layer and kind or duration_s");
  }
  if (is_missing(TraceColumn::kind) && is_missing(TraceColumn::duration_s)) {
    problems.error(file.header.line, "columns 'kind' and 'duration_s' are both missing",
                   "add duration_s, or kind with flops and bytes");
  }
  return positions;
}

/// The number in a cell; 0 if it is empty or, after reporting it, invalid.
double read_number(const TraceRow& row, TraceColumn column, double largest, std::string_view hint = {}) {
  return row.has(column) ? parse_part(row, column, row.find(column)->text, largest, hint).value_or(0) : 0;
}

void read_gradient(const TraceRow& row, std::string_view item, std::vector<Gradient>& gradients) {
  const std::size_t colon = item.rfind(':');
  const Parsed<double> elements = parse_number(colon == std::string_view::npos ? "" : item.substr(colon + 1));
  if (!elements || colon == 0 || !(*elements >= 1) || *elements > most_elements ||
      std::floor(*elements) != *elements) {
    row.error(TraceColumn::gradients, in_quotes(item) + " is not a gradient",
              "write tensor:elements, for example fc.bias:1000;fc.weight:2048000");
    return;
  }
  gradients.push_back({std::string(item.substr(0, colon)), *elements});
}

std::vector<Gradient> read_gradient_list(const TraceRow& row) {
  std::vector<Gradient> gradients;
  if (!row.has(TraceColumn::gradients)) return gradients;
  for_each_item(row.find(TraceColumn::gradients)->text,
                [&](std::string_view item) { read_gradient(row, item, gradients); });
  return gradients;
}

std::vector<Gradient> read_gradients(const TraceRow& row, const std::string& layer) {
  std::vector<Gradient> gradients = read_gradient_list(row);
  if (!row.has(TraceColumn::parameter_bytes)) return gradients;
  const double bytes = read_number(row, TraceColumn::parameter_bytes, most_elements * parameter_size.si());
  if (row.has(TraceColumn::gradients)) {
    double elements = 0;
    for (const Gradient& gradient : gradients) elements += gradient.elements;
    if (elements * parameter_size.si() != bytes) {
      row.error(TraceColumn::parameter_bytes,
                row.find(TraceColumn::parameter_bytes)->text + " bytes, but the gradients are " +
                    shortest(elements) + " values of 4 bytes",
                "leave one of the two columns empty");
    }
    return gradients;
  }
  if (bytes == 0) return gradients;
  if (std::fmod(bytes, parameter_size.si()) != 0) {
    row.error(TraceColumn::parameter_bytes, "parameter_bytes is not a multiple of 4",
              "parameter_bytes counts 4 bytes per parameter in every precision");
    return gradients;
  }
  // the line number separates tensors of layers with the same name
  gradients.push_back({layer + "#" + std::to_string(row.csv.line), bytes / parameter_size.si()});
  return gradients;
}

void read_duration(const TraceRow& row, Op& op) {
  if (row.has(TraceColumn::duration_s)) {
    op.duration = Seconds(read_number(row, TraceColumn::duration_s, longest_op,
                                      "duration_s is in seconds: 35.2 us is 35.2e-6"));
  }
  if (row.has(TraceColumn::duration_source)) {
    if (!op.duration) row.error(TraceColumn::duration_source, "a source without a duration");
    read_choice(row, TraceColumn::duration_source, op.source.emplace());
  }
  if (!row.has(TraceColumn::kernel_s)) return;
  op.kernel = Seconds(read_number(row, TraceColumn::kernel_s, longest_op));
  if (!op.duration || op.kernel > *op.duration)
    row.error(TraceColumn::kernel_s, "kernel_s is more than duration_s", "it is a part of duration_s");
}

void check_work(const TraceRow& row, const Op& op) {
  if (op.duration || row.has(TraceColumn::duration_s)) return;
  if (op.kind == OpKind::host && op.role == OpRole::ranks_overhead &&
      (op.layer == ranks_overhead_layer || op.bytes > Bytes()))
    return;  // the number of ranks decides
  if (!row.has(TraceColumn::kind) || needs_duration(op.kind)) {
    row.error(TraceColumn::duration_s, "duration_s is missing",
              "give a duration, or a kind with its flops and bytes");
  } else if (!row.has(TraceColumn::flops) && !row.has(TraceColumn::bytes)) {
    row.error(TraceColumn::kind, "the op has no flops, bytes or duration_s",
              "give a duration, or the kind's flops and bytes");
  }
}

/// The alternative of Shape for a kind of op, and an example.
struct ShapeRule {
  std::size_t alternative;
  std::string_view example;
};

ShapeRule shape_rule(OpKind kind) {
  switch (kind) {
    case OpKind::conv_forward:
    case OpKind::conv_dgrad:
    case OpKind::conv_wgrad:
      return {Shape(ConvShape()).index(), "n128 c64 h56 w56 k256 r1x1 s1 p0x0"};
    case OpKind::gemm:
    case OpKind::attention:
      return {Shape(GemmShape()).index(), "m128 n1000 k2048 nt"};
    default:
      return {Shape(VectorShape()).index(), "e802816"};
  }
}

Shape read_shape(const TraceRow& row, OpKind kind, bool is_known_kind) {
  if (!row.has(TraceColumn::shape)) return {};
  const std::string& text = row.find(TraceColumn::shape)->text;
  const auto shape = parse_shape(text);
  const ShapeRule rule = shape_rule(kind);
  if (!shape) {
    row.error(TraceColumn::shape, in_quotes(text) + " is not a shape",
              "for example n128 c64 h56 w56 k256 r1x1 s1 p0x0, m128 n1000 k2048 nt, e802816");
  } else if (is_known_kind && !needs_duration(kind) && shape->index() != rule.alternative) {
    row.error(TraceColumn::shape,
              in_quotes(text) + " is not the shape of an op of kind " + std::string(config::name_of(kind)),
              "for example " + std::string(rule.example));
  }
  return shape.value_or(Shape());
}

void read_dtype(const TraceRow& row, Op& op) {
  if (!row.has(TraceColumn::dtype)) return;
  const std::string& text = row.find(TraceColumn::dtype)->text;
  if (text != eight_bits)
    row.error(TraceColumn::dtype, "unknown data type " + in_quotes(text), "fp8, or leave it empty");
  else if (op.kind != OpKind::gemm)
    row.error(TraceColumn::dtype, "an op of kind " + std::string(config::name_of(op.kind)) + " in 8 bits",
              "only matrix products (gemm) run in 8 bits");
  op.in_8_bits = text == eight_bits;
}

Op read_op(const TraceRow& row) {
  Op op;
  op.line = {row.csv.line};
  read_choice(row, TraceColumn::phase, op.phase);
  if (row.find(TraceColumn::phase) != nullptr && !row.has(TraceColumn::phase)) {
    row.error(TraceColumn::phase, "the phase is missing", "write forward, backward or optimizer");
  }
  if (const CsvCell* layer = row.find(TraceColumn::layer)) op.layer = layer->text;
  op.role = role_of(op.layer);
  op.kind = OpKind::measured;
  const bool is_known = read_choice(row, TraceColumn::kind, op.kind);
  op.shape = read_shape(row, op.kind, is_known && row.has(TraceColumn::kind));
  op.flops = Flops(read_number(row, TraceColumn::flops, most_flops));
  op.bytes = Bytes(read_number(row, TraceColumn::bytes, most_bytes));
  op.gradients = read_gradients(row, op.layer);
  read_duration(row, op);
  read_communications(row, op);
  read_dtype(row, op);
  if (is_known) check_work(row, op);
  return op;
}

void check_order(const TraceRow& row, Phase before, Phase now, bool accumulates) {
  const bool is_next_micro_batch = accumulates && before == Phase::backward && now == Phase::forward;
  if (now >= before || is_next_micro_batch) return;
  row.error(TraceColumn::phase,
            std::string(config::name_of(now)) + " after " + std::string(config::name_of(before)),
            "a step runs forward, backward, optimizer in this order; for N micro-batches per step write '# "
            "accumulation: N' above the header");
}

void check_tensors(const TraceRow& row, const Op& op, std::set<std::string, std::less<>>& seen) {
  for (const Gradient& gradient : op.gradients) {
    if (!seen.insert(gradient.tensor).second) {
      row.error(TraceColumn::gradients,
                "gradient " + in_quotes(gradient.tensor) + " is completed a second time");
    }
  }
}

/// The whole number in a comment. If it is not a number or below 1, reports it and returns empty.
std::optional<int> read_count(const CsvComment& comment, std::string_view what, CsvProblems& problems) {
  const Parsed<long long> value = parse_integer(comment.value.text);
  if (value && *value >= 1 && *value <= 1'000'000'000) return static_cast<int>(*value);
  problems.error(comment.line, comment.value, comment.key,
                 in_quotes(comment.value.text) + " is not a " + std::string(what),
                 "write a whole number, at least 1");
  return std::nullopt;
}

/// A whole number of samples or bytes, which may exceed an int.
std::optional<double> read_large_count(const CsvComment& comment, std::string_view what,
                                       CsvProblems& problems) {
  constexpr double most = 1e15;
  const Parsed<long long> value = parse_integer(comment.value.text);
  if (value && *value >= 1 && static_cast<double>(*value) <= most) return static_cast<double>(*value);
  problems.error(comment.line, comment.value, comment.key,
                 in_quotes(comment.value.text) + " is not a number of " + std::string(what),
                 "write a whole number, at least 1");
  return std::nullopt;
}

void read_comment(const CsvComment& comment, Trace& trace, CsvProblems& problems) {
  const std::string& text = comment.value.text;
  if (comment.key == "model") {
    trace.model = text;
  } else if (comment.key == "gpu") {
    trace.gpu = text;
  } else if (comment.key == "trainyard trace") {
    if (parse_integer(text) == trace_format_version) return;
    problems.error(comment.line, comment.value, comment.key, "unknown version " + in_quotes(text),
                   "this program reads version " + std::to_string(trace_format_version));
  } else if (comment.key == "batch_per_gpu") {
    trace.batch_per_gpu = read_count(comment, "batch size", problems).value_or(trace.batch_per_gpu);
  } else if (comment.key == "accumulation") {
    trace.accumulation =
        read_count(comment, "number of micro-batches", problems).value_or(trace.accumulation);
  } else if (comment.key == "sequence_length") {
    trace.sequence_length = read_count(comment, "number of tokens", problems);
  } else if (comment.key == "samples_per_epoch") {
    trace.samples_per_epoch = read_large_count(comment, "samples", problems);
  } else if (comment.key == "memory_bytes") {
    if (const auto bytes = read_large_count(comment, "bytes", problems)) trace.memory = Bytes(*bytes);
  } else if (comment.key == "precision") {
    choose(text, trace.precision.emplace(), [&](const std::string& message, const std::string& hint) {
      problems.error(comment.line, comment.value, comment.key, message, hint);
    });
  }
}

}  // namespace

Trace read_trace(std::string name, std::string_view text) {
  CsvProblems problems(std::move(name), text);
  const CsvFile file = parse_csv(text, problems);
  if (file.header.cells.empty()) problems.finish();

  Trace trace;
  for (const CsvComment& comment : file.comments) read_comment(comment, trace, problems);
  const TracePositions positions = find_columns(file, problems);
  if (!problems.empty()) problems.finish();  // lines cannot be read with a wrong header

  std::set<std::string, std::less<>> tensors;
  Phase phase = Phase::forward;
  trace.ops.reserve(file.rows.size());
  for (const CsvRow& csv : file.rows) {
    const TraceRow row{csv, positions, problems};
    Op op = read_op(row);
    check_order(row, phase, op.phase, trace.accumulation > 1);
    if (op.phase < phase) tensors.clear();  // each micro-batch may complete all tensors
    check_tensors(row, op, tensors);
    phase = op.phase;
    trace.ops.push_back(std::move(op));
  }
  if (trace.ops.empty() && problems.empty()) {
    problems.error(0, "the trace has no ops", "write one line per op below the header");
  }
  Seconds total;
  for (const Op& op : trace.ops) total += op.duration.value_or(Seconds(1));
  if (!trace.ops.empty() && problems.empty() && total <= Seconds()) {
    problems.error(0, "every duration is 0", "duration_s is in seconds: 35.2 us is 35.2e-6");
  }
  problems.finish();
  return trace;
}

}  // namespace trainyard
