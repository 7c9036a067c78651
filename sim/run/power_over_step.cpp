#include "run/power_over_step.hpp"

#include "run/energy.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {

namespace {

bool has_power(const Run& run) {
  return run.energy && updates_of(run) == nullptr && !step_of(run).timeline.spans.empty();
}

/// Continues the last span if it has the same power.
void extend(std::vector<PowerSpan>& spans, Seconds end, Watts power) {
  constexpr Seconds rounding{1e-12};  // between the end of a kernel and the start of the next one
  const Seconds start = spans.empty() ? Seconds{} : spans.back().end;
  if (end - start <= rounding) return;
  if (!spans.empty() && spans.back().power == power)
    spans.back().end = end;
  else
    spans.push_back({start, end, power});
}

/// The rank's work on its compute stream, in the order of time.
std::vector<TaskSpan> computed_by(const Timeline& timeline, Rank rank) {
  std::vector<TaskSpan> found;
  for (const TaskSpan& span : timeline.spans) {
    if (span.rank == rank && span.stream == Stream::compute) found.push_back(span);
  }
  std::ranges::stable_sort(found, {}, &TaskSpan::start);
  return found;
}

Watts node_share(const Run& run) {
  const Watts all = run.nodes * node_overhead(run.experiment.platform, run.experiment.gpu)->value;
  return all / static_cast<double>(run.ranks);
}

/// The power of the GPU alone.
std::vector<PowerSpan> gpu_power(const Run& run, Rank rank) {
  const Step& step = step_of(run);
  const TaskGraph& graph = step.plan.graph;
  const GpuProfile& gpu = run.experiment.gpu;
  const std::vector<TaskSpan> computed = computed_by(step.timeline, rank);
  const int program = graph.program_of_rank[at(index(rank))];
  const std::vector<Task>& tasks = graph.programs[at(program)].of(Stream::compute);
  const Trace& trace = class_of(run.experiment, rank).trace;
  const Watts waiting = state_powers(gpu).waiting;
  std::vector<PowerSpan> spans;
  for (const TaskSpan& span : computed) {
    const BusyTimes busy = busy_times(tasks[at(span.task)], trace, graph.segments);
    extend(spans, span.start, waiting);
    if (span.end > span.start)
      extend(spans, span.end, gpu_energy(busy, span.end - span.start, gpu) / (span.end - span.start));
  }
  if (run.input && run.input->loading.kernels > Seconds{}) {
    extend(spans, step.timeline.makespan, waiting);
    extend(spans, step.timeline.makespan + run.input->loading.kernels, state_powers(gpu).vector);
  }
  extend(spans, step.time, waiting);
  return spans;
}

/// Adds a number of ranks' energy to slices of this length.
void add_energy(const std::vector<PowerSpan>& spans, double ranks, Seconds length,
                std::vector<Joules>& energies) {
  for (const PowerSpan& span : spans) {
    const auto last = energies.size() - 1;
    const auto slice_of = [&](Seconds date) {
      return std::min(last, static_cast<std::size_t>(std::max(0.0, date / length)));
    };
    for (std::size_t i = slice_of(span.start); i <= slice_of(span.end); ++i) {
      const Seconds from = std::max(span.start, static_cast<double>(i) * length);
      const Seconds to = i == last ? span.end : std::min(span.end, static_cast<double>(i + 1) * length);
      if (to > from) energies[i] += ranks * span.power * (to - from);
    }
  }
}

}  // namespace

std::vector<PowerSpan> power_over_step(const Run& run, Rank rank) {
  if (!has_power(run)) return {};
  const auto is_ours = [&](const TaskSpan& span) { return span.rank == rank; };
  if (std::ranges::none_of(step_of(run).timeline.spans, is_ours)) return {};
  std::vector<PowerSpan> spans = gpu_power(run, rank);
  for (PowerSpan& span : spans) span.power += node_share(run);
  return spans;
}

std::vector<PowerSpan> power_of_job(const Run& run, int slices) {
  if (!has_power(run)) return {};
  const Step& step = step_of(run);
  std::map<std::pair<std::size_t, int>, std::vector<Rank>> alike;  // by class and program
  for (std::size_t i = 0; i < run.experiment.classes.size(); ++i) {
    for (const Rank rank : run.experiment.classes[i].ranks)
      alike[{i, step.plan.graph.program_of_rank[at(index(rank))]}].push_back(rank);
  }
  const Seconds length = step.time / static_cast<double>(slices);
  std::vector<Joules> energies(at(slices));
  for (const auto& [group, ranks] : alike) {
    const auto count = static_cast<double>(ranks.size());
    const std::vector<PowerSpan> spans = power_over_step(run, ranks.front());
    if (spans.empty()) return {};  // not recorded
    add_energy(spans, count, length, energies);
  }
  std::vector<PowerSpan> power;
  for (std::size_t i = 0; i < energies.size(); ++i) {
    power.push_back({.start = static_cast<double>(i) * length,
                     .end = static_cast<double>(i + 1) * length,
                     .power = energies[i] / length});
  }
  return power;
}

}  // namespace trainyard
