#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/import_input.hpp"
#include "cli/profile_output.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/recording.hpp"
#include "imports/joined_ranks.hpp"
#include "imports/kernel_recordings.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"
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
  std::vector<std::string> files;
  std::string out;
  std::optional<std::string> recordings, step_range, batch, device, rank, ranks_per_node;
  bool host_gaps = false, without_collectives = false, allow_truncated = false, json = false, force = false;
};

/// A profile whose launches are joined with its work.
struct JoinedProfile {
  Profile profile;
  ProfileWork work;
};

/// The profiles of all ranks beside each other, and that of the rank whose step becomes the trace.
struct JobProfiles {
  JoinedProfile traced;
  std::optional<JoinedRanks> ranks;
  std::size_t place = 0;  ///< of the traced rank among them
};

JoinedProfile read_profile(const KinetoCommandOptions& options, const std::string& file) {
  KinetoOptions how{.allow_truncated = options.allow_truncated};
  if (options.device) how.device = whole_number("--device", *options.device, 0, 1023);
  Profile profile = read_as(
      file, {config::FileFormat::pytorch_profile, config::FileFormat::chrome_trace, config::FileFormat::json},
      [&] { return read_kineto(file, how); });
  ProfileWork work = join_launches(profile, options.step_range);
  return {std::move(profile), std::move(work)};
}

/// Reads the ranks one after the other; besides the one at hand only the one that may be traced stays in
/// memory.
JobProfiles read_ranks(const KinetoCommandOptions& options, const std::optional<int>& chosen,
                       const JoinOptions& how) {
  JobProfiles job;
  std::vector<RankProfile> ranks;
  std::int64_t longest = -1;
  int traced_rank = 0;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    JoinedProfile one = read_profile(options, options.files[i]);
    ranks.push_back(rank_profile_of(one.profile, one.work));
    const int rank = one.profile.rank.value_or(static_cast<int>(i));  // as join_ranks() numbers them
    const bool is_wanted = chosen ? rank == *chosen : ranks.back().computing > longest;
    if (!is_wanted) continue;
    longest = ranks.back().computing;
    job.traced = std::move(one);
    traced_rank = rank;
  }
  if (longest < 0)
    throw InputError(fmt::format("no profile is of rank {}", *chosen), "--rank names one of the files");
  job.ranks = join_ranks(std::move(ranks), how);
  for (std::size_t i = 0; i < job.ranks->ranks.size(); ++i) {
    if (job.ranks->ranks[i].rank == traced_rank) job.place = i;
  }
  return job;
}

JobProfiles read_job(const KinetoCommandOptions& options) {
  if (options.files.size() == 1) {
    for (const auto& [name, option] :
         {std::pair("--rank", &options.rank), std::pair("--ranks-per-node", &options.ranks_per_node)}) {
      if (*option) throw CLI::ValidationError(name, "needs the profiles of several ranks");
    }
    return {.traced = read_profile(options, options.files.front()), .ranks = {}};
  }
  std::optional<int> chosen;
  if (options.rank) chosen = whole_number("--rank", *options.rank, 0);
  JoinOptions how;
  if (options.ranks_per_node)
    how.ranks_per_node = whole_number("--ranks-per-node", *options.ranks_per_node, 1);
  return read_ranks(options, chosen, how);
}

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
  ImportOptions how{.step_range = options.step_range,
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
  const JobProfiles job = read_job(options);
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
  command.add_option("files", options->files, "the profiles, plain or compressed by gzip")
      ->required()
      ->type_name("FILE...");
  command.add_option("-o,--output", options->out, "write the trace to this file")->type_name("FILE");
  command
      .add_option("--recordings", options->recordings,
                  "write the kernels with known shapes to this file, for 'calibrate gpu'")
      ->type_name("FILE");
  command
      .add_option(
          "--rank", options->rank,
          "of several profiles, the rank whose step is the trace (default: that which computes longest)")
      ->type_name("N");
  command
      .add_option("--ranks-per-node", options->ranks_per_node,
                  "ranks that share a clock; clocks are aligned (default: by the hosts in the files' names, "
                  "else all)")
      ->type_name("N");
  command.add_option("--device", options->device, "the GPU, of a file with the work of several")
      ->type_name("N");
  command
      .add_option("--step-range", options->step_range,
                  "name of the ranges that are steps, if not ProfilerStep#N")
      ->type_name("NAME");
  command
      .add_option("--batch", options->batch, "samples of a rank and micro-batch, where shapes do not say it")
      ->type_name("N");
  command.add_flag("--host-gaps", options->host_gaps, "keep the times in which the GPU waited for its host");
  command.add_flag("--without-collectives", options->without_collectives,
                   "leave out collectives: the stack makes buckets of the gradients");
  command.add_flag("--allow-truncated", options->allow_truncated,
                   "use the whole steps of a file that is cut off");
  command.add_flag("--json", options->json, "print the account as JSON");
  command.add_flag("--force", options->force, "replace the file if it exists");
  add_examples(command, {"trainyard import kineto worker0.pt.trace.json -o step.csv",
                         "trainyard import kineto rank0.json rank1.json -o job.csv",
                         "trainyard import kineto worker0.pt.trace.json -o whole.csv --host-gaps --json"});
  command.callback([options] { import_kineto(*options); });
}

}  // namespace trainyard
