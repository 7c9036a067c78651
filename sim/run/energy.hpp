#pragma once
// Energy of a step: the power of every GPU in each state, integrated over its timeline, and what the boxes
// draw besides.

#include "compute/gpu_profile.hpp"
#include "platform/platform.hpp"
#include "run/step.hpp"
#include "schedule/task_graph.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <span>
#include <string>

namespace trainyard {

/// What a node draws besides its GPUs: the platform's figure, else its maximum less the TDP of all its GPUs
/// (assumed: at that maximum the GPUs draw their TDP). Nothing if neither is known or the difference is
/// negative.
std::optional<Sourced<Watts>> node_overhead(const Platform& platform, const GpuProfile& gpu);

/// Energy of the GPU of one rank in a step of length `step`: matrix products and convolutions at
/// power.matrix of the TDP, all other ops at power.vector, the rest of the step (waiting, with or without
/// communication) at power.idle. The law is a model, its fractions are the profile's. The profile has `power`
/// and a TDP.
Joules gpu_energy(const Program& program, const Trace& trace, Seconds step, const GpuProfile& gpu);

/// What a GPU draws on average while it runs these ops one after the other, by the same law.
Watts computing_power(std::span<const OpRow> ops, const GpuProfile& gpu);

/// Energy of a step of the first `ranks` ranks of the graph, those of the job, and `nodes` boxes. A GPU
/// without a rank is not counted.
Joules step_energy(const TaskGraph& graph, int ranks, const Trace& trace, Seconds step, const GpuProfile& gpu,
                   int nodes, Watts overhead_per_node);

/// Why no energy can be told, or nothing if it can.
std::optional<std::string> energy_unknown(const Platform& platform, const GpuProfile& gpu,
                                          const Trace& trace);

/// One sentence with the figures the energy rests on.
std::string energy_note(const Platform& platform, const GpuProfile& gpu);

}  // namespace trainyard
