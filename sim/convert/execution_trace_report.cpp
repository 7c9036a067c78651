#include "convert/execution_trace_report.hpp"

#include "convert/import_report.hpp"
#include "imports/profile_groups.hpp"
#include "interchange/input_text.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

struct KindTotals {
  int ops = 0;
  Flops flops;
  Bytes bytes;
};

std::map<OpKind, KindTotals> totals_of(const Trace& trace) {
  std::map<OpKind, KindTotals> totals;
  for (const Op& op : trace.ops) {
    KindTotals& its = totals[op.kind];
    ++its.ops;
    its.flops += op.flops;
    its.bytes += op.bytes;
  }
  return totals;
}

std::string used_steps(const UntimedTrace& untimed) {
  const ImportedTrace& imported = untimed.imported;
  if (imported.shown_step < 0) return "the whole file is one";
  return fmt::format("{} in the file; the trace is that of step {}", untimed.work.steps.size(),
                     untimed.work.steps[static_cast<std::size_t>(imported.shown_step)].number);
}

/// All digits of a count.
nlohmann::ordered_json count_json(double count) {
  constexpr double largest_exact = 9e15;
  return std::abs(count) <= largest_exact ? nlohmann::ordered_json(std::llround(count))
                                          : nlohmann::ordered_json(count);
}

/// Without times of work: there are none.
void print_left_out(const ImportedTrace& imported, std::string& text, std::size_t width) {
  for (const LeftOut& one : imported.left_out)
    text += hanging("left out        ", fmt::format("{} {}", grouped(one.count), one.what), width);
}

}  // namespace

std::string execution_trace_text(const ExecutionTrace& trace, const UntimedTrace& untimed,
                                 const PrintStyle& style) {
  const ImportedTrace& imported = untimed.imported;
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += hanging(fmt::format("{:<16}", label), value, style.width);
  };
  line("execution trace",
       fmt::format("{} nodes, schema {}", grouped(static_cast<std::int64_t>(trace.nodes.size())),
                   trace.schema.empty() ? "not stated" : shown(trace.schema)));
  line("steps", used_steps(untimed));
  Table table({text_column(), number_column(), number_column(), number_column()}, {.gap = 2});
  table.row("kind", "ops", "FLOPs", "bytes");
  for (const auto& [kind, its] : totals_of(imported.trace))
    table.row(config::name_of(kind), grouped(its.ops), its.flops > Flops() ? estimate(its.flops) : "-",
              estimate(its.bytes));
  text += "\n" + table.text(style.width) + "\n";
  line("durations", "none: the GPU profile of the machine times the ops");
  line("collectives", imported.collectives > 0 ? collectives_in_words(imported.trace)
                      : imported.leaves_collectives
                          ? "left to the stack, which makes buckets of the gradients"
                          : "none");
  if (imported.accumulation > 1)
    line("accumulation", fmt::format("{} micro-batches in a step; the trace is that of one, with the update",
                                     imported.accumulation));
  if (imported.layout)
    line("parallelism", layout_in_words(*imported.layout, ranks_of(untimed.traced.profile)));
  if (const GradientTotals gradients = gradient_totals(imported.trace); gradients.tensors > 0)
    line("gradients", fmt::format("{} tensors, {} values", gradients.tensors,
                                  grouped(static_cast<std::int64_t>(std::min(gradients.values, 9e18)))));
  print_left_out(imported, text, style.width);
  if (untimed.traced.host_copies > 0)
    line("left out", fmt::format("{} copies from or to the host", untimed.traced.host_copies));
  if (untimed.traced.unknown_shapes > 0)
    line("left out", fmt::format("FLOPs of {} of unknown shape",
                                 plural(untimed.traced.unknown_shapes, "matrix operator")));
  if (trace.kernels > 0)
    line("left out", fmt::format("{} kernels that another tool added",
                                 grouped(static_cast<std::int64_t>(trace.kernels))));
  if (trace.missing_parents > 0)
    line("left out", fmt::format("the parents of {} nodes, which are not in the file",
                                 grouped(static_cast<std::int64_t>(trace.missing_parents))));
  return text;
}

nlohmann::ordered_json execution_trace_json(const ExecutionTrace& trace, const UntimedTrace& untimed) {
  const ImportedTrace& imported = untimed.imported;
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (const auto& [kind, its] : totals_of(imported.trace)) {
    kinds[std::string(config::name_of(kind))] = {
        {"ops", its.ops}, {"flops", count_json(its.flops.si())}, {"bytes", count_json(its.bytes.si())}};
  }
  nlohmann::ordered_json left_out = nlohmann::ordered_json::array();
  for (const LeftOut& one : imported.left_out) left_out.push_back({{"count", one.count}, {"what", one.what}});
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const auto& [name, group] : trace.groups) groups[name] = group.size;
  const auto backward =
      std::ranges::count_if(trace.nodes, [](const TracedNode& node) { return node.forward_thread > 0; });
  const GradientTotals gradients = gradient_totals(imported.trace);
  return {{"file", base_name(trace.file)},
          {"schema", trace.schema},
          {"nodes", trace.nodes.size()},
          {"added_kernels", trace.kernels},
          {"missing_parents", trace.missing_parents},
          {"backward_nodes", backward},
          {"groups", std::move(groups)},
          {"ranks", untimed.traced.profile.ranks ? nlohmann::ordered_json(*untimed.traced.profile.ranks)
                                                 : nlohmann::ordered_json()},
          {"whole",
           {{"matrix_flops", count_json(untimed.traced.matrix_flops)},
            {"convolution_forward_flops", count_json(untimed.traced.convolution_flops)},
            {"unknown_shapes", untimed.traced.unknown_shapes},
            {"host_copies", untimed.traced.host_copies},
            {"collectives", collectives_json(figures_of(untimed.traced.profile, untimed.work))}}},
          {"steps", untimed.work.steps.size()},
          {"used_steps", imported.steps},
          {"accumulation", imported.accumulation},
          {"ops", imported.trace.ops.size()},
          {"kinds", std::move(kinds)},
          {"collectives", imported.collectives},
          {"parallelism", layout_json(imported)},
          {"gradients", gradients.tensors},
          {"gradient_values", count_json(gradients.values)},
          {"batch_per_gpu", imported.trace.batch_per_gpu > 0
                                ? nlohmann::ordered_json(imported.trace.batch_per_gpu)
                                : nlohmann::ordered_json()},
          {"left_out", std::move(left_out)},
          {"warnings", imported.warnings}};
}

}  // namespace trainyard
