#include "experiment/lowered_stack.hpp"
#include "experiment/one_gpu.hpp"
#include "run/figure_getters.hpp"
#include "run/figure_groups.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "run/utilization.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trainyard::figure_groups {

namespace {

/// A key of the experiment.
template <class T>
Getter of_setting(T Experiment::*key) {
  return [key](const Run& run) {
    if constexpr (std::is_same_v<T, std::string>)
      return to_value(std::string_view(run.experiment.settings.*key));
    else
      return to_value(run.experiment.settings.*key);
  };
}

/// A figure of one steady step.
template <class Get>
Getter of_step(const char* otherwise, Get get) {
  return [=](const Run& run) {
    return updates_of(run) == nullptr ? to_value(std::invoke(get, step_of(run))) : Value(unknown(otherwise));
  };
}

Value changes(const Run& run) {
  const std::string keys = changed_keys(run.experiment);
  return keys.empty() ? Value(none()) : to_value(std::string_view(keys));
}

Value kernel_slowdown(const Run& run) {
  if (updates_of(run) == nullptr) return to_value(slowest_class(step_of(run)).slowed);
  return unknown(has_servers(run.experiment.settings.sync)
                     ? "not modelled: slowdown of kernels by transfers to and from servers"
                     : "included in the exposed communication");
}

/// A figure that compares the step with that of one GPU.
template <class Get>
Getter against_one_gpu(Get get) {
  return [get](const Run& run) {
    return shares_model(run.experiment) && run.pace.one_rank == Seconds{}
               ? Value(unknown(run.experiment.settings.traces
                                   ? "ranks replay traces of their own: no GPU runs the step alone"
                                   : "a rank holds only a part of the model: no GPU runs the step alone"))
               : to_value(std::invoke(get, run.pace));
  };
}

Value overhead(const Run& run) {
  if (shares_model(run.experiment)) {
    const Value alone = against_one_gpu(&Pace::one_rank)(run);
    return alone ? Value(unknown("the step on one GPU has the samples of all ranks that divide layers"))
                 : alone;
  }
  const Updates* updates = updates_of(run);
  if (updates != nullptr &&
      (!traits(updates->settings.rule).is_synchronous() || updates->settings.push_every > 1))
    return unknown("an update is not one step of every rank");
  return to_value(run.pace.time - run.pace.one_rank);
}

Value busy_communication(const Run& run) {
  return run.experiment.layout
             ? Value(unknown("collectives run on several streams; `step_parts_s` has their exposed time"))
             : to_value(communication_time(run));
}

/// The part of a step in which the stage that ends last waits for other stages.
Value bubble_of(const Run& run) {
  if (pipeline_stages(run.experiment) == 1) return none();
  for (const PartTime& part : step_parts(run).parts) {
    if (part.part == StepPart::bubble) return to_value(part.time);
  }
  return none();
}

/// Whether a host launches the kernels of the run's step.
bool has_launches(const Run& run) { return run.experiment.lowering && updates_of(run) == nullptr; }

Value launches_of(const Run& run) {
  if (!has_launches(run)) return none();
  const RankClass& one = class_of(run.experiment, slowest_class(step_of(run)).first);
  return to_value(launches_of_step(run.experiment, one).kernels);
}

Value launch_waits(const Run& run) {
  return has_launches(run) ? to_value(slowest_class(step_of(run)).launch_waits) : Value(none());
}

constexpr const char* not_measured = "no measured throughput of one GPU is given (one_gpu)";

Value one_gpu_rate(const Run& run) {
  return run.experiment.settings.one_gpu ? to_value(measured_on_one_gpu(run.experiment))
                                         : Value(unknown(not_measured));
}

Value one_gpu_scale(const Run& run) {
  const std::optional<double>& scale = run.experiment.settings.one_gpu_scale;
  return scale ? to_value(*scale) : Value(unknown(not_measured));
}

/// The throughput at an end of the expected error.
Getter expected_throughput(double ExpectedError::*end) {
  return [end](const Run& run) -> Value {
    if (!run.expected_error) return unknown(run.expected_error.error());
    return to_value(run.pace.throughput * (1 + (*run.expected_error).*end));
  };
}

Value busiest_link(const Run& run) {
  return run.links.busiest.empty() ? Value(unknown("nothing was sent"))
                                   : to_value(std::string_view(run.links.busiest));
}

/// A figure of runs that read real data.
template <class Get>
Getter of_input(Get get) {
  return [get](const Run& run) { return run.input ? to_value(std::invoke(get, *run.input)) : Value(none()); };
}

Value input_limit(const InputReport& input) {
  const Known<double>& rate = input.samples_per_s_and_node;
  return rate ? to_value(name_of(input.loading.limit)) : Value(unknown(rate.error()));
}

Getter use_of(Resource resource) {
  return [resource](const Run& run) -> Value {
    const Known<Utilization> use = utilization(run, resource);
    return use ? to_value(use->share) : Value(unknown(use.error()));
  };
}

/// That figure if it rests on an assumed figure.
Getter assumed_use_of(Resource resource) {
  return [resource](const Run& run) -> Value {
    const Known<Utilization> use = utilization(run, resource);
    return use && use->is_assumed ? to_value(use->share) : none();
  };
}

}  // namespace

std::vector<Figure> figures_of_the_job() {
  return {
      Figure{"experiment", "experiment", FigureUnit::text, "the name of the experiment's file", "",
             job_itself, of([](auto& run) -> std::string_view { return run.experiment.name; })},
      Figure{"changed_keys", "set on the command line", FigureUnit::text,
             "keys set on the command line, with their values; missing if there are none", "", summary_only,
             changes},
      Figure{"platform", "platform", FigureUnit::text, "the machine, as the experiment names it", "",
             job_itself, of_setting(&Experiment::platform)},
      Figure{"model", "model", FigureUnit::text, "the model, or the name that its trace gives", "",
             job_itself, of([](auto& run) -> std::string_view { return model_name(run); })},
      Figure{"stack", "stack", FigureUnit::text, "the software, as the experiment names it", "", job_itself,
             of_setting(&Experiment::stack)},
      Figure{"precision", "precision", FigureUnit::text,
             "number format of activations, weights and matrix units", "", job_itself,
             of_setting(&Experiment::precision)},
      Figure{"optimizer", "optimizer", FigureUnit::text, "rule that turns gradients into an update", "",
             job_itself, of_setting(&Experiment::optimizer)},
      Figure{"batch_per_gpu", "batch per GPU", FigureUnit::count, "samples of a micro-batch of one rank", "",
             job_itself, of_setting(&Experiment::batch_per_gpu)},
      Figure{"accumulation", "micro-batches", FigureUnit::count, "micro-batches of a step", "", job_itself,
             of_setting(&Experiment::accumulation)},
      Figure{"global_batch", "global batch", samples, "samples of all ranks together in a step", "",
             size_of_job, of([](auto& run) { return run.pace.global_batch; })},
      Figure{"ranks", "ranks", gpus, "GPUs that take part", "", size_of_job, of(&Run::ranks)},
      Figure{"nodes", "nodes", FigureUnit::count, "nodes that take part", "", size_of_job, of(&Run::nodes)},
      Figure{"fidelity", "fidelity", FigureUnit::text,
             "how exactly collectives were simulated: `closed`, `flow`, `rounds` or `messages`", "",
             job_itself, of_setting(&Experiment::fidelity)}};
}

std::vector<Figure> figures_of_speed() {
  return {Figure{"step_time_s", "step time", FigureUnit::time,
                 "one optimizer update, from the first kernel to the last; for runs of many updates, the "
                 "median time of an update",
                 "", everywhere, of([](auto& run) { return run.pace.time; })},
          Figure{"throughput_samples_per_s", "throughput", samples_per_s, "`global_batch` / step time", "",
                 everywhere, of([](auto& run) { return run.pace.throughput; })},
          Figure{"sample_time_s", "time per sample", FigureUnit::time,
                 "`ranks` / throughput: the time of one GPU for one sample; `step_time_s` is that of a batch",
                 "", in_sweeps, of([](auto& run) { return Seconds(run.ranks / run.pace.throughput); })},
          Figure{"throughput_low_samples_per_s", "throughput, low", samples_per_s,
                 "lower end of the expected error: 80 % of comparable published runs lie between both ends",
                 "", in_tables, expected_throughput(&ExpectedError::low)},
          Figure{"throughput_high_samples_per_s", "throughput, high", samples_per_s,
                 "upper end of the expected error", "", in_tables, expected_throughput(&ExpectedError::high)},
          Figure{"throughput_tokens_per_s", "tokens", tokens_per_s,
                 "samples per second x sequence length, of models that read sequences", "", in_tables,
                 of(tokens_per_second)},
          Figure{"throughput_tokens_per_s_and_gpu", "tokens per GPU", tokens_per_s,
                 "of models that read sequences: `throughput_tokens_per_s` / `ranks`", "", tile_only,
                 of(tokens_per_second_and_gpu)},
          Figure{"tokens_per_usd", "tokens per USD", FigureUnit::number,
                 "of models that read sequences: tokens per hour over `rent_usd_per_h`", "", tile_only,
                 of(tokens_per_dollar)},
          Figure{"speedup", "speedup", times, "throughput over that of one GPU", "", in_tables,
                 against_one_gpu(&Pace::speedup)},
          Figure{"scaling_efficiency", "scaling efficiency", share, "`speedup` over the number of ranks", "",
                 everywhere, against_one_gpu(&Pace::efficiency)}};
}

std::vector<Figure> figures_of_the_time() {
  return {
      Figure{"communication_overhead_s", "communication overhead", FigureUnit::time,
             "step time minus `one_rank_step_time_s`", "communication overhead", in_sweeps, overhead},
      Figure{"compute_time_s", "computing", FigureUnit::time,
             "busy time of the compute stream with kernels, on the ranks that end last; for runs of many "
             "updates, `one_rank_step_time_s`",
             "", in_sweeps, of(compute_time)},
      Figure{"compute_slowdown_s", "kernel slowdown", FigureUnit::time,
             "delay of kernels by concurrent communication, a part of the compute time; "
             "`communication_overhead_s` is this and the exposed communication",
             "kernel slowdown", summary_only, kernel_slowdown},
      Figure{"communication_time_s", "communication", FigureUnit::time,
             "busy time of the communication stream in a step, on the ranks that end last; for runs of many "
             "updates, the same as `exposed_communication_s`: nothing is computed meanwhile",
             "", in_tables, busy_communication},
      Figure{"exposed_communication_s", "exposed communication", FigureUnit::time,
             "the part of communication not overlapped by compute: step time minus compute time; if ranks "
             "share a model, without the bubble; for runs of many updates, the part `communication` of "
             "`step_parts_s`",
             "", everywhere, of(exposed_communication)},
      Figure{
          "bubble_s", "bubble", FigureUnit::time,
          "for pipelines: the part `bubble` of `step_parts_s`, in which the stage that ends last waits for "
          "other stages",
          "", tile_only, bubble_of},
      Figure{"kernel_launches", "kernels launched", FigureUnit::count,
             "stacks with a lowering: kernels launched in a step, on the rank that ends last", "",
             of_launches, launches_of},
      Figure{"launch_wait_s", "waits for host", FigureUnit::time,
             "the same stacks: the time of that rank's step in which its GPU waits for launches", "",
             of_launches, launch_waits},
      Figure{
          "one_rank_step_time_s", "one GPU alone", FigureUnit::time,
          "the same step on one GPU with the same batch per GPU; for layers that replicas divide: with the "
          "whole model and the samples of all of them, whatever memory that takes",
          "", in_tables, against_one_gpu(&Pace::one_rank)},
      Figure{"one_gpu_samples_per_s", "one GPU measured", samples_per_s,
             "measured throughput of one GPU to which kernel times are scaled (key `one_gpu`)", "", in_sweeps,
             one_gpu_rate},
      Figure{"one_gpu_scale", "kernel time factor", times,
             "factor on all kernel times with which one GPU does `one_gpu_samples_per_s`", "", key_in_sweeps,
             one_gpu_scale},
      Figure{"lower_bound_s", "lower bound", FigureUnit::time,
             "step time with every collective at its bound, which no algorithm on this network beats",
             "lower bound", in_sweeps,
             of_step("not known for runs with servers or random times", &Step::lower_bound)},
      Figure{"epoch_time_s", "epoch", FigureUnit::time, "all samples of the data set once", "", everywhere,
             of(epoch_time)}};
}

std::vector<Figure> figures_of_use() {
  return {
      Figure{"gpu_utilization", "GPU utilization", share, "compute time / step time", "", in_tables,
             use_of(Resource::gpu)},
      Figure{"assumed_gpu_utilization", "GPU utilization, assumed", share,
             "`gpu_utilization` if GPUs wait for transfers or samples whose rate is assumed", "", in_sweeps,
             assumed_use_of(Resource::gpu)},
      Figure{"network_utilization", "network utilization", share,
             "bytes / (capacity x step time), mean over the links used", "", in_sweeps,
             use_of(Resource::network)},
      Figure{"assumed_network_utilization", "network utilization, assumed", share,
             "`network_utilization` if the rate of one of these links is assumed", "", in_sweeps,
             assumed_use_of(Resource::network)},
      Figure{"link_utilization_max", "busiest link", share,
             "bytes / (capacity x step time) of the busiest link", "", in_tables,
             of([](auto& run) { return run.links.most; })},
      Figure{"busiest_link", "busiest link", FigureUnit::text,
             "name of the link with the highest utilization", "", summary_only, busiest_link},
      Figure{"model_flops", "model FLOPs per step", flops,
             "FLOPs of the convolutions and matrix products in one rank's step, mean of all ranks, without "
             "those that backward repeats to compute activations again",
             "model FLOPs", summary_only, of_part(&Run::matrix, &MatrixWork::flops)},
      Figure{"achieved_flops_per_gpu", "model FLOPs per GPU", flop_rate, "`model_flops` per second",
             "model FLOPs", in_tables, of_part(&Run::matrix, &MatrixWork::rate)},
      Figure{"model_flops_utilization", "model FLOPs utilization", share,
             "`achieved_flops_per_gpu` over the GPU's peak in this precision; above 1 where Winograd's "
             "algorithm needs fewer operations than the direct convolutions counted",
             "model FLOPs", everywhere, of_part(&Run::matrix, &MatrixWork::utilization)}};
}

std::vector<Figure> figures_of_input_data() {
  return {
      Figure{"input_time_s", "input", FigureUnit::time,
             "with real data: time a node needs to prepare the samples of its ranks for one step", "",
             summary_only, of_input([](auto& input) { return input.loading.time; })},
      Figure{"input_limit", "input limit", FigureUnit::text,
             "longest part of `input_time_s`: `cores`, `storage`, `memory`, `decoder` or `kernels` (on GPUs)",
             "host CPUs and data loading", summary_only, of_input(input_limit)},
      Figure{"input_samples_per_s_and_node", "input rate", samples_per_s,
             "with real data: samples that a node can prepare per second", "host CPUs and data loading",
             summary_only, of_input(&InputReport::samples_per_s_and_node)},
      Figure{"exposed_input_s", "exposed input", FigureUnit::time,
             "with real data: the part of a step in which GPUs wait for samples", "", in_sweeps,
             of_input(&InputReport::exposed)},
      Figure{
          "cpu_utilization", "host CPUs", share,
          "with real data: utilization of the CPU cores by decoding samples, summing gradients for servers "
          "and launching kernels (stacks with a lowering), on the node with the most ranks; 0 where nothing "
          "of that is done. Ranks on processors: also by their kernels",
          "host CPUs and data loading", in_sweeps, use_of(Resource::cpu)},
      Figure{"assumed_cpu_utilization", "host CPUs, assumed", share,
             "`cpu_utilization` if it rests on an assumed figure", "", in_sweeps,
             assumed_use_of(Resource::cpu)},
      Figure{"host_memory_utilization", "host memory", share,
             "with real data: bytes that samples and sums for servers move in the memory of the CPUs, "
             "relative to its bandwidth, on the node with the most ranks",
             "host CPUs and data loading", in_sweeps, use_of(Resource::host_memory)},
      Figure{"assumed_host_memory_utilization", "host memory, assumed", share,
             "`host_memory_utilization` if it rests on an assumed figure", "", in_sweeps,
             assumed_use_of(Resource::host_memory)},
      Figure{"storage_utilization", "storage", share,
             "with real data: bytes read, relative to the bandwidth of the storage, on the node with the "
             "most ranks",
             "storage", in_sweeps, use_of(Resource::storage)},
      Figure{"assumed_storage_utilization", "storage, assumed", share,
             "`storage_utilization` if it rests on an assumed figure", "", in_sweeps,
             assumed_use_of(Resource::storage)}};
}

}  // namespace trainyard::figure_groups
