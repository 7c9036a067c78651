#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/execution_trace_report.hpp"
#include "convert/import_input.hpp"
#include "convert/import_report.hpp"
#include "convert/profile_output.hpp"
#include "document/json_text.hpp"
#include "imports/join_execution_trace.hpp"
#include "imports/read_kineto.hpp"
#include "imports/untimed_trace.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainyard {
namespace {

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
  write_profile_trace(profile, imported, options.trace);
  const std::string joined = fmt::format(
      "{} operators of the execution trace joined with the profile by {}{}",
      grouped(static_cast<std::int64_t>(join.joined)),
      join.by_number ? "their numbers" : "the order of their names",
      join.missing > 0 ? fmt::format("; {} are not in it", grouped(static_cast<std::int64_t>(join.missing)))
                       : std::string());
  const std::string text = printed_page(options.trace.page, import_document(profile, work, imported));
  if (options.trace.page.json) {
    auto json = import_json(profile, work, imported);
    json["joined_operators"] = join.joined;
    json["missing_operators"] = join.missing;
    json["joined_by"] = join.by_number ? "number" : "order";
    print_result(json_text(json));
    return;
  }
  print_result(text);
  print_message(joined);
  print_next_command(profile, imported, options.trace.out);
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
  command.add_option("file", options->file, "the execution trace, plain or compressed by gzip")
      ->required()
      ->type_name("FILE");
  add_profile_trace_options(command, options->trace);
  command.get_option("--output")->required();
  command
      .add_option(
          "--kineto", options->kineto,
          "the profile (torch.profiler) of the same steps, for durations (default: the model of the GPU "
          "times the ops)")
      ->type_name("FILE");
  command.add_option("--device", options->device, "the GPU, of a profile with the work of several")
      ->type_name("N");
  command
      .add_option("--step-range", options->step_range,
                  "name of the ranges that are steps, with or without a number after it, if not "
                  "ProfilerStep#N")
      ->type_name("NAME");
  add_examples(command,
               {"trainyard import et execution_trace.json -o untimed.csv",
                "trainyard import et execution_trace.json --kineto worker0.pt.trace.json -o timed.csv"});
  command.callback([options] { import_et(*options); });
}

}  // namespace trainyard
