#include "experiment/experiment_notes.hpp"

#include "config/same_gpu.hpp"
#include "experiment/input_copy.hpp"
#include "experiment/lowered_stack.hpp"
#include "experiment/node_host.hpp"
#include "experiment/slowest_gpu.hpp"
#include "experiment/usual_software.hpp"
#include "platform/host_launch.hpp"
#include "strategy/batch_norm_buffers.hpp"
#include "strategy/experts.hpp"
#include "strategy/micro_batches.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

/// What is assumed about the load of the experts; empty if there are none.
std::vector<std::string> routing_notes(const ResolvedExperiment& resolved) {
  if (!resolved.model) return {};
  std::string note = routing_note(
      resolved.model->layers,
      expert_setting(resolved.settings.parallelism.value_or(Parallelism{}), resolved.stack.dispatcher));
  if (note.empty()) return {};
  return {std::move(note)};
}

std::vector<std::string> input_copy_notes(const ResolvedExperiment& resolved) {
  if (is_replay(resolved.settings) || resolved.settings.parallelism) return {};
  const Seconds copies = input_copy_time(resolved, resolved.cluster->gpus_on_node.front());
  if (copies <= Seconds()) return {};
  return {input_copy_note(resolved, copies)};
}

/// Whether a trace fixes the op's time on the GPU.
bool has_duration(const Op& op) { return op.duration && op.kind != OpKind::host; }

/// Whether the traces leave nothing to the GPU's profile, neither a kernel nor the scale of one.
bool are_all_timed(const ResolvedExperiment& resolved) {
  return is_replay(resolved.settings) && !resolved.scaled_from &&
         std::ranges::all_of(resolved.classes, [](const RankClass& one) {
           return std::ranges::all_of(
               one.trace.ops, [](const Op& op) { return op.kind == OpKind::host || has_duration(op); });
         });
}

/// On a machine with another GPU the times of a trace mean little unless they are scaled.
std::string durations_note(const Trace& trace, const GpuProfile& gpu, bool is_scaled) {
  if (is_scaled)
    return "durations come from the trace, scaled by the GPU profiles: the optimizer, compute_scale and "
           "op_overhead do not change them";
  if (trace.gpu.empty() || config::is_same_gpu(trace.gpu, gpu.name))
    return "durations come from the trace: the GPU profile, optimizer, compute_scale and op_overhead do not "
           "change them (leave duration_s empty to use the profile)";
  return fmt::format(
      "warning: the trace was recorded on {}, this machine has {}: kernels take as long as on {}, whatever "
      "the GPU profile says (trace_times: scaled scales them, empty cells in duration_s compute them)",
      trace.gpu, gpu.name, trace.gpu);
}

std::vector<std::string> replay_notes(const Trace& trace, const ResolvedExperiment& resolved) {
  const Stack& stack = resolved.stack;
  const int ranks = resolved.cluster->ranks();
  const auto communicates = [](const Op& op) {
    return std::ranges::any_of(op.communications, [](const auto& one) { return !one.message; });
  };
  const auto names_broadcast = [](const Op& op) {
    return std::ranges::find(op.communications, Operation::broadcast, &OpCommunication::operation) !=
           op.communications.end();
  };
  const auto has_gradients = [](const Op& op) { return !op.gradients.empty(); };
  std::vector<std::string> notes;
  if (std::ranges::any_of(trace.ops, has_duration)) {
    notes.push_back(durations_note(trace, resolved.gpu, resolved.scaled_from.has_value()));
  } else {
    notes.emplace_back("ops come from the trace: the optimizer does not change them");
  }
  const auto is_op = [](const GradientPass& pass) { return pass.ranks == PassRanks::all; };
  if (stack.fused_elementwise || !stack.layer_work.empty() || stack.step_overhead.value > Seconds() ||
      stack.scalar_rings || stack.step_overhead_per_gpu.value > Seconds() ||
      stack.micro_batch_overhead.value > Seconds() || std::ranges::any_of(stack.gradient_work, is_op)) {
    notes.emplace_back(
        "other work of the stack comes from the trace too: fused_elementwise, layer_work, host time after a "
        "step and gradient_work with ranks: all do not change it");
  }
  if (stack.xla)
    notes.emplace_back(
        "XLA fuses nothing in a trace, which should be one recorded with XLA: of its changes only overlap "
        "and cycle_time hold (with_xla)");
  if (ranks == 1) return notes;
  if (std::ranges::any_of(trace.ops, communicates)) {
    notes.emplace_back(
        "collectives come from the trace: the stack's buckets, gradient type and overlap are not used (leave "
        "both communication columns empty to use the stack)");
    if (stack.broadcast_buffers && !batch_norm_channels(trace).empty() &&
        std::ranges::none_of(trace.ops, names_broadcast))
      notes.emplace_back(
          "the stack's broadcasts of batch norms' buffers are added (stack.broadcast_buffers=false: none)");
  } else if (std::ranges::none_of(trace.ops, has_gradients)) {
    notes.emplace_back(
        "the trace names neither gradients nor collectives, so its ranks exchange nothing "
        "(fill in parameter_bytes)");
  }
  return notes;
}

/// Which keys the replayed traces determine.
std::vector<std::string> notes_on_replays(const ResolvedExperiment& resolved) {
  std::vector<std::string> notes;
  if (!is_replay(resolved.settings)) return notes;
  for (const RankClass& one : resolved.classes) {
    for (std::string& note : replay_notes(one.trace, resolved)) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
    }
  }
  return notes;
}

std::string staging_note(const Stack& stack) {
  return fmt::format(
      "GPUs of a node exchange all data through host memory (intra_node of {}): links between them and "
      "peer-to-peer access are not used",
      stack.name);
}

/// The profile from which the figures of a short GPU profile are scaled.
std::vector<std::string> profile_notes(const ResolvedExperiment& resolved) {
  if (!resolved.gpu.like || are_all_timed(resolved)) return {};
  return {fmt::format(
      "figures of the GPU that {} does not state are assumed, scaled from {}: all kernel times rest on it "
      "(key like)",
      resolved.gpu.name, *resolved.gpu.like)};
}

/// Hypothetical hardware: speed factors other than 1, other numbers of lanes.
std::vector<std::string> speed_notes(const ResolvedExperiment& resolved) {
  std::vector<std::string> notes;
  if (resolved.gpu.has_speed != 1 && !are_all_timed(resolved)) {
    notes.push_back(fmt::format("what-if: every kernel is {} times as fast as on {} (gpu.speed)",
                                shortest(resolved.gpu.has_speed), resolved.gpu.name));
  }
  const LinkSpeeds& speeds = resolved.platform.speeds;
  for (const auto& [key, speed] : {std::pair("nvlink", speeds.nvlink), std::pair("pcie", speeds.pcie),
                                   std::pair("sockets", speeds.sockets)}) {
    if (speed == 1) continue;
    notes.push_back(
        fmt::format("what-if: links inside a node have {} times the bandwidth stated in {} (node.speed.{})",
                    shortest(speed), resolved.platform.name, key));
  }
  if (const std::optional<int> lanes = resolved.platform.lanes.nvlink) {
    notes.push_back(
        fmt::format("what-if: every NVLink has {}, in place of those stated in {} (node.lanes.nvlink)",
                    plural(*lanes, "lane"), resolved.platform.name));
  }
  return notes;
}

/// Kernels of a step that cannot overlap with its collectives.
std::vector<std::string> persistent_notes(const ResolvedExperiment& resolved) {
  if (resolved.cluster->ranks() == 1 || !resolved.stack.overlap || !resolved.stack.overlap_slows) return {};
  std::vector<std::string> groups;
  for (const OpGroup group : all_op_groups) {
    const auto is_one = [&](const Op& op) {
      return group_of(op.kind) == group &&
             is_persistent(resolved.stack.persistent_kernels, op.kind, resolved.settings.precision);
    };
    if (std::ranges::any_of(resolved.classes.front().trace.ops, is_one))
      groups.emplace_back(config::name_of(group));
  }
  if (groups.empty()) return {};
  return {fmt::format(
      "kernels of {} wait while a collective runs, and are then shown as longer (persistent_kernels)",
      fmt::join(groups, " and "))};
}

/// Launches of a lowering and the host's time for them.
std::vector<std::string> launch_notes(const ResolvedExperiment& resolved) {
  if (!resolved.lowering) return {};
  const RankClass& one = resolved.classes.front();
  const StepLaunches launches = launches_of_step(resolved, one);
  const Sourced<double> factor = host_launch(resolved.platform);
  std::vector<std::string> notes{fmt::format(
      "{} launched in a step{}, as by {}; the host needs {} for them (node.host.launch: {:.3g}{})",
      plural(launches.kernels, "kernel"),
      resolved.classes.size() > 1 ? fmt::format(" by a rank of {}", one.name) : "", resolved.lowering->name,
      human(launches.host), factor.value,
      factor.provenance == Provenance::assumed ? ", assumed, " + factor.source : "")};
  std::ranges::copy(shared_host_notes(resolved), std::back_inserter(notes));
  return notes;
}

/// The short kernels of images wait for eager PyTorch's host on GPUs of today, for twice as long as they take
/// and more; stacks that are fitted to older software have no host.
std::vector<std::string> missing_host_notes(const ResolvedExperiment& resolved) {
  const bool has_images = resolved.model && !resolved.model->sequence_length;
  if (resolved.lowering || !has_images || resolved.platform.ranks_on_processors ||
      resolved.stack.framework != "pytorch" || !is_gpu_of_today(resolved.gpu))
    return {};
  return {fmt::format(
      "the host is not modelled: {} launches no kernel, and a step of images may wait for eager PyTorch "
      "longer than its kernels take: compare stack: pytorch",
      resolved.stack.name)};
}

/// Whether slower GPUs need longer for the op: its time is computed here, or a trace says so.
bool depends_on_gpu(const Op& op) { return op.duration ? op.kernel > Seconds() : op.kind != OpKind::host; }

std::vector<std::string> slowest_gpu_notes(const ResolvedExperiment& resolved) {
  if (resolved.stack.slowest_gpu <= 1) return {};
  if (std::ranges::none_of(resolved.classes.front().trace.ops, depends_on_gpu)) return {};
  return {slowest_gpu_note(resolved)};
}

}  // namespace

std::vector<std::string> experiment_notes(const ResolvedExperiment& resolved, bool bypasses_gpu_links) {
  std::vector<std::string> all;
  const auto add = [&](std::vector<std::string> notes) {
    all.insert(all.end(), std::move_iterator(notes.begin()), std::move_iterator(notes.end()));
  };
  if (resolved.settings.hypothesis)
    all.push_back(
        fmt::format("hypothesis, chosen with published runs in view: {}", *resolved.settings.hypothesis));
  add(routing_notes(resolved));
  add(input_copy_notes(resolved));
  add(notes_on_replays(resolved));
  if (bypasses_gpu_links && resolved.cluster->gpus_on_node.front() > 1)
    all.push_back(staging_note(resolved.stack));
  if (const auto& note = resolved.library.note; note && resolved.cluster->ranks() > 1) all.push_back(*note);
  add(launch_notes(resolved));
  add(missing_host_notes(resolved));
  add(profile_notes(resolved));
  add(speed_notes(resolved));
  add(persistent_notes(resolved));
  add(slowest_gpu_notes(resolved));
  return all;
}

}  // namespace trainyard
