#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/recording.hpp"
#include "convert/commands.hpp"
#include "convert/import_report.hpp"
#include "convert/kineto_input.hpp"
#include "convert/profile_output.hpp"
#include "document/document.hpp"
#include "document/writers.hpp"
#include "imports/joined_ranks.hpp"
#include "imports/kernel_recordings.hpp"
#include "imports/profile_trace.hpp"
#include "interchange/known_gpus.hpp"
#include "io/out_files.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_printed_ranks = 16;

std::string number_text(double number) {
  return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}", number);
}

std::string clocks_text(const JoinedRanks& joined) {
  if (joined.clocks == 1) return "one clock";
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max(largest, std::abs(one.shift));
  return fmt::format("{} clocks, moved by up to {} so that collectives end together (within {})",
                     joined.clocks, estimate(from_ns(largest)), estimate(from_ns(joined.alignment_error)));
}

doc::Value time_value(std::int64_t ns, std::int64_t largest) {
  return {human_like(from_ns(ns), from_ns(largest)), from_ns(ns)};
}

/// Means per rank and step.
doc::Table operations_table(const JoinedRanks& joined) {
  doc::Table table{.key = "operations",
                   .title = "collectives of a rank and step",
                   .columns = {doc::texts("per rank and step", "operation"), doc::numbers("number", "count"),
                               doc::numbers("bytes", "bytes"), doc::numbers("kernels", "kernels_s"),
                               doc::numbers("transfer", "transfer_s"), doc::numbers("waiting", "waiting_s")},
                   .shape = {}};
  std::int64_t largest = 0;
  for (const JoinedOperation& one : joined.operations) largest = std::max(largest, one.kernels);
  for (const JoinedOperation& one : joined.operations) {
    const std::string bytes = grouped(static_cast<std::int64_t>(std::min(one.bytes, 9e18)));
    table.rows.push_back({.cells = {one.what, doc::Value(number_text(one.count), one.count),
                                    one.bytes > 0 ? doc::Value(bytes, one.bytes) : doc::Value("unknown"),
                                    time_value(one.kernels, largest), time_value(one.transfer, largest),
                                    time_value(one.waiting, largest)}});
  }
  return table;
}

/// The terminal shows the first 16 ranks and the traced one.
doc::Table ranks_table(const JoinedRanks& joined, std::size_t traced) {
  doc::Table table{.key = "ranks",
                   .title = "computing and collectives of the ranks",
                   .columns = {doc::texts("rank"),
                               doc::texts("file", "", doc::Shown::pages),
                               doc::numbers("computing", "computing_s"),
                               doc::numbers("collectives", "collective_kernels_s"),
                               doc::numbers("waiting there", "waiting_s"),
                               doc::numbers("shift of its clock", "clock_shift_s", 0, doc::Shown::pages),
                               {}},
                   .shape = {}};
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max({largest, one.computing, one.kernels});
  for (std::size_t i = 0; i < joined.ranks.size(); ++i) {
    const JoinedRank& one = joined.ranks[i];
    table.rows.push_back(
        {.cells = {doc::Value(fmt::format("{}", one.rank), one.rank), one.file,
                   time_value(one.computing, largest), time_value(one.kernels, largest),
                   time_value(one.waiting, largest), time_value(one.shift, largest),
                   i == traced ? "the trace" : ""},
         .shown = i < most_printed_ranks || i == traced ? doc::Shown::everywhere : doc::Shown::pages});
  }
  return table;
}

/// Adds to the page how long ranks waited inside of collectives. `traced`: index of the rank whose step
/// became the trace.
void add_ranks(doc::Document& page, const JoinedRanks& joined, std::size_t traced) {
  page.account("job", "ranks")
      .fact(
          "ranks",
          fmt::format("{}{} on {}; the trace is of rank {}{}", joined.ranks.size(),
                      joined.world ? fmt::format(" of {}", *joined.world) : "", clocks_text(joined),
                      joined.ranks[traced].rank,
                      traced == joined.slowest() ? ", which computes longest: the others wait for it" : ""));
  doc::Section& operations = page.account("operations", "collectives of the ranks");
  if (joined.operations.empty())
    operations.add(doc::Sentence{.text = "no collectives", .indent = 0});
  else
    operations.add(operations_table(joined));
  doc::Section& ranks = page.account("ranks", "work of the ranks");
  ranks.add(ranks_table(joined, traced));
  std::string end;
  if (joined.ranks.size() > most_printed_ranks)
    end = fmt::format("all {} ranks: --json\n", joined.ranks.size());
  ranks.add(doc::Listing{.key = "end", .text = std::move(end), .shown = doc::Shown::text});
  for (const std::string& note : joined.notes) ranks.fact("note", note);
}

/// The JSON of it, times in seconds.
Json rank_json(const JoinedRanks& joined, std::size_t traced) {
  return {{"world_size", joined.world ? Json(*joined.world) : Json()},
          {"traced_rank", joined.ranks[traced].rank},
          {"steps", joined.steps},
          {"clocks", joined.clocks},
          {"alignment_error_s", joined.clocks > 1 ? Json(from_ns(joined.alignment_error).si()) : Json()},
          {"operations", doc::rows_json(operations_table(joined))},
          {"ranks", doc::rows_json(ranks_table(joined, traced))},
          {"notes", joined.notes}};
}

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
  doc::Document page = import_document(profile, work, imported);
  Json extra = Json::object();
  if (job.ranks) {
    add_ranks(page, *job.ranks, job.place);
    extra["job"] = rank_json(*job.ranks, job.place);
  }
  finish_import(profile, work, imported, options.trace, page, extra);
}

}  // namespace

void add_import_kineto(CLI::App& import) {
  auto options = std::make_shared<KinetoCommandOptions>();
  CLI::App& command = *import.add_subcommand(
      "kineto", "convert JSON files of torch.profiler, one for each rank, into a trace of a training step");
  add_kineto_input(command, options->input);
  add_profile_trace_options(command, options->trace);
  add_value(command, "--recordings", options->recordings, "FILE",
            "write the kernels with known shapes to this file, for 'calibrate gpu'");
  add_examples(command, {"trainyard import kineto worker0.pt.trace.json -o step.csv",
                         "trainyard import kineto rank0.json rank1.json -o job.csv",
                         "trainyard import kineto worker0.pt.trace.json -o whole.csv --host-gaps --json"});
  command.callback([options] { import_kineto(*options); });
}

}  // namespace trainyard
