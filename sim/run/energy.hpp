#pragma once
// Energy of a step: the power of every GPU in each state, integrated over its timeline, plus the nodes' other
// power.

#include "compute/gpu_profile.hpp"
#include "platform/platform.hpp"
#include "run/step.hpp"
#include "schedule/task_graph.hpp"
#include "strategy/rank_class.hpp"

#include <optional>
#include <span>
#include <string>

namespace trainyard {

/// Power of a node besides its GPUs: the platform's figure, else its maximum minus the TDP of all its GPUs
/// (assumed: at that maximum the GPUs draw their TDP). Nothing if neither is known or the difference is
/// negative.
std::optional<Sourced<Watts>> node_overhead(const Platform& platform, const GpuProfile& gpu);

/// Time for which a GPU runs kernels, by its power state; otherwise it waits.
struct BusyTimes {
  Seconds matrix;
  Seconds vector;
};

/// Busy times of a task of the compute stream, running alone; a segment's are the sum of its kernels'. Zero
/// for a host op, or a task that is no work.
BusyTimes busy_times(const Task& task, const Trace& trace, std::span<const Segment> segments);

/// Power of one rank's GPU, or of its processor with the memory that belongs to it, in each state.
struct StatePowers {
  Watts waiting, vector, matrix;
};

/// All of it; requires `power` and a TDP. That of the memory modules alone is zero where no profile states
/// it.
StatePowers state_powers(const GpuProfile& gpu);
StatePowers memory_powers(const GpuProfile& gpu);

/// Energy of a GPU over `time`: matrix products and convolutions at power.matrix of the TDP, all other ops at
/// power.vector, the rest (waiting, with or without communication) at power.idle. The law is a model; its
/// fractions come from the profile, which must have `power` and a TDP.
Joules gpu_energy(const BusyTimes& busy, Seconds time, const GpuProfile& gpu);

/// Energy of one rank's GPU in a step of length `step`; `segments`: of the program's graph.
Joules gpu_energy(const Program& program, const Trace& trace, Seconds step, const GpuProfile& gpu,
                  std::span<const Segment> segments = {});

/// Average power of a rank that runs these ops one after the other, by its powers in each state.
Watts computing_power(std::span<const OpRow> ops, const StatePowers& powers);

/// Energy of a step, by these powers of a rank in each state.
Joules energy_in_states(const TaskGraph& graph, std::span<const RankClass> classes, Seconds step,
                        const StatePowers& powers);

/// Energy of a step for the ranks of all classes and `nodes` nodes. A GPU without a rank is not counted.
Joules step_energy(const TaskGraph& graph, std::span<const RankClass> classes, Seconds step,
                   const GpuProfile& gpu, int nodes, Watts overhead_per_node);

/// Why the energy is unknown, or nothing if it is known.
std::optional<std::string> energy_unknown(const Platform& platform, const GpuProfile& gpu,
                                          const Trace& trace);

/// One sentence with the figures on which the energy is based.
std::string energy_note(const Platform& platform, const GpuProfile& gpu);

}  // namespace trainyard
