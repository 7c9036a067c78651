#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "convert/import_report.hpp"
#include "convert/profile_output.hpp"
#include "document/document.hpp"
#include "document/json_text.hpp"
#include "imports/join_execution_trace.hpp"
#include "imports/profile_groups.hpp"
#include "imports/read_kineto.hpp"
#include "imports/traced_work.hpp"
#include "interchange/input_text.hpp"
#include "io/out_files.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
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

/// The account as JSON, with the figures of the whole file.
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

struct EtCommandOptions {
  std::string file;
  std::optional<std::string> kineto, device, step_range;
  ProfileTraceOptions trace;
};

/// Durations from the profile of the same run.
void import_with_profile(const EtCommandOptions& options, const ExecutionTrace& trace, ImportOptions how) {
  KinetoOptions which;
  if (options.device) which.device = whole_number("--device", *options.device, 0, 1023);
  Profile profile = read_as(
      *options.kineto,
      {config::FileFormat::pytorch_profile, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_kineto(*options.kineto, which); });
  const TraceJoin join = join_execution_trace(trace, profile, options.step_range);
  if (!options.step_range) how.step_range = join.step_range;
  const ProfileWork work = join_launches(profile, how.step_range);
  const ImportedTrace imported = trace_of(profile, work, how);
  const std::string joined = fmt::format(
      "{} operators of the execution trace joined with the profile by {}{}",
      grouped(static_cast<std::int64_t>(join.joined)),
      join.by_number ? "their numbers" : "the order of their names",
      join.missing > 0 ? fmt::format("; {} are not in it", grouped(static_cast<std::int64_t>(join.missing)))
                       : std::string());
  finish_import(profile, work, imported, options.trace, import_document(profile, work, imported),
                {{"joined_operators", join.joined},
                 {"missing_operators", join.missing},
                 {"joined_by", join.by_number ? "number" : "order"}},
                joined);
}

void import_et(const EtCommandOptions& options) {
  const ImportOptions how = import_options(options.trace, options.step_range);
  if (!options.kineto) {
    for (const auto& [name, is_given] : {std::pair("--device", options.device.has_value()),
                                         std::pair("--host-gaps", options.trace.host_gaps)}) {
      if (is_given) throw CLI::ValidationError(name, "belongs to the profile: add --kineto FILE");
    }
  }
  check_out_file(options.trace.out, options.trace.page.force);
  const ExecutionTrace trace =
      read_as(options.file, {config::FileFormat::execution_trace, config::FileFormat::json},
              [&] { return read_execution_trace(options.file); });
  if (options.kineto) {
    import_with_profile(options, trace, how);
    return;
  }
  const UntimedTrace untimed = untimed_trace(trace, how);
  write_profile_trace(untimed.traced.profile, untimed.imported, options.trace);
  const std::string text = printed_page(options.trace.page, execution_trace_document(trace, untimed));
  if (options.trace.page.json) {
    print_result(json_text(execution_trace_json(trace, untimed)));
    return;
  }
  print_result(text);
  print_next_command(untimed.traced.profile, untimed.imported, options.trace.out);
}

}  // namespace

void add_import_et(CLI::App& import) {
  auto options = std::make_shared<EtCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "et", "convert an execution trace of PyTorch (ExecutionTraceObserver) into a trace of a training step");
  add_input_file(command, options->file, "the execution trace, plain or compressed by gzip");
  add_profile_trace_options(command, options->trace);
  command.get_option("--output")->required();
  add_value(command, "--kineto", options->kineto, "FILE",
            "the profile (torch.profiler) of the same steps, for durations (default: the model of the GPU "
            "times the ops)");
  add_value(command, "--device", options->device, "N", "the GPU, of a profile with the work of several");
  add_value(command, "--step-range", options->step_range, "NAME",
            "name of the ranges that are steps, with or without a number after it, if not "
            "ProfilerStep#N");
  add_examples(command,
               {"trainyard import et execution_trace.json -o untimed.csv",
                "trainyard import et execution_trace.json --kineto worker0.pt.trace.json -o timed.csv"});
  command.callback([options] { import_et(*options); });
}

}  // namespace trainyard
