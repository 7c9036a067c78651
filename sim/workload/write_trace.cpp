#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/shape_text.hpp"
#include "workload/trace_columns.hpp"
#include "workload/trace_csv.hpp"

#include <string>

namespace trainyard {
namespace {

std::string gradient_list(const std::vector<Gradient>& gradients) {
  std::string text;
  for (const Gradient& gradient : gradients) {
    if (!text.empty()) text += ';';
    text += gradient.tensor + ":" + shortest(gradient.elements);
  }
  return text;
}

std::string byte_list(const std::vector<Bytes>& sizes) {
  std::string text;
  for (const Bytes size : sizes) text += (text.empty() ? "" : ";") + shortest(size.si());
  return text;
}

std::string parameter_bytes(const std::vector<Gradient>& gradients) {
  if (gradients.empty()) return {};
  double elements = 0;
  for (const Gradient& gradient : gradients) elements += gradient.elements;
  return shortest(elements * parameter_size.si());
}

std::string cell(const Op& op, TraceColumn column) {
  switch (column) {
    case TraceColumn::phase:
      return std::string(config::name_of(op.phase));
    case TraceColumn::layer:
      return csv_cell(op.layer);
    case TraceColumn::kind:
      return std::string(config::name_of(op.kind));
    case TraceColumn::shape:
      return to_string(op.shape);
    case TraceColumn::flops:
      return shortest(op.flops.si());
    case TraceColumn::bytes:
      return shortest(op.bytes.si());
    case TraceColumn::parameter_bytes:
      return parameter_bytes(op.gradients);
    case TraceColumn::gradients:
      return csv_cell(gradient_list(op.gradients));
    case TraceColumn::duration_s:
      return op.duration ? shortest(op.duration->si()) : "";
    case TraceColumn::duration_source:
      return op.duration && op.source ? std::string(config::name_of(*op.source)) : "";
    case TraceColumn::communication:
      return op.communication ? std::string(config::name_of(*op.communication)) : "";
    case TraceColumn::communication_bytes:
      return byte_list(op.communication_bytes);
  }
  return {};
}

}  // namespace

std::string write_trace(const Trace& trace) {
  std::string text = "# trainyard trace: " + std::to_string(trace_format_version) + "\n";
  if (!trace.model.empty()) text += "# model: " + trace.model + "\n";
  if (trace.batch_per_gpu > 0) text += "# batch_per_gpu: " + std::to_string(trace.batch_per_gpu) + "\n";
  if (trace.accumulation > 1) text += "# accumulation: " + std::to_string(trace.accumulation) + "\n";
  if (trace.precision) text += "# precision: " + std::string(config::name_of(*trace.precision)) + "\n";
  if (trace.sequence_length) text += "# sequence_length: " + std::to_string(*trace.sequence_length) + "\n";
  for (std::size_t i = 0; i < trace_columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::string(trace_columns[i].text);
  }
  text += '\n';
  for (const Op& op : trace.ops) {
    for (std::size_t i = 0; i < trace_columns.size(); ++i) {
      if (i > 0) text += ',';
      text += cell(op, trace_columns[i].value);
    }
    text += '\n';
  }
  return text;
}

}  // namespace trainyard
