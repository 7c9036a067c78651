#include "run/energy.hpp"

#include "units/ids.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace trainyard {

namespace {

/// Adds a task's time on the compute stream.
void add_busy(const Compute& task, const Trace& trace, BusyTimes& times) {
  const OpKind kind = task.op >= 0 ? trace.ops[at(task.op)].kind : OpKind::elementwise;
  if (kind == OpKind::host) return;  // the GPU waits
  (is_matrix(kind) ? times.matrix : times.vector) += task.duration;
}

void add_busy(const Task& task, const Trace& trace, std::span<const Segment> segments, BusyTimes& times) {
  if (const auto* compute = std::get_if<Compute>(&task)) add_busy(*compute, trace, times);
  if (const auto* run = std::get_if<RunSegment>(&task)) {
    for (const Task& inner : segments[at(run->segment)].program.of(Stream::compute))
      add_busy(inner, trace, segments, times);
  }
}

BusyTimes busy_times(const Program& program, const Trace& trace, std::span<const Segment> segments) {
  BusyTimes busy;
  for (const Task& task : program.of(Stream::compute)) add_busy(task, trace, segments, busy);
  return busy;
}

Joules energy_of(const BusyTimes& busy, Seconds time, const StatePowers& powers) {
  const Seconds waiting = std::max(Seconds(), time - busy.matrix - busy.vector);  // rounding
  return powers.matrix * busy.matrix + powers.vector * busy.vector + powers.waiting * waiting;
}

double gpus_of(const Platform& platform) { return static_cast<double>(platform.gpus.size()); }

std::string_view provenance_text(Provenance provenance) {
  return provenance == Provenance::assumed ? " (assumed)" : "";
}

}  // namespace

std::optional<Sourced<Watts>> node_overhead(const Platform& platform, const GpuProfile& gpu) {
  if (platform.power.overhead) return platform.power.overhead;
  if (!platform.power.max || gpu.tdp.value <= Watts()) return std::nullopt;
  const Watts rest = platform.power.max->value - gpus_of(platform) * gpu.tdp.value;
  if (rest < Watts()) return std::nullopt;
  return Sourced<Watts>{rest, Provenance::assumed, "maximum power of the node minus the TDP of its GPUs"};
}

BusyTimes busy_times(const Task& task, const Trace& trace, std::span<const Segment> segments) {
  BusyTimes times;
  add_busy(task, trace, segments, times);
  return times;
}

StatePowers memory_powers(const GpuProfile& gpu) {
  if (!gpu.memory_power) return {};
  const Watts active = gpu.memory_power->active.value;
  return {.waiting = gpu.memory_power->idle.value, .vector = active, .matrix = active};
}

StatePowers state_powers(const GpuProfile& gpu) {
  const GpuPower& power = *gpu.power;
  const StatePowers memory = memory_powers(gpu);
  return {.waiting = power.idle.value * gpu.tdp.value + memory.waiting,
          .vector = power.vector.value * gpu.tdp.value + memory.vector,
          .matrix = power.matrix.value * gpu.tdp.value + memory.matrix};
}

Joules gpu_energy(const BusyTimes& busy, Seconds time, const GpuProfile& gpu) {
  return energy_of(busy, time, state_powers(gpu));
}

Joules gpu_energy(const Program& program, const Trace& trace, Seconds step, const GpuProfile& gpu,
                  std::span<const Segment> segments) {
  return gpu_energy(busy_times(program, trace, segments), step, gpu);
}

Watts computing_power(std::span<const OpRow> ops, const StatePowers& powers) {
  Seconds matrix;
  Seconds host;
  Seconds all;
  for (const OpRow& op : ops) {
    all += op.duration;
    if (is_matrix(op.kind)) matrix += op.duration;
    if (op.kind == OpKind::host) host += op.duration;
  }
  const double share = all > Seconds() ? matrix / all : 0;
  const double idle = all > Seconds() ? host / all : 0;
  return share * powers.matrix + (1 - share - idle) * powers.vector + idle * powers.waiting;
}

Joules energy_in_states(const TaskGraph& graph, std::span<const RankClass> classes, Seconds step,
                        const StatePowers& powers) {
  Joules sum;
  for (const RankClass& one : classes) {
    std::map<int, double> ranks_of_program;
    int last = -1;
    double* count = nullptr;
    for (const Rank rank : one.ranks) {
      const int program = graph.program_of_rank[at(index(rank))];
      if (program != last) count = &ranks_of_program[program];
      last = program;
      ++*count;
    }
    for (const auto& [program, ranks] : ranks_of_program)
      sum +=
          ranks * energy_of(busy_times(graph.programs[at(program)], one.trace, graph.segments), step, powers);
  }
  return sum;
}

Joules step_energy(const TaskGraph& graph, std::span<const RankClass> classes, Seconds step,
                   const GpuProfile& gpu, int nodes, Watts overhead_per_node) {
  return static_cast<double>(nodes) * overhead_per_node * step +
         energy_in_states(graph, classes, step, state_powers(gpu));
}

std::optional<std::string> energy_unknown(const Platform& platform, const GpuProfile& gpu,
                                          const Trace& trace) {
  if (std::ranges::find(trace.ops, OpKind::measured, &Op::kind) != trace.ops.end()) {
    return "the trace has ops of unknown power: only their duration is known";
  }
  if (gpu.tdp.value <= Watts()) return gpu.name + " does not state its thermal design power (tdp)";
  if (!gpu.power) return gpu.name + " states no power per state (power)";
  if (node_overhead(platform, gpu)) return std::nullopt;
  if (platform.power.max) {
    return platform.name + " states a maximum power (node.power.max) below the TDP of its GPUs";
  }
  return platform.name + " does not state the power of a node without its GPUs (node.power)";
}

std::string energy_note(const Platform& platform, const GpuProfile& gpu) {
  const GpuPower& power = *gpu.power;
  const Sourced<Watts> overhead = *node_overhead(platform, gpu);
  const std::string_view assumed = provenance_text(overhead.provenance);
  const std::string basis = platform.power.overhead ? std::string(assumed)
                                                    : fmt::format(" (assumed: {} maximum minus {})",
                                                                  human(platform.power.max->value),
                                                                  plural(std::ssize(platform.gpus), "GPU"));
  return fmt::format(
      "energy: a GPU draws {:.0f} % of its {} in matrix work, {:.0f} % in other ops and {:.0f} % while it "
      "waits{}; {} per node besides GPUs{}",
      100 * power.matrix.value, human(gpu.tdp.value), 100 * power.vector.value, 100 * power.idle.value,
      provenance_text(power.matrix.provenance), human(overhead.value), basis);
}

}  // namespace trainyard
