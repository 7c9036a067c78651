#include "convert/profile_output.hpp"

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "convert/platform_of_gpu.hpp"
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

}  // namespace trainyard
