#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/recording.hpp"
#include "convert/commands.hpp"
#include "convert/import_report.hpp"
#include "convert/kineto_input.hpp"
#include "convert/profile_output.hpp"
#include "convert/rank_report.hpp"
#include "document/json_text.hpp"
#include "imports/joined_ranks.hpp"
#include "imports/kernel_recordings.hpp"
#include "imports/profile_trace.hpp"
#include "interchange/known_gpus.hpp"
#include "io/out_files.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct KinetoCommandOptions {
  KinetoInput input;
  ProfileTraceOptions trace;
  std::optional<std::string> recordings;
};

/// The kernels of the profile as a recording, and what is left out of it.
void write_recordings(const KinetoCommandOptions& options, const JoinedProfile& traced) {
  const KernelRecordings recordings = kernel_recordings(traced.profile, traced.work);
  const std::string text = recordings_text(recordings);
  (void)read_recording(*options.recordings, text);  // as calibrate gpu will
  write_out_file(*options.recordings, text, options.trace.page.force);
  std::string message = fmt::format("wrote {}: {}", *options.recordings,
                                    plural(static_cast<long long>(recordings.ops.size()), "kernel"));
  if (recordings.beside > 0)
    message += fmt::format("\nleft out: {} that overlap with a collective", plural(recordings.beside, "run"));
  if (recordings.unknown > 0)
    message += fmt::format("\nleft out: {} of matrix products and convolutions of unknown shape or type",
                           plural(recordings.unknown, "run"));
  const KnownGpu* const gpu = known_gpu(traced.profile.gpu, {});
  const std::string specification =
      gpu == nullptr || gpu->profile.empty() ? "GPU" : std::string(gpu->profile);
  print_message(fmt::format("{}\nnext:  trainyard calibrate gpu {} --name my_gpu --specification {}", message,
                            shell_word(*options.recordings), specification));
}

void import_kineto(const KinetoCommandOptions& options) {
  ImportOptions how = import_options(options.trace, options.input.step_range);
  if (options.trace.out.empty() && !options.recordings)
    throw CLI::ValidationError("--output", "is missing: -o FILE for the trace, or --recordings FILE");
  if (options.trace.out.empty()) {
    for (const auto& [name, is_given] :
         {std::pair("--json", options.trace.page.json), std::pair("--markdown", options.trace.page.markdown),
          std::pair("--html", options.trace.page.html.has_value()),
          std::pair("--batch", options.trace.batch.has_value()),
          std::pair("--host-gaps", options.trace.host_gaps),
          std::pair("--without-collectives", options.trace.without_collectives)}) {
      if (is_given) throw CLI::ValidationError(name, "belongs to the trace: add -o FILE");
    }
  }
  if (!options.trace.out.empty()) check_out_file(options.trace.out, options.trace.page.force);
  if (options.recordings) check_out_file(*options.recordings, options.trace.page.force);
  const JobProfiles job = read_job(options.input);
  const auto& [profile, work] = job.traced;
  if (options.recordings) write_recordings(options, job.traced);
  if (options.trace.out.empty()) return;
  if (job.ranks) how.groups_of_others = job.ranks->groups;
  const ImportedTrace imported = trace_of(profile, work, how);
  write_profile_trace(profile, imported, options.trace);
  doc::Document page = import_document(profile, work, imported);
  if (job.ranks) add_ranks(page, *job.ranks, job.place);
  const std::string text = printed_page(options.trace.page, page);
  if (options.trace.page.json) {
    auto json = import_json(profile, work, imported);
    if (job.ranks) json["job"] = rank_json(*job.ranks, job.place);
    print_result(json_text(json));
    return;
  }
  print_result(text);
  print_next_command(profile, imported, options.trace.out);
}

}  // namespace

void add_import_kineto(CLI::App& import) {
  auto options = std::make_shared<KinetoCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "kineto", "convert JSON files of torch.profiler, one for each rank, into a trace of a training step");
  add_kineto_input(command, options->input);
  add_profile_trace_options(command, options->trace);
  command
      .add_option("--recordings", options->recordings,
                  "write the kernels with known shapes to this file, for 'calibrate gpu'")
      ->type_name("FILE");
  add_examples(command, {"trainyard import kineto worker0.pt.trace.json -o step.csv",
                         "trainyard import kineto rank0.json rank1.json -o job.csv",
                         "trainyard import kineto worker0.pt.trace.json -o whole.csv --host-gaps --json"});
  command.callback([options] { import_kineto(*options); });
}

}  // namespace trainyard
