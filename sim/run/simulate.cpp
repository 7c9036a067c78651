#include "run/simulate.hpp"

#include "config/write.hpp"
#include "experiment/shared_network.hpp"
#include "platform/channels.hpp"
#include "run/checks.hpp"
#include "run/energy.hpp"
#include "run/fault_study.hpp"
#include "run/input_report.hpp"
#include "run/other_traffic.hpp"
#include "run/simulate_training.hpp"
#include "schedule/step_plan.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

/// Ranks whose every op goes into the timeline: those of the first nodes, as many as a person can look at.
constexpr int most_recorded = 16;

Bytes parameter_bytes(const Op& op) {
  double elements = 0;
  for (const Gradient& gradient : op.gradients) elements += gradient.elements;
  return Bytes{4 * elements};
}

std::vector<LayerRow> layer_rows(const Trace& trace, const StepPlan& plan) {
  std::vector<LayerRow> rows;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    LayerRow& row = rows.emplace_back();
    row.phase = op.phase;
    row.layer = op.layer;
    row.kind = op.kind;
    row.shape = to_string(op.shape);
    row.flops = op.flops;
    row.bytes = op.bytes;
    row.parameter_bytes = parameter_bytes(op);
    row.duration = plan.op_times[i].duration;
    row.source = plan.op_times[i].source;
  }
  return rows;
}

std::vector<CollectiveRow> collective_rows(const Trace& trace, const StepPlan& plan,
                                           const Timeline& timeline) {
  std::vector<CollectiveRow> rows;
  for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
    const PlannedCollective& planned = plan.collectives[i];
    const Collective& collective = plan.graph.collectives[i];
    const CollectiveSpan& span = timeline.collectives[i];
    const Seconds taken = span.end - span.start;
    CollectiveRow& row = rows.emplace_back();
    row.name = planned.name;
    row.operation = collective.operation;
    row.algorithm = std::string(config::name_of(planned.algorithm));
    row.protocol = std::string(config::name_of(planned.protocol));
    row.channels = planned.channels;
    row.size = collective.size;
    row.tensors = planned.tensors;
    if (planned.ready_op >= 0) row.ready_after = trace.ops[at(planned.ready_op)].layer;
    row.start = span.start;
    row.end = span.end;
    row.bound = planned.bound;
    row.algbw = collective.size / taken;
    row.busbw = busbw(collective.operation, collective.participants, collective.size, taken);
  }
  return rows;
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

/// What a kernel on the communication stream is for: one before its collective, or one behind it.
std::string kernel_name(const StepPlan& plan, std::span<const Task> tasks, int task) {
  const PlannedCollective& planned = plan.collectives[at(std::get<Compute>(tasks[at(task)]).collective)];
  const bool is_before = at(task) + 1 < tasks.size() && std::holds_alternative<Join>(tasks[at(task) + 1]);
  return is_before ? planned.before : planned.after;
}

/// Turns the recorded spans into named bars, and fills in when the ops of rank 0 and the buckets were ready.
void add_timeline(const Trace& trace, const StepPlan& plan, const Timeline& timeline, Result& result) {
  for (const TaskSpan& span : timeline.spans) {
    if (index(span.rank) >= most_recorded) continue;  // for the critical path
    const Program& program = plan.graph.programs[at(plan.graph.program_of_rank[at(index(span.rank))])];
    TimelineEvent& bar = result.timeline.emplace_back();
    bar.rank = span.rank;
    bar.stream = span.stream;
    bar.start = span.start;
    bar.end = span.end;
    const std::vector<Task>& tasks = program.streams[static_cast<int>(span.stream)];
    const Task& task = tasks[at(span.task)];
    const auto* compute = std::get_if<Compute>(&task);
    if (compute != nullptr && compute->op < 0) {
      bar.collective = compute->collective;
      bar.category = span.stream == Stream::host ? plan.collectives[at(compute->collective)].held
                                                 : kernel_name(plan, tasks, span.task);
    } else if (compute != nullptr) {
      const Op& op = trace.ops[at(compute->op)];
      bar.op = compute->op;
      bar.category = std::string(config::name_of(op.phase));
      if (span.rank == Rank{0}) {
        result.layers[at(compute->op)].start = span.start;
        result.layers[at(compute->op)].end = span.end;
      }
    } else {
      bar.collective = std::get<Join>(task).collective;
      bar.category = "communication";
      bar.start = timeline.collectives[at(bar.collective)].start;
    }
  }
  for (std::size_t i = 0; i < result.collectives.size(); ++i) {
    if (plan.collectives[i].ready_op >= 0)
      result.collectives[i].ready = result.layers[at(plan.collectives[i].ready_op)].end;
  }
}

void add_network(const Inputs& inputs, const Cluster& cluster, const Timeline& timeline, Result& result) {
  set_links(result, link_rows(cluster, capacities(cluster), timeline, link_events(inputs, cluster)));
}

ComputeSourceShares shares_of(const std::vector<OpTime>& times) {
  Seconds total;
  Seconds by_source[3];
  for (const OpTime& time : times) {
    total += time.duration;
    by_source[static_cast<int>(time.source)] += time.duration;
  }
  if (total <= Seconds{}) return {};
  return {.measured = by_source[static_cast<int>(ComputeSource::measured)] / total,
          .fitted = by_source[static_cast<int>(ComputeSource::fitted)] / total,
          .roofline = by_source[static_cast<int>(ComputeSource::roofline)] / total};
}

void add_compute(const Inputs& inputs, const StepPlan& plan, const Timeline& timeline, Result& result) {
  // Added in the order of the stream, so that one rank's step and the sum of its kernels are the same bits.
  Seconds of_ranks;
  for (std::size_t i = 0; i < plan.op_times.size(); ++i) {
    const bool is_alone = inputs.trace.ops[i].layer != ranks_overhead_layer;
    (is_alone ? result.one_rank_step_time : of_ranks) += plan.op_times[i].duration;
  }
  const Seconds busy = timeline.ranks.front().compute;
  result.compute_time = busy;
  for (std::size_t i = 0; i < plan.op_times.size(); ++i) {
    if (inputs.trace.ops[i].kind == OpKind::host) result.compute_time -= plan.op_times[i].duration;
  }
  result.compute_slowdown = std::max(Seconds{}, busy - result.one_rank_step_time - of_ranks);
  result.compute_source_shares = shares_of(plan.op_times);
  for (const Op& op : inputs.trace.ops) {
    if (is_matrix(op.kind)) result.model_flops += op.flops;
  }
  result.achieved_flops_per_gpu = result.model_flops / result.step_time;
  const Precision precision = inputs.experiment.precision;
  if (result.model_flops > Flops()) {
    result.model_flops_utilization = result.achieved_flops_per_gpu / peak_rate(inputs.gpu, precision);
  } else {
    leave_out(result, {"model_flops", "achieved_flops_per_gpu", "model_flops_utilization"},
              "the trace has no matrix work with FLOPs");
  }
  const Dtype dtype = matrix_dtype(inputs.gpu, precision);
  result.matrix_dtype = std::string(config::name_of(dtype));
  if (precision == Precision::tf32 && dtype == Dtype::fp32) {
    result.notes.push_back(inputs.gpu.name + " has no TF32 units: tf32 is fp32 on it");
  }
}

/// Nothing for a trace, which does not say what it keeps. Throws OutOfMemory if the step does not fit.
std::optional<MemoryReport> checked_memory(const Inputs& inputs, const StepPlan& plan) {
  if (!inputs.model) return std::nullopt;
  MemoryReport report = memory_report(inputs, cluster_of(inputs).ranks(), plan.channels);
  require_fit(report);
  return report;
}

void add_memory(std::optional<MemoryReport> memory, Result& result) {
  if (!memory) {
    leave_out(result, {"memory", "memory_peak_bytes", "memory_capacity_bytes", "memory_utilization"},
              "a trace does not say what its activations take");
    return;
  }
  result.notes.insert(result.notes.end(), memory->assumptions.begin(), memory->assumptions.end());
  result.memory = std::move(memory);
}

void add_energy_and_cost(const Inputs& inputs, const StepPlan& plan, Result& result) {
  if (const auto reason = energy_unknown(inputs.platform, inputs.gpu, inputs.trace)) {
    leave_out(result, {"energy_per_step_j", "average_power_w"}, *reason);
  } else {
    result.energy_per_step = step_energy(plan.graph, result.ranks, inputs.trace, result.step_time, inputs.gpu,
                                         result.nodes, node_overhead(inputs.platform, inputs.gpu)->value);
    result.average_power = *result.energy_per_step / result.step_time;
    result.notes.push_back(energy_note(inputs.platform, inputs.gpu));
    if (result.ranks > 1 && inputs.experiment.sync.kind == SyncKind::peer_to_peer)
      result.notes.emplace_back("energy: what compresses updates and adds them up is not counted");
  }
  if (const auto reason = cost_unknown(inputs.platform, result.epoch_time)) {
    leave_out(result, {"cost_per_epoch_usd"}, *reason);
  } else {
    result.cost = epoch_cost(inputs.platform, result.nodes, *result.epoch_time);
  }
}

/// The runs on which the stack's knobs were fitted, unless the trace brings all durations and asks none.
std::vector<std::string> calibrations(const Inputs& inputs) {
  std::vector<std::string> runs;
  const auto is_given = [](const Op& op) { return op.duration.has_value(); };
  if (std::ranges::all_of(inputs.trace.ops, is_given)) return runs;
  const auto add = [&](Provenance provenance, const std::string& source) {
    const bool is_fitted = provenance == Provenance::fitted || provenance == Provenance::measured;
    if (is_fitted && std::ranges::find(runs, source) == runs.end()) runs.push_back(source);
  };
  add(inputs.stack.compute_scale.provenance, inputs.stack.compute_scale.source);
  const Stack& stack = inputs.stack;
  for (const Sourced<Seconds>* time : {&stack.op_overhead, &stack.step_overhead})
    add(time->provenance, time->source);
  const Cluster cluster = cluster_of(inputs);
  if (cluster.ranks() == 1) return runs;
  for (const Sourced<Seconds>* time :
       {&stack.step_overhead_per_gpu, &stack.micro_batch_overhead, &stack.collective_overhead})
    add(time->provenance, time->source);
  if (!stack.scalar_rings || cluster.nodes == 1) return runs;
  for (const Sourced<Seconds>* time : {&stack.scalar_rings->hop, &stack.scalar_rings->node_hop})
    add(time->provenance, time->source);
  return runs;
}

/// The step on the network as it is, with whatever else goes on there.
Timeline run_among_others(const Inputs& inputs, const Cluster& cluster, const StepPlan& plan,
                          const EngineOptions& options) {
  if (!has_others(inputs)) return run(plan.graph, options);
  if (options.fidelity == Fidelity::closed) {
    throw InputError(
        "fidelity closed times every collective alone: neighbours, background and events are not in it",
        "fidelity: flow, rounds or steps");
  }
  TaskGraph graph = plan.graph;
  add_others(inputs, cluster, graph);
  for (const PlannedCollective& collective : plan.collectives)
    graph.collective_names.push_back(collective.name);
  return run(graph, options);
}

}  // namespace

Result simulate(const Inputs& inputs, const SimulateOptions& options) {
  Result result =
      is_training(inputs.experiment) ? simulate_training(inputs, options) : simulate_step(inputs, options);
  if (inputs.experiment.faults) {
    result.faults = fault_report(inputs, result);
    for (std::string& note : fault_notes(inputs, *result.faults)) result.notes.push_back(std::move(note));
  }
  return result;
}

Result simulate_step(const Inputs& inputs, const SimulateOptions& options) {
  const Cluster alone = cluster_of(inputs);
  const Cluster cluster = shared_cluster(inputs);
  const StepPlan plan = plan_step(inputs.trace, inputs.gpu, inputs.stack, cluster, all_ranks(alone),
                                  inputs.experiment.sync, inputs.costs);

  std::optional<MemoryReport> memory = checked_memory(inputs, plan);

  const Fidelity fidelity = options.fidelity.value_or(inputs.experiment.fidelity);
  EngineOptions engine{.fidelity = fidelity, .fold = options.fold, .recorded = {}};
  const int recorded = options.timeline ? std::min(alone.ranks(), most_recorded) : 0;
  for (int rank = 0; rank < recorded; ++rank) engine.recorded.push_back(Rank{rank});
  if (options.recorded) {
    for (const Rank rank : options.recorded(plan.graph, fidelity)) {
      if (index(rank) >= recorded) engine.recorded.push_back(rank);
    }
  }
  const Seconds lower_bound = run(ideal(plan), {.fidelity = Fidelity::closed, .recorded = {}}).makespan;
  const Timeline timeline = run_among_others(inputs, cluster, plan, engine);
  const std::vector<std::string> wrong = violations(plan, timeline, lower_bound, has_others(inputs));
  if (!wrong.empty()) throw EngineError(fmt::format("a result broke physics: {}", fmt::join(wrong, "; ")));

  Result result;
  result.experiment = inputs.name;
  result.platform_title = inputs.platform.title;
  result.model = inputs.trace.model;
  result.resolved = inputs.experiment;
  result.resolved.gpus = alone.ranks();
  result.resolved.fidelity = fidelity;
  result.resolved_experiment = config::write(result.resolved);
  result.ranks = alone.ranks();
  result.nodes = alone.nodes;
  result.fidelity = std::string(config::name_of(fidelity));
  result.global_batch = static_cast<std::int64_t>(inputs.experiment.batch_per_gpu) *
                        inputs.experiment.accumulation * result.ranks;

  const InputSettings& settings = inputs.experiment.input;
  const std::optional<InputPipeline> input = input_pipeline(inputs, alone);
  result.step_time = with_input(timeline.makespan, input, settings);
  result.lower_bound = with_input(lower_bound, input, settings);
  add_compute(inputs, plan, timeline, result);
  result.exposed_communication = std::max(Seconds{}, timeline.makespan - timeline.ranks.front().compute);
  result.one_rank_step_time = with_input(result.one_rank_step_time, input_pipeline(inputs, 1, 1), settings);
  result.communication_time = timeline.ranks.front().communication;
  const Seconds without = run(without_network(plan), {.fidelity = Fidelity::closed, .recorded = {}}).makespan;
  result.network_gain = std::max(Seconds{}, result.step_time - with_input(without, input, settings));
  result.communication_overhead = result.step_time - result.one_rank_step_time;
  result.throughput = static_cast<double>(result.global_batch) / result.step_time.si();
  result.scaling_efficiency = result.one_rank_step_time / result.step_time;
  result.speedup = result.scaling_efficiency * result.ranks;
  result.gpu_utilization = result.compute_time / result.step_time;
  if (inputs.samples_per_epoch) result.epoch_time = Seconds{*inputs.samples_per_epoch / result.throughput};

  if (inputs.model && inputs.model->sequence_length)
    result.tokens_per_second = result.throughput * *inputs.model->sequence_length;
  add_memory(std::move(memory), result);
  add_energy_and_cost(inputs, plan, result);

  result.layers = layer_rows(inputs.trace, plan);
  result.collectives = collective_rows(inputs.trace, plan, timeline);
  result.rank_rows = rank_rows(alone, timeline);
  add_network(inputs, cluster, timeline, result);
  if (input) stretch_links(result, result.step_time / timeline.makespan);
  add_timeline(inputs.trace, plan, timeline, result);
  if (input) add_input(inputs, *input, result.step_time - timeline.makespan, result);
  result.calibrated_on = calibrations(inputs);
  result.notes.insert(result.notes.end(), inputs.notes.begin(), inputs.notes.end());
  result.notes.insert(result.notes.end(), plan.notes.begin(), plan.notes.end());
  for (const std::string& note : notes_on_others(inputs)) result.notes.push_back(note);
  for (const Diagnostic& warning : inputs.warnings) result.notes.push_back(warning.message);
  result.events = timeline.events;
  if (options.recorded) result.replay.emplace(cluster, plan, timeline, input);
  return result;
}

}  // namespace trainyard
