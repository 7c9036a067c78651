#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"
#include "report/import_report.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "units/shell_word.hpp"
#include "workload/trace_csv.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainyard {
namespace {

struct KinetoCommandOptions {
  std::string file;
  std::string out;
  std::optional<std::string> step_range, batch;
  bool host_gaps = false, without_collectives = false, allow_truncated = false, json = false, force = false;
};

void import_kineto(const KinetoCommandOptions& options) {
  ImportOptions how{.step_range = options.step_range,
                    .batch = {},
                    .host_gaps = options.host_gaps,
                    .collectives = !options.without_collectives};
  if (options.batch) how.batch = whole_number("--batch", *options.batch, 1, 10'000'000);
  check_out_file(options.out, options.force);
  const Profile profile = read_kineto(options.file, {.allow_truncated = options.allow_truncated});
  const ProfileWork work = join_launches(profile, how.step_range);
  const ImportedTrace imported = trace_of(profile, work, how);
  for (const std::string& warning : imported.warnings) print_message(fmt::format("warning: {}", warning));
  write_out_file(options.out, write_trace(imported.trace), options.force);
  if (options.json) {
    print_result(json_text(import_json(profile, work, imported)));
    return;
  }
  print_result(import_text(profile, work, imported, print_style()));
  print_message(fmt::format("wrote {0}: {1} ops\nnext:  trainyard run --platform dgx_a100 --set trace={2}",
                            options.out, imported.trace.ops.size(), shell_word(options.out)));
}

void add_kineto(CLI::App& import) {
  auto options = std::make_shared<KinetoCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "kineto", "convert a JSON file of torch.profiler (one rank) into a trace of its training step");
  command.add_option("file", options->file, "the profile, plain or compressed by gzip")
      ->required()
      ->type_name("FILE");
  command.add_option("-o,--output", options->out, "write the trace to this file")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--step-range", options->step_range,
                  "name of the ranges that are steps, if not ProfilerStep#N")
      ->type_name("NAME");
  command.add_option("--batch", options->batch, "samples of a rank and step, where shapes do not say it")
      ->type_name("N");
  command.add_flag("--host-gaps", options->host_gaps, "keep the times in which the GPU waited for its host");
  command.add_flag("--without-collectives", options->without_collectives,
                   "leave out collectives: the stack makes buckets of the gradients");
  command.add_flag("--allow-truncated", options->allow_truncated,
                   "use the whole steps of a file that is cut off");
  command.add_flag("--json", options->json, "print the account as JSON");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import kineto worker0.pt.trace.json -o step.csv",
                         "trainyard import kineto worker0.pt.trace.json -o whole.csv --host-gaps --json"});
  command.callback([options] { import_kineto(*options); });
}

}  // namespace

void add_import(CLI::App& program) {
  CLI::App& command =
      *program.add_subcommand("import", "read what another tool recorded: a trace, or measurements");
  command.require_subcommand(1);
  add_examples(command,
               {"trainyard import kineto worker0.pt.trace.json -o a.csv", "trainyard import kineto --help"});
  add_kineto(command);
  add_import_nccl_tests(command);
  add_import_chakra(command);
  add_import_astra_sim(command);
}

}  // namespace trainyard
