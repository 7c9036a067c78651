#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "convert/import_report.hpp"
#include "convert/profile_output.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_nsys.hpp"
#include "io/out_files.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainyard {
namespace {

struct NsysCommandOptions {
  std::string file;
  std::optional<std::string> device, process, step_range, gpus;
  ProfileTraceOptions trace;
};

void import_nsys(const NsysCommandOptions& options) {
  const ImportOptions how = import_options(options.trace, options.step_range);
  NsysOptions which;
  if (options.device) which.device = whole_number("--device", *options.device, 0, 1023);
  if (options.process) which.process = whole_number("--process", *options.process, 0, (1 << 24) - 1);
  if (options.gpus) which.ranks = whole_number("--gpus", *options.gpus, 1, 1'000'000);
  check_out_file(options.trace.out, options.trace.page.force);
  const Profile profile =
      read_as(options.file, {config::FileFormat::sqlite}, [&] { return read_nsys(options.file, which); });
  const ProfileWork work = join_launches(profile, options.step_range);
  const ImportedTrace imported = trace_of(profile, work, how);
  const auto schema =
      profile.schema.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(profile.schema);
  finish_import(profile, work, imported, options.trace, import_document(profile, work, imported),
                {{"schema", schema}});
}

}  // namespace

void add_import_nsys(CLI::App& import) {
  auto options = std::make_shared<NsysCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "nsys", "convert a profile of Nsight Systems, exported to SQLite, into a trace of a training step");
  add_input_file(command, options->file, "the export: nsys export --type sqlite REPORT.nsys-rep");
  add_profile_trace_options(command, options->trace);
  command.get_option("--output")->required();
  add_value(command, "--device", options->device, "N", "the GPU, of a file with the work of several");
  add_value(command, "--process", options->process, "N", "the process, of a file with several on one GPU");
  add_value(command, "--step-range", options->step_range, "NAME",
            "name of the NVTX ranges that are steps, with or without a number after it");
  add_value(command, "--gpus", options->gpus, "N",
            "ranks that take part in all-gathers and reduce-scatters, for which NCCL records the part "
            "of one rank");
  add_examples(command, {"trainyard import nsys report.sqlite --step-range step -o nsys_step.csv",
                         "trainyard import nsys report.sqlite -o nsys_whole.csv --host-gaps --json"});
  command.callback([options] { import_nsys(*options); });
}

}  // namespace trainyard
