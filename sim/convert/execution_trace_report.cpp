#include "convert/execution_trace_report.hpp"

#include "convert/import_report.hpp"
#include "imports/profile_groups.hpp"
#include "interchange/input_text.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

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
    KindTotals& sum = totals[op.kind];
    ++sum.ops;
    sum.flops += op.flops;
    sum.bytes += op.bytes;
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

doc::Table kinds_of_work(const Trace& trace) {
  doc::Table table{
      .key = "kinds",
      .title = "ops by kind",
      .columns = {doc::texts("kind"), doc::numbers("ops"), doc::numbers("FLOPs"), doc::numbers("bytes")},
      .shape = {}};
  for (const auto& [kind, sum] : totals_of(trace)) {
    const bool has_flops = sum.flops > Flops();
    table.rows.push_back({.cells = {std::string(config::name_of(kind)), grouped(sum.ops),
                                    has_flops ? doc::Value(estimate(sum.flops), sum.flops) : doc::Value("-"),
                                    doc::Value(estimate(sum.bytes), sum.bytes)}});
  }
  return table;
}

/// Lines for the parts of the file that are not in the trace; they have no times.
void add_left_out_untimed(doc::Section& section, const ExecutionTrace& trace, const UntimedTrace& untimed) {
  const auto add = [&](std::int64_t number, const std::string& text) {
    if (number > 0) section.fact("left out", text);
  };
  for (const LeftOut& one : untimed.imported.left_out)
    section.fact("left out", fmt::format("{} {}", grouped(one.count), one.what));
  const TracedProfile& traced = untimed.traced;
  add(traced.host_copies, fmt::format("{} copies from or to the host", traced.host_copies));
  add(traced.unknown_shapes,
      fmt::format("FLOPs of {} of unknown shape", plural(traced.unknown_shapes, "matrix operator")));
  const auto kernels = static_cast<std::int64_t>(trace.kernels);
  add(kernels, fmt::format("{} kernels that another tool added", grouped(kernels)));
  const auto parents = static_cast<std::int64_t>(trace.missing_parents);
  add(parents, fmt::format("the parents of {} nodes, which are not in the file", grouped(parents)));
}

}  // namespace

doc::Document execution_trace_document(const ExecutionTrace& trace, const UntimedTrace& untimed) {
  const ImportedTrace& imported = untimed.imported;
  doc::Document page{.title = "Import of an execution trace", .version = version()};
  doc::Section& file = page.account("file", "execution trace");
  file.fact("execution trace",
            fmt::format("{} nodes, schema {}", grouped(static_cast<std::int64_t>(trace.nodes.size())),
                        trace.schema.empty() ? "not stated" : shown(trace.schema)));
  file.fact("steps", used_steps(untimed));
  page.account("kinds", "ops by kind").add(kinds_of_work(imported.trace));
  doc::Section& made = page.account("trace", "trace");
  made.fact("durations", "none: the GPU profile of the machine times the ops");
  made.fact("collectives", collectives_in_words(imported));
  if (imported.accumulation > 1)
    made.fact("accumulation",
              fmt::format("{} micro-batches in a step; the trace is that of one, with the update",
                          imported.accumulation));
  if (imported.layout)
    made.fact("parallelism", layout_in_words(*imported.layout, ranks_of(untimed.traced.profile)));
  if (const GradientTotals gradients = gradient_totals(imported.trace); gradients.tensors > 0)
    made.fact("gradients", fmt::format("{} tensors, {} values", gradients.tensors,
                                       grouped(static_cast<std::int64_t>(std::min(gradients.values, 9e18)))));
  add_left_out_untimed(made, trace, untimed);
  return page;
}

nlohmann::ordered_json execution_trace_json(const ExecutionTrace& trace, const UntimedTrace& untimed) {
  const ImportedTrace& imported = untimed.imported;
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (const auto& [kind, sum] : totals_of(imported.trace)) {
    kinds[std::string(config::name_of(kind))] = {
        {"ops", sum.ops}, {"flops", count_json(sum.flops.si())}, {"bytes", count_json(sum.bytes.si())}};
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
