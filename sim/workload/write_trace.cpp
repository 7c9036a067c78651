#include "units/spreadsheet_text.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/shape_text.hpp"
#include "workload/trace_columns.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// The items of a list, or one item if they are all the same.
std::string list_of(const std::vector<std::string>& items) {
  if (items.empty()) return {};
  if (std::ranges::all_of(items, [&](const std::string& item) { return item == items.front(); }))
    return items.front();
  std::string text = items.front();
  for (std::size_t i = 1; i < items.size(); ++i) text += ";" + items[i];
  return text;
}

template <class TextOf>
std::string communication_list(const Op& op, TextOf text_of) {
  std::vector<std::string> items;
  for (const OpCommunication& one : op.communications) items.push_back(text_of(one));
  return list_of(items);
}

std::string byte_list(const std::vector<OpCommunication>& communications) {
  std::string text;
  for (const OpCommunication& one : communications)
    text += (text.empty() ? "" : ";") + shortest(one.size.si());
  return text;
}

std::string wait_text(const Op& op, const OpCommunication& one) {
  if (one.waits == usual_wait(op.phase, one.operation)) return {};
  return one.waits ? std::to_string(*one.waits) : std::string(only_optimizer_waits);
}

std::string axis_text(const OpCommunication& one) {
  return one.axis == Axis::all ? "" : std::string(config::name_of(one.axis));
}

std::string launch_text(const OpCommunication& one) {
  return one.at == usual_launch(one.message) ? "" : std::string(config::name_of(one.at));
}

std::string operation_text(const OpCommunication& one) {
  if (one.message) return std::string(one.message->sends ? message_sent : message_received);
  return std::string(config::name_of(one.operation));
}

std::string peer_text(const OpCommunication& one) {
  if (!one.message) return {};
  const Peer& peer = one.message->peer;
  return (peer.is_relative && peer.place > 0 ? "+" : "") + std::to_string(peer.place);
}

/// Whether the collectives of some op differ from those of plain data parallelism.
bool has_groups(const Trace& trace) {
  return std::ranges::any_of(trace.ops, [](const Op& op) {
    return std::ranges::any_of(op.communications, [&](const OpCommunication& one) {
      return !axis_text(one).empty() || !launch_text(one).empty() || !wait_text(op, one).empty();
    });
  });
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
      return communication_list(op, operation_text);
    case TraceColumn::communication_bytes:
      return byte_list(op.communications);
    case TraceColumn::group:
      return communication_list(op, axis_text);
    case TraceColumn::waits:
      return communication_list(op, [&](const auto& one) { return wait_text(op, one); });
    case TraceColumn::launch:
      return communication_list(op, launch_text);
    case TraceColumn::peer:
      return communication_list(op, peer_text);
    case TraceColumn::dtype:
      return op.in_8_bits ? std::string(eight_bits) : "";
    case TraceColumn::kernel_s:
      return op.kernel > Seconds() ? shortest(op.kernel.si()) : "";
  }
  return {};
}

}  // namespace

std::string write_trace(const Trace& trace) {
  std::string text = "# trainyard trace: " + std::to_string(trace_format_version) + "\n";
  if (!trace.model.empty()) text += "# model: " + with_apostrophes(trace.model) + "\n";
  if (trace.batch_per_gpu > 0) text += "# batch_per_gpu: " + std::to_string(trace.batch_per_gpu) + "\n";
  if (trace.accumulation > 1) text += "# accumulation: " + std::to_string(trace.accumulation) + "\n";
  if (trace.precision) text += "# precision: " + std::string(config::name_of(*trace.precision)) + "\n";
  if (trace.sequence_length) text += "# sequence_length: " + std::to_string(*trace.sequence_length) + "\n";
  if (trace.samples_per_epoch) text += fmt::format("# samples_per_epoch: {:.0f}\n", *trace.samples_per_epoch);
  if (trace.memory) text += fmt::format("# memory_bytes: {:.0f}\n", trace.memory->si());
  if (!trace.gpu.empty()) text += "# gpu: " + with_apostrophes(trace.gpu) + "\n";
  const bool with_groups = has_groups(trace);
  const bool with_messages = has_messages(trace);
  const bool with_dtype = std::ranges::any_of(trace.ops, &Op::in_8_bits);
  const bool with_kernels =
      std::ranges::any_of(trace.ops, [](const Op& op) { return op.kernel > Seconds(); });
  const auto write_line = [&](auto cell_of) {
    std::string_view separator;
    for (const auto& column : trace_columns) {
      if (is_for_groups(column.value) && !with_groups) continue;
      if (is_for_messages(column.value) && !with_messages) continue;
      if (column.value == TraceColumn::dtype && !with_dtype) continue;
      if (column.value == TraceColumn::kernel_s && !with_kernels) continue;
      text += std::exchange(separator, ",");
      text += cell_of(column);
    }
    text += '\n';
  };
  write_line([](const auto& column) { return std::string(column.text); });
  for (const Op& op : trace.ops) write_line([&](const auto& column) { return cell(op, column.value); });
  return text;
}

}  // namespace trainyard
