#include "convert/profile_output.hpp"

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "convert/import_report.hpp"
#include "convert/platform_of_gpu.hpp"
#include "document/json_text.hpp"
#include "imports/checked_trace.hpp"
#include "imports/group_layout.hpp"
#include "imports/profile_groups.hpp"
#include "interchange/known_gpus.hpp"
#include "io/out_files.hpp"
#include "strategy/batch_norm_buffers.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// Whether the job of a profile sums gradients but broadcasts no buffers, although it has batch norms.
bool reduces_without_broadcast(const Trace& trace) {
  bool has_reduction = false;
  for (const Op& op : trace.ops) {
    for (const OpCommunication& one : op.communications) {
      if (one.operation == Operation::broadcast) return false;
      has_reduction = has_reduction || reduces(one.operation);
    }
  }
  return has_reduction && !batch_norm_channels(trace).empty();
}

}  // namespace

void add_profile_trace_options(CLI::App& command, ProfileTraceOptions& options) {
  command.add_option("-o,--output", options.out, "write the trace to this file")->type_name("FILE");
  add_value(command, "--batch", options.batch, "N",
            "samples of a rank and micro-batch, where shapes do not say it");
  command.add_flag("--host-gaps", options.host_gaps,
                   "keep the times in which the GPU waited for its host, and copies from and to it");
  command.add_flag("--without-collectives", options.without_collectives,
                   "leave out collectives: the stack makes buckets of the gradients");
  add_page_options(command, options.page, "print the account as JSON");
}

ImportOptions import_options(const ProfileTraceOptions& options,
                             const std::optional<std::string>& step_range) {
  check_page_options(options.page);
  ImportOptions how{.step_range = step_range,
                    .batch = {},
                    .host_gaps = options.host_gaps,
                    .collectives = !options.without_collectives};
  if (options.batch) how.batch = whole_number("--batch", *options.batch, 1, 10'000'000);
  return how;
}

void write_profile_trace(const Profile& profile, const ImportedTrace& imported,
                         const ProfileTraceOptions& options) {
  for (const std::string& warning : imported.warnings) print_message(fmt::format("warning: {}", warning));
  Trace trace = imported.trace;
  // Where its durations were measured: a replay elsewhere says so.
  if (std::ranges::any_of(trace.ops, [](const Op& op) { return op.duration.has_value(); })) {
    const KnownGpu* const gpu = profile.gpu.empty() ? nullptr : known_gpu(profile.gpu, {});
    trace.gpu = gpu == nullptr || gpu->profile.empty() ? profile.gpu : std::string(gpu->profile);
  }
  write_out_file(options.out, checked_trace_text(profile.file, trace), options.page.force);
}

Overrides replay_settings(const ImportedTrace& imported) {
  Overrides settings;
  if (imported.accumulation > 1) settings.emplace_back("accumulation", std::to_string(imported.accumulation));
  if (imported.reduces_each) settings.emplace_back("stack.reduce_each_micro_batch", "true");
  if (reduces_without_broadcast(imported.trace)) settings.emplace_back("stack.broadcast_buffers", "false");
  if (imported.layout) {
    for (auto& setting : layout_settings(*imported.layout)) settings.push_back(std::move(setting));
  }
  return settings;
}

void print_next_command(const Profile& profile, const ImportedTrace& imported, const std::string& file) {
  const std::string platform = platform_of_gpu(profile.gpu);
  Overrides job = job_of(ranks_of(profile), gpus_on_node(platform));
  for (auto& setting : replay_settings(imported)) job.push_back(std::move(setting));
  const std::string settings = as_options(job);
  const std::string text =
      fmt::format("trainyard run --platform {} --set trace={}{}{}", platform.empty() ? "PLATFORM" : platform,
                  shell_word(file), settings.empty() ? "" : " ", settings);
  print_message(
      fmt::format("wrote {}: {}\nnext:  {}", file, plural(std::ssize(imported.trace.ops), "op"), text));
}

void finish_import(const Profile& profile, const ProfileWork& work, const ImportedTrace& imported,
                   const ProfileTraceOptions& options, const doc::Document& page,
                   const nlohmann::ordered_json& extra, const std::string& note) {
  write_profile_trace(profile, imported, options);
  const std::string text = printed_page(options.page, page);
  if (options.page.json) {
    auto json = import_json(profile, work, imported);
    json.update(extra);
    print_result(json_text(json));
    return;
  }
  print_result(text);
  if (!note.empty()) print_message(note);
  print_next_command(profile, imported, options.out);
}

}  // namespace trainyard
