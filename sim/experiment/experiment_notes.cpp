#include "experiment/experiment_notes.hpp"

#include "strategy/batch_norm_buffers.hpp"
#include "strategy/micro_batches.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace trainyard {

std::vector<std::string> replay_notes(const Trace& trace, const Stack& stack, int ranks) {
  const auto has_duration = [](const Op& op) { return op.duration && op.kind != OpKind::host; };
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
    notes.emplace_back(
        "durations come from the trace: the GPU profile, optimizer, compute_scale and op_overhead do not "
        "change them (leave duration_s empty to use the profile)");
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

std::string staging_note(const Stack& stack) {
  return fmt::format(
      "GPUs of a node exchange all data through host memory (intra_node of {}): links between them and "
      "peer-to-peer access are not used",
      stack.name);
}

std::vector<std::string> profile_notes(const ResolvedExperiment& resolved) {
  if (!resolved.gpu.like) return {};
  return {fmt::format(
      "figures of the GPU that {} does not state are assumed, scaled from {}: all kernel times rest on it "
      "(key like)",
      resolved.gpu.name, *resolved.gpu.like)};
}

std::vector<std::string> speed_notes(const ResolvedExperiment& resolved) {
  std::vector<std::string> notes;
  if (resolved.gpu.has_speed != 1) {
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

}  // namespace trainyard
