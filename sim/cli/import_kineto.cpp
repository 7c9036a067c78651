#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/kineto_input.hpp"
#include "cli/profile_output.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/recording.hpp"
#include "imports/joined_ranks.hpp"
#include "imports/kernel_recordings.hpp"
#include "imports/profile_trace.hpp"
#include "interchange/known_gpus.hpp"
#include "report/import_report.hpp"
#include "report/json_text.hpp"
#include "report/out_files.hpp"
#include "report/rank_report.hpp"
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
  std::string out;
  std::optional<std::string> recordings, batch;
  bool host_gaps = false, without_collectives = false, json = false, force = false;
};

/// The kernels of the profile as a recording, and what is left out of it.
void write_recordings(const KinetoCommandOptions& options, const JoinedProfile& traced) {
  const KernelRecordings recordings = kernel_recordings(traced.profile, traced.work);
  const std::string text = recordings_text(recordings);
  (void)read_recording(*options.recordings, text);  // as calibrate gpu will
  write_out_file(*options.recordings, text, options.force);
  std::string message = fmt::format("wrote {}: {}", *options.recordings,
                                    plural(static_cast<long long>(recordings.ops.size()), "kernel"));
  if (recordings.beside > 0)
    message += fmt::format("\nleft out: {} beside a collective", plural(recordings.beside, "run"));
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
  ImportOptions how{.step_range = options.input.step_range,
                    .batch = {},
                    .host_gaps = options.host_gaps,
                    .collectives = !options.without_collectives};
  if (options.batch) how.batch = whole_number("--batch", *options.batch, 1, 10'000'000);
  if (options.out.empty() && !options.recordings)
    throw CLI::ValidationError("--output", "is missing: -o FILE for the trace, or --recordings FILE");
  if (options.out.empty()) {
    for (const auto& [name, is_given] :
         {std::pair("--json", options.json), std::pair("--batch", options.batch.has_value()),
          std::pair("--host-gaps", options.host_gaps),
          std::pair("--without-collectives", options.without_collectives)}) {
      if (is_given) throw CLI::ValidationError(name, "belongs to the trace: add -o FILE");
    }
  }
  if (!options.out.empty()) check_out_file(options.out, options.force);
  if (options.recordings) check_out_file(*options.recordings, options.force);
  const JobProfiles job = read_job(options.input);
  const auto& [profile, work] = job.traced;
  if (options.recordings) write_recordings(options, job.traced);
  if (options.out.empty()) return;
  const ImportedTrace imported = trace_of(profile, work, how);
  write_profile_trace(imported, {.file = options.out, .force = options.force});
  if (options.json) {
    auto json = import_json(profile, work, imported);
    if (job.ranks) json["job"] = rank_json(*job.ranks, job.place);
    print_result(json_text(json));
    return;
  }
  print_result(import_text(profile, work, imported, print_style()));
  if (job.ranks) print_result("\n" + rank_text(*job.ranks, job.place, print_style()));
  print_next_command(profile, imported, options.out);
}

}  // namespace

void add_import_kineto(CLI::App& import) {
  auto options = std::make_shared<KinetoCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "kineto", "convert JSON files of torch.profiler, one for each rank, into a trace of a training step");
  add_kineto_input(command, options->input);
  command.add_option("-o,--output", options->out, "write the trace to this file")->type_name("FILE");
  command
      .add_option("--recordings", options->recordings,
                  "write the kernels with known shapes to this file, for 'calibrate gpu'")
      ->type_name("FILE");
  command
      .add_option("--batch", options->batch, "samples of a rank and micro-batch, where shapes do not say it")
      ->type_name("N");
  command.add_flag("--host-gaps", options->host_gaps, "keep the times in which the GPU waited for its host");
  command.add_flag("--without-collectives", options->without_collectives,
                   "leave out collectives: the stack makes buckets of the gradients");
  command.add_flag("--json", options->json, "print the account as JSON");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import kineto worker0.pt.trace.json -o step.csv",
                         "trainyard import kineto rank0.json rank1.json -o job.csv",
                         "trainyard import kineto worker0.pt.trace.json -o whole.csv --host-gaps --json"});
  command.callback([options] { import_kineto(*options); });
}

}  // namespace trainyard
