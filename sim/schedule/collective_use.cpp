#include "schedule/collective_use.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// NCCL makes two channels of every ring of links, each a thread block: 2 with a single NIC, 16 on a box with
/// 8 of them (NVIDIA/nccl issue 689), 12 from a DGX-1V's 6 rings, 24 from a DGX A100's 12.
constexpr int blocks_of_ring = 2;

int blocks(const CollectiveLabel& label) {
  // The channels of switches that add belong to no ring: each is one block.
  return label.algorithm == Algorithm::nvls ? label.channels : blocks_of_ring * label.channels;
}

/// MPI and Gloo send and sum in one thread; none of a GPU's multiprocessors take part.
int cores_of_host_library(const GpuProfile& gpu) { return gpu.is_processor ? 1 : 0; }

/// Average over the ranks of a group of the bytes of a rank's input and of its result.
Bytes own_bytes(const Collective& collective) {
  switch (collective.operation) {
    case Operation::all_reduce:
    case Operation::all_to_all:
      break;
    case Operation::send_recv:
      return collective.one_way ? collective.size : 2 * collective.size;
    case Operation::gather:
    case Operation::scatter:
      return 2 * collective.size / collective.group_size;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::broadcast:
    case Operation::reduce:
      return collective.size + collective.size / collective.group_size;
  }
  return 2 * collective.size;
}

}  // namespace

Bytes memory_traffic(const Collective& collective, std::span<const Pattern> patterns) {
  Bytes sent;
  for (const CollectivePhase& phase : collective.phases)
    sent += bytes_sent(phase, patterns[at(phase.pattern)]);
  return 2 * (sent / (collective.groups * collective.group_size)) + own_bytes(collective);
}

std::vector<GpuUse> collective_uses(const StepPlan& plan, const GpuProfile& gpu,
                                    const CollectiveSoftware& library) {
  const TaskGraph& graph = plan.graph;
  std::vector<Bandwidth> rates;
  for (const Pattern& pattern : graph.patterns) rates.push_back(lockstep_rate(uses_of(pattern), graph.links));
  std::vector<GpuUse> uses;
  for (const Collective& collective : graph.collectives) {
    Seconds moving;
    for (const CollectivePhase& phase : collective.phases)
      moving += closed_form(phase, std::min(rates[at(phase.pattern)], phase.limit));
    GpuUse& use = uses.emplace_back();
    if (gpu.sms) {
      const int held = is_of_hosts(library.library) ? cores_of_host_library(gpu) : blocks(collective.label);
      use.sms = std::min(1.0, static_cast<double>(held) / gpu.sms->value);
    }
    if (moving > Seconds() && gpu.memory.bandwidth.value > Bandwidth()) {
      const Bytes most = gpu.memory.bandwidth.value * moving;
      use.memory = std::min(1.0, memory_traffic(collective, graph.patterns) / most);
    }
  }
  return uses;
}

}  // namespace trainyard
