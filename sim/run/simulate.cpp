#include "run/simulate.hpp"

#include "engine/expected_events.hpp"
#include "engine/makespan.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/node_host.hpp"
#include "experiment/op_times.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/shared_network.hpp"
#include "platform/channels.hpp"
#include "run/checks.hpp"
#include "run/closed_steps.hpp"
#include "run/energy.hpp"
#include "run/layout_parts.hpp"
#include "run/learning.hpp"
#include "run/other_traffic.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/steady_launches.hpp"
#include "schedule/step_variants.hpp"
#include "schedule/trace_plan.hpp"
#include "strategy/stack_ops.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

[[noreturn]] void refuse_other_traffic() {
  throw InputError(
      "fidelity 'closed' computes each collective alone, without neighbours, background and events",
      "fidelity: flow, rounds or messages");
}

/// The step on the real network, shared with its other users.
Timeline run_on_shared_network(const ResolvedExperiment& resolved, const Cluster& cluster,
                               const StepPlan& plan, const EngineOptions& options) {
  if (!has_other_traffic(resolved)) return run(plan.graph, options);
  if (options.fidelity == Fidelity::closed) refuse_other_traffic();
  TaskGraph graph = plan.graph;
  add_other_traffic(resolved, cluster, graph);
  return run(graph, options);
}

/// Plans the step, replays it and checks its properties. Throws OutOfMemory before anything runs.
Step replayed_step(const ResolvedExperiment& resolved, StepPlan plan, Fidelity fidelity,
                   const SimulateOptions& options) {
  EngineOptions engine{
      .fidelity = fidelity, .fold = options.fold, .formulas = options.formulas, .recorded = {}};
  // One rank of each stage costs little, and without it a step with a layout could not be split into parts.
  if (options.timeline || has_bubbles(resolved)) engine.recorded = shown_ranks(resolved);
  if (options.recorded) {
    const std::vector<Rank> shown = engine.recorded;
    for (const Rank rank : options.recorded(plan.graph, fidelity)) {
      if (!std::ranges::binary_search(shown, rank)) engine.recorded.push_back(rank);
    }
  }
  Step step;
  step.lower_bound = closed_makespan(plan.graph, ideal(plan));
  step.timeline = run_on_shared_network(resolved, *resolved.network, plan, engine);
  require_none(violations(plan, step.timeline, step.lower_bound, has_other_traffic(resolved), fidelity));
  step.plan = std::move(plan);
  return step;
}

/// One rank's step does not include host times that occur only in jobs of several ranks.
bool has_one_rank(const Op& op) { return op.role != OpRole::ranks_overhead; }

/// Adds in the order of the stream, so that one rank's step and the sum of its kernels are equal to the last
/// bit.
template <class Wanted>
Seconds sum_of_ops(const ClassStep& one, const Trace& trace, Wanted is_wanted) {
  Seconds sum;
  for (std::size_t i = 0; i < one.ops.size(); ++i) {
    if (is_wanted(trace.ops[i])) sum += one.ops[i].runs * one.ops[i].duration;
  }
  return sum;
}

/// The step of one GPU alone: the mean one, not the slowest of the job.
Seconds one_mean_gpu(const ResolvedExperiment& resolved, std::span<const OpTime> times) {
  const RankClass& one = only_class(resolved);
  const int micro_batches = resolved.layout ? resolved.layout->micro_batches : 1;
  if (has_host(one.trace))
    return steady_launches_alone(one, times, micro_batches, shared_host(resolved)).step;
  Seconds sum;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (has_one_rank(one.trace.ops[i]))
      sum += runs_of(one, static_cast<int>(i), micro_batches) * (times[i].duration - times[i].slowest_gpu);
  }
  return sum;
}

/// The times of the class's first rank.
void add_times_of(const Trace& trace, Seconds launch_waits, const Timeline& timeline, ClassStep& one) {
  const RankSpan& rank = timeline.ranks[at(index(one.first))];
  one.compute = rank.compute;
  for (const OpRow& op : one.ops) {
    if (op.kind == OpKind::host) one.compute -= op.runs * op.duration;
  }
  const Seconds alone = sum_of_ops(one, trace, has_one_rank);
  const Seconds of_ranks = sum_of_ops(one, trace, [](const Op& op) { return !has_one_rank(op); });
  one.slowed = std::max(Seconds{}, rank.compute - alone - of_ranks);
  one.communication = rank.communication;
  if (has_host(trace)) one.launch_waits = launch_waits;
  one.exposed = timeline.makespan - rank.compute - one.launch_waits;
  constexpr double rounding = 1e-9;  // of sums in another order
  if (one.exposed <= rounding * timeline.makespan) one.exposed = {};
  one.end = rank.end;
}

/// If ranks wait for each other, a moment without a kernel may also be a bubble.
void set_exposed(const ResolvedExperiment& resolved, Step& step) {
  for (std::size_t i = 0; i < step.classes.size(); ++i) {
    Seconds exposed;
    const StepParts all = layout_parts(resolved, step, i);
    for (const PartTime& part : all.parts) {
      const bool is_exposed = part.part == StepPart::layers || part.part == StepPart::messages ||
                              part.part == StepPart::communication;
      if (is_exposed) exposed += part.time;
    }
    step.classes[i].exposed = exposed;
    step.classes[i].launch_waits = all.launch_waits;
  }
}

/// The time in which the first rank of a class waits for its host: of the timeline, or else of the rank
/// alone.
Seconds launch_waits(const ResolvedExperiment& resolved, const Step& step, std::size_t number) {
  const Trace& trace = resolved.classes[number].trace;
  if (!has_host(trace) || has_bubbles(resolved)) return {};  // set_exposed() has those of layouts
  if (step.timeline.spans.empty())
    return steady_launches(launched_ops(trace, step.plan.op_times[number]), trace.host).waits;
  return layout_parts(resolved, step, number).launch_waits;
}

void add_times(const ResolvedExperiment& resolved, const std::optional<DataLoading>& input, Step& step) {
  const InputSettings& settings = resolved.settings.input;
  const Seconds makespan = step.timeline.makespan;
  step.time = with_input(makespan, input, settings);
  step.lower_bound = with_input(step.lower_bound, input, settings);
  for (std::size_t i = 0; i < step.classes.size(); ++i)
    add_times_of(resolved.classes[i].trace, launch_waits(resolved, step, i), step.timeline, step.classes[i]);
  if (has_bubbles(resolved)) set_exposed(resolved, step);
  const Seconds without = closed_makespan(step.plan.graph, without_network(step.plan));
  step.network_gain = std::max(Seconds{}, step.time - with_input(without, input, settings));
}

std::vector<RankRow> rank_rows(const Cluster& cluster, const Timeline& timeline) {
  std::vector<RankRow> rows;
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    const RankSpan& span = timeline.ranks[at(rank)];
    rows.push_back({.rank = Rank{rank},
                    .node = cluster.node_of(Rank{rank}),
                    .gpu = cluster.platform.node[cluster.gpu_of(Rank{rank})].name,
                    .compute = span.compute,
                    .communication = span.communication,
                    .end = span.end});
  }
  return rows;
}

ComputeSourceShares shares_of(const ResolvedExperiment& resolved, const Step& step) {
  Seconds total;
  Seconds by_source[3];
  for (std::size_t i = 0; i < step.classes.size(); ++i) {
    const auto ranks = static_cast<double>(resolved.classes[i].ranks.size());
    for (const OpRow& op : step.classes[i].ops) {
      const Seconds time = step.classes.size() > 1 ? ranks * op.runs * op.duration : op.runs * op.duration;
      total += time;
      by_source[static_cast<int>(op.source)] += time;
    }
  }
  if (total <= Seconds{}) return {};
  return {.measured = by_source[static_cast<int>(ComputeSource::measured)] / total,
          .fitted = by_source[static_cast<int>(ComputeSource::fitted)] / total,
          .roofline = by_source[static_cast<int>(ComputeSource::roofline)] / total};
}

/// The whole model on one GPU, with the samples of all replicas that divide its layers, whatever memory that
/// takes; nothing where something else is divided, or a host launches the ops.
std::optional<Seconds> undivided_step(const ResolvedExperiment& resolved) {
  if (!divides_layers_alone(resolved) || !resolved.model || resolved.lowering) return std::nullopt;
  const int dividing = resolved.layout->grid.layer;
  Stack stack = resolved.stack;
  stack.slowest_gpu = 1;
  const Trace trace = model_trace(resolved, resolved.settings.batch_per_gpu * dividing);
  const std::vector<OpTime> times = op_times(trace, resolved.gpu, stack);
  Seconds sum;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool is_update = trace.ops[i].phase == Phase::optimizer;
    if (is_update && has_servers(resolved.settings.sync)) continue;  // which run the optimizer
    sum += (is_update ? 1 : resolved.settings.accumulation) * times[i].duration;
  }
  return sum;
}

/// The loading of the job's samples, on nodes of which a core may also sum gradients.
std::optional<DataLoading> loading_of(const ResolvedExperiment& resolved, const StepPlan& plan) {
  return data_loading(resolved, *resolved.cluster, load_of_sums(resolved.platform, plan.host_sums));
}

/// The loading of undivided_step(): one rank's, of the samples of all replicas that divide its layers.
std::optional<DataLoading> loading_of_undivided(const ResolvedExperiment& resolved) {
  std::optional<DataLoading> input = data_loading(resolved, 1, 1);
  if (!input) return input;
  const double dividing = resolved.layout->grid.layer;
  input->time = dividing * input->time;
  input->taken = dividing * input->taken;
  return input;
}

Pace pace_of(const ResolvedExperiment& resolved, const StepPlan& plan, Seconds step_time) {
  Pace pace;
  const int ranks = resolved.cluster->ranks();
  pace.time = step_time;
  pace.global_batch = static_cast<std::int64_t>(resolved.settings.batch_per_gpu) *
                      resolved.settings.accumulation * replicas(resolved);
  pace.throughput = static_cast<double>(pace.global_batch) / pace.time.si();
  if (shares_model(resolved)) {
    if (const std::optional<Seconds> alone = undivided_step(resolved)) {
      const double groups = 1.0 * replicas(resolved) / resolved.layout->grid.layer;
      pace.one_rank = with_input(*alone, loading_of_undivided(resolved), resolved.settings.input);
      pace.speedup = groups * (pace.one_rank / pace.time);
      pace.efficiency = pace.speedup / ranks;
    }
    return pace;
  }
  pace.one_rank = with_input(one_mean_gpu(resolved, plan.op_times.front()), data_loading(resolved, 1, 1),
                             resolved.settings.input);
  pace.efficiency = pace.one_rank / pace.time;
  pace.speedup = pace.efficiency * ranks;
  return pace;
}

/// `decoding`: time of each GPU's kernels that decode samples, which the task graph lacks.
Known<EnergyUse> energy_of(const ResolvedExperiment& resolved, const Step& step, Seconds decoding) {
  for (const RankClass& one : resolved.classes) {
    if (const auto reason = energy_unknown(resolved.platform, resolved.gpu, one.trace))
      return unknown(*reason);
  }
  const StatePowers powers = state_powers(resolved.gpu);
  const Joules energy =
      step_energy(step.plan.graph, resolved.classes, step.time, resolved.gpu, resolved.cluster->nodes,
                  node_overhead(resolved.platform, resolved.gpu)->value) +
      resolved.cluster->ranks() * ((powers.vector - powers.waiting) * decoding);
  Joules memory;
  if (resolved.gpu.memory_power)
    memory = energy_in_states(step.plan.graph, resolved.classes, step.time, memory_powers(resolved.gpu));
  return EnergyUse{energy, energy / step.time, memory / step.time};
}

/// Unknown for traces that do not state it. Throws OutOfMemory if the step does not fit, unless the
/// experiment ignores that.
Known<std::vector<MemoryReport>> checked_memory(const ResolvedExperiment& resolved, const StepPlan& plan) {
  if (!has_memory(resolved)) return unknown("the trace does not state its memory (memory_bytes)");
  std::vector<MemoryReport> reports = memory_reports(resolved, plan.channels > 0);
  if (resolved.settings.memory == MemoryCheck::check) require_fit(fullest(reports));
  return reports;
}

/// Throws OutOfMemory as checked_memory() does: the reports, which look for the largest batch, are made for
/// its message alone.
void require_memory(const ResolvedExperiment& resolved, const StepPlan& plan) {
  if (resolved.settings.memory != MemoryCheck::check || !has_memory(resolved)) return;
  if (resolved.model) {
    const Bytes buffers = plan.channels > 0 ? communication_buffers(resolved) : Bytes();
    const MemoryPeak peak = memory_peak(resolved, buffers);
    if (peak.needed <= peak.available) return;
  }
  checked_memory(resolved, plan);
}

/// The end-to-end runs on which the stack's parameters were fitted; empty if the trace brings all durations
/// and needs none.
std::vector<std::string> calibrated_on(const ResolvedExperiment& resolved) {
  std::vector<std::string> runs;
  const auto is_given = [](const Op& op) { return op.duration.has_value(); };
  if (std::ranges::all_of(resolved.classes,
                          [&](const RankClass& one) { return std::ranges::all_of(one.trace.ops, is_given); }))
    return runs;
  const auto add = [&](Provenance provenance, const std::string& source) {
    const bool is_fitted = provenance == Provenance::fitted || provenance == Provenance::measured;
    if (is_fitted && std::ranges::find(runs, source) == runs.end()) runs.push_back(source);
  };
  const auto add_fitted = [&](const auto& figure) {
    if (figure.provenance == Provenance::fitted) add(figure.provenance, figure.source);
  };
  if (const auto& rate = resolved.settings.one_gpu)
    add(Provenance::measured, fmt::format("one GPU of this machine: {} (one_gpu)", *rate));
  add(resolved.stack.compute_scale.provenance, resolved.stack.compute_scale.source);
  const Stack& stack = resolved.stack;
  if (!stack.slowdown.source.empty()) add(Provenance::fitted, stack.slowdown.source);
  if (stack.op_overhead) add(stack.op_overhead->provenance, stack.op_overhead->source);
  add(stack.step_overhead.provenance, stack.step_overhead.source);
  if (resolved.cluster->ranks() == 1) return runs;
  for (const Sourced<Seconds>* time :
       {&stack.step_overhead_per_gpu, &stack.micro_batch_overhead, &stack.collective_overhead})
    add(time->provenance, time->source);
  if (stack.slowest_gpu > 1 && resolved.gpu.variation && resolved.gpu.variation->gpu)
    add_fitted(*resolved.gpu.variation->gpu);
  if (is_of_hosts(resolved.library.library) && resolved.gpu.sums) add_fitted(*resolved.gpu.sums);
  if (!stack.scalar_rings || resolved.cluster->nodes == 1) return runs;
  for (const Sourced<Seconds>* time : {&stack.scalar_rings->hop, &stack.scalar_rings->node_hop})
    add(time->provenance, time->source);
  return runs;
}

StepPlan plan_of(const ResolvedExperiment& resolved) {
  if (resolved.layout) return plan_layout_step(resolved);
  if (resolved.settings.traces) return plan_traces_step(resolved);
  return plan_step(only_class(resolved).trace, resolved.gpu, resolved.stack, *resolved.network,
                   all_ranks(*resolved.cluster), resolved.settings.sync, resolved.library,
                   resolved.grid ? &*resolved.grid : nullptr);
}

/// Notes for the reader of the result, in the order in which their causes arise.
std::vector<std::string> notes_of(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  const Step& step = step_of(run);
  std::vector<std::string> notes;
  if (resolved.settings.precision == Precision::tf32 &&
      matrix_dtype(resolved.gpu, resolved.settings.precision) == Dtype::fp32)
    notes.push_back(resolved.gpu.name + " has no TF32 units: tf32 runs as fp32");
  if (run.memory) {
    const MemoryReport& memory = fullest(*run.memory);
    if (!memory.fits) notes.push_back(ignored_verdict(memory));
    std::ranges::copy(memory.assumptions, std::back_inserter(notes));
  }
  if (run.energy) {
    notes.push_back(energy_note(resolved.platform, resolved.gpu));
    if (run.ranks > 1 && resolved.settings.sync.kind == SyncKind::peer_to_peer)
      notes.emplace_back("energy: compression and summation of updates are not counted");
  }
  if (run.input) std::ranges::copy(input_notes(resolved, *run.input), std::back_inserter(notes));
  std::ranges::copy(resolved.notes, std::back_inserter(notes));
  std::ranges::copy(step.plan.notes, std::back_inserter(notes));
  std::ranges::copy(other_traffic_notes(resolved), std::back_inserter(notes));
  for (const Diagnostic& warning : resolved.warnings) notes.push_back(warning.message);
  return notes;
}

}  // namespace

Run simulate_steps(ResolvedExperiment resolved, const SimulateOptions& options) {
  Run run = is_multi_update(resolved.settings) ? simulate_updates(std::move(resolved), options)
                                               : simulate_step(std::move(resolved), options);
  if (const auto& learn = run.experiment.settings.learn; learn && options.learn && !updates_of(run)) {
    const OrderLog log =
        order_in_step(replicas(run.experiment), run.pace.time, *learn, run.experiment.settings.steps);
    run.learning = learning_from(run.experiment, {&log, 1}, UpdateRule::sync, 1);
  }
  if (run.learning) std::ranges::copy(learning_notes(run), std::back_inserter(run.notes));
  for (std::string& note : run.notes) note = in_device_words(run.experiment.platform, note);
  run.expected_error = prediction_error(run.experiment);
  run.predicted_job = predicted_job(run.experiment);
  return run;
}

void add_job(Run& run) {
  const auto add = [&](const std::vector<std::string>& notes) {
    for (const std::string& note : notes) run.notes.push_back(in_device_words(run.experiment.platform, note));
  };
  if (run.experiment.settings.faults) {
    run.faults = fault_report(run);
    add(fault_notes(run.experiment, *run.faults));
  }
  if (run.experiment.settings.job) {
    run.job = whole_job(run);
    add(job_notes(run));
  }
}

Run simulate(ResolvedExperiment resolved, const SimulateOptions& options) {
  Run run = simulate_steps(std::move(resolved), options);
  add_job(run);
  return run;
}

StepPlan& ClosedSteps::plan() {
  if (plan_ && resolved_.layout) {
    set_op_times(resolved_, *plan_);
    return *plan_;
  }
  plan_.reset();
  StepPlan plan = plan_of(resolved_);
  require_memory(resolved_, plan);
  return plan_.emplace(std::move(plan));
}

Pace ClosedSteps::pace() {
  assert(!is_multi_update(resolved_.settings));
  const StepPlan& now = plan();
  if (has_other_traffic(resolved_)) refuse_other_traffic();
  const Seconds makespan = closed_makespan(now.graph);
  return pace_of(resolved_, now, with_input(makespan, loading_of(resolved_, now), resolved_.settings.input));
}

Pace ClosedSteps::checked_pace() {
  assert(!is_multi_update(resolved_.settings));
  StepPlan now = std::move(plan());
  plan_.reset();
  Step step = replayed_step(resolved_, std::move(now), Fidelity::closed, {.timeline = false});
  const Pace pace =
      pace_of(resolved_, step.plan,
              with_input(step.timeline.makespan, loading_of(resolved_, step.plan), resolved_.settings.input));
  plan_ = std::move(step.plan);
  return pace;
}

std::size_t ClosedSteps::tasks() const {
  std::size_t sum = 0;
  if (!plan_) return sum;
  for (const Program& program : plan_->graph.programs)
    for (const std::vector<Task>& stream : program.streams) sum += stream.size();
  return sum;
}

Pace closed_pace(const ResolvedExperiment& resolved) { return ClosedSteps(resolved).pace(); }

double expected_messages(const ResolvedExperiment& resolved, double most_at_once) {
  return is_multi_update(resolved.settings) ? messages_of_updates(resolved, most_at_once)
                                            : expected_messages_of_step(resolved, most_at_once);
}

double expected_messages_of_step(const ResolvedExperiment& resolved, double most_at_once) {
  TaskGraph graph = plan_of(resolved).graph;
  if (has_other_traffic(resolved)) add_other_traffic(resolved, *resolved.network, graph);
  const auto is_too_much = [&](const Pattern& pattern) {
    const bool is_only_counted = pattern.edges.empty() && pattern.source == nullptr;
    return static_cast<double>(pattern.edge_count()) > (is_only_counted ? 0 : most_at_once);
  };
  if (std::ranges::any_of(graph.patterns, is_too_much)) return std::numeric_limits<double>::infinity();
  return engine::expected_events(graph, Fidelity::messages);
}

Seconds least_step(const ResolvedExperiment& resolved) {
  const StepPlan plan = plan_of(resolved);
  const Seconds makespan = closed_makespan(plan.graph, {.slowed_by = SlowedBy::nothing});
  return with_input(makespan, loading_of(resolved, plan), resolved.settings.input);
}

Pace checked_closed_pace(const ResolvedExperiment& resolved) { return ClosedSteps(resolved).checked_pace(); }

Run simulate_step(ResolvedExperiment resolved, const SimulateOptions& options) {
  StepPlan plan = plan_of(resolved);
  Run run;
  run.memory = checked_memory(options.memory_of != nullptr ? *options.memory_of : resolved, plan);
  const Fidelity fidelity = options.fidelity.value_or(resolved.settings.fidelity);
  Step step = replayed_step(resolved, std::move(plan), fidelity, options);
  const std::optional<DataLoading> input = loading_of(resolved, step.plan);
  add_rows(resolved,
           options.timeline ? RowUse::timeline
           : options.rows   ? RowUse::tables
                            : RowUse::sums,
           step);
  add_times(resolved, input, step);
  const Seconds decoding = input ? input->kernels : Seconds{};
  if (options.timeline) add_decoding(resolved, decoding, step);

  run.ranks = resolved.cluster->ranks();
  run.nodes = resolved.cluster->nodes;
  run.pace = pace_of(resolved, step.plan, step.time);
  run.gpu_utilization = (slowest_class(step).compute + decoding) / step.time;
  run.compute_sources = shares_of(resolved, step);
  run.matrix = matrix_work(resolved, 1 / step.time.si());
  run.energy = energy_of(resolved, step, decoding);
  if (options.rows) run.rank_rows = rank_rows(*resolved.cluster, step.timeline);
  run.links =
      link_traffic(*resolved.network, step.timeline, link_events(resolved, *resolved.network), options.rows);
  if (input) {
    run.links = stretched(std::move(run.links), step.time / step.timeline.makespan);
    run.input = input_report(resolved, *input,
                             {.exposed = step.time - (step.timeline.makespan + decoding),
                              .throughput = run.pace.throughput,
                              .computing = run.gpu_utilization});
  }
  run.calibrated_on = calibrated_on(resolved);
  run.events = step.timeline.events;
  run.what = std::move(step);
  resolved.settings.gpus = run.ranks;
  resolved.settings.fidelity = fidelity;
  run.experiment = std::move(resolved);
  run.cost = epoch_cost(run.experiment.platform, run.nodes, epoch_time(run));
  run.notes = notes_of(run);
  return run;
}

}  // namespace trainyard
