#include "experiment/node_host.hpp"

#include "collectives/library.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// The part of a forward launch that holds Python's global lock: all but the call of the kernel's operation,
/// during which the bindings release it. On the reference host a launch takes 36 us (modules and functions
/// included), the operation alone 12.2 us (mul; the lowering's host costs). A lower bound, because the
/// operation's own Python is in the 12.2 us. Source of the release: PyTorch
/// tools/autograd/gen_python_functions.py, gil_scoped_release.
constexpr double share_with_lock = 1 - 12.2 / 36;

bool has_one_process(const ResolvedExperiment& resolved) {
  return resolved.settings.sync.kind == SyncKind::dataparallel_gpu0;
}

int ranks_of_fullest_node(const ResolvedExperiment& resolved) {
  return std::ranges::max(resolved.cluster->gpus_on_node);
}

double in_turns(int threads, int cores) {
  return cores == 0 ? 1 : std::max(1.0, static_cast<double>(threads) / cores);
}

}  // namespace

int cores_of_node(const Platform& platform) {
  return platform.cores_per_cpu ? platform.cores_per_cpu->value * static_cast<int>(platform.cpus.size()) : 0;
}

int launching_threads(const ResolvedExperiment& resolved, int ranks, int nodes) {
  const bool has_network_threads = nodes > 1 && !is_of_hosts(resolved.stack.library);
  return has_network_threads ? 2 * ranks : ranks;
}

SharedHost shared_host(const ResolvedExperiment& resolved) {
  if (!resolved.lowering) return {};
  const int ranks = ranks_of_fullest_node(resolved);
  const int cores = cores_of_node(resolved.platform);
  const double turns = in_turns(launching_threads(resolved, ranks, resolved.cluster->nodes), cores);
  if (!has_one_process(resolved)) return {.forward = turns, .backward = turns, .rest = turns};
  return {.forward = std::max(turns, share_with_lock * ranks), .backward = turns, .rest = 1};
}

Seconds launching_load(const ResolvedExperiment& resolved, int ranks) {
  const int cores = cores_of_node(resolved.platform);
  if (!resolved.lowering || cores == 0) return {};
  const SharedHost shared = resolved.cluster ? shared_host(resolved) : SharedHost{};
  const int micro_batches = resolved.layout ? resolved.layout->micro_batches : 1;
  Seconds work;
  double all = 0;
  for (const RankClass& one : resolved.classes) {
    Seconds of_rank = one.trace.host.between_steps / shared.rest;
    for (std::size_t i = 0; i < one.trace.ops.size(); ++i)
      of_rank += runs_of(one, static_cast<int>(i), micro_batches) * time_alone(one.trace.ops[i], shared);
    const auto alike = static_cast<double>(one.ranks.size() * stages_of(one).size());
    work += alike * of_rank;
    all += alike;
  }
  return all > 0 ? (ranks / all) * work / cores : Seconds();
}

std::vector<std::string> shared_host_notes(const ResolvedExperiment& resolved) {
  const SharedHost shared = shared_host(resolved);
  std::vector<std::string> notes;
  if (shared.backward > 1) {
    const int threads = launching_threads(resolved, ranks_of_fullest_node(resolved), resolved.cluster->nodes);
    notes.push_back(fmt::format(
        "{} that launch kernels or drive the network share the {} of a node: launches take {:.3g} "
        "times as long",
        plural(threads, "thread"), plural(cores_of_node(resolved.platform), "core"), shared.backward));
  }
  if (has_one_process(resolved) && shared.forward > shared.backward) {
    notes.push_back(fmt::format(
        "one process launches the forward kernels of {}, under one Python lock for {:.0f} % of the "
        "time: launches take {:.3g} times as long (assumed; at most {} times)",
        plural(ranks_of_fullest_node(resolved), "GPU"), 100 * share_with_lock, shared.forward,
        ranks_of_fullest_node(resolved)));
  }
  return notes;
}

}  // namespace trainyard
