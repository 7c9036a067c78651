#include "run/figures.hpp"

#include "config/keys.hpp"
#include "experiment/one_gpu.hpp"
#include "learn/learn.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace trainyard {

namespace {

using Value = Known<FigureValue>;
using Getter = std::function<Value(const Run&)>;

/// For figures that this kind of run does not have.
tl::unexpected<std::string> none() { return unknown({}); }

Value to_value(double number) { return FigureValue(number); }
Value to_value(std::integral auto number) { return FigureValue(static_cast<double>(number)); }
Value to_value(std::string_view text) { return FigureValue(std::string(text)); }
template <int S, int B, int F, int J, int D>
Value to_value(Quantity<S, B, F, J, D> quantity) {
  return FigureValue(quantity.si());
}
template <class T>
Value to_value(const Known<T>& known) {
  return known ? to_value(*known) : Value(unknown(known.error()));
}
Value to_value(const Value& value) { return value; }
template <class E>
requires std::is_enum_v<E> Value to_value(E name) { return to_value(config::name_of(name)); }

/// A figure of every run. `get`, a function or a member, gives a quantity, a number, a text, or a Known one
/// of them.
template <class Get>
Getter of(Get get) {
  return [get](const Run& run) { return to_value(std::invoke(get, run)); };
}

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

/// A figure of runs of many updates.
template <class Get>
Getter of_updates(Get get) {
  return [get](const Run& run) {
    const Updates* updates = updates_of(run);
    return updates != nullptr ? to_value(std::invoke(get, *updates)) : Value(none());
  };
}

constexpr const char* always_fresh =
    "each update is a step of all ranks: gradients are fresh and none is cancelled";

/// The same if a reader would look for it in every run: null with a reason, never absent.
template <class Get>
Getter of_updates_or_reason(Get get) {
  return [get](const Run& run) {
    const Updates* updates = updates_of(run);
    return updates != nullptr ? to_value(std::invoke(get, *updates)) : Value(unknown(always_fresh));
  };
}

/// A figure of runs that read real data.
template <class Get>
Getter of_input(Get get) {
  return [get](const Run& run) { return run.input ? to_value(std::invoke(get, *run.input)) : Value(none()); };
}

/// A figure of whole jobs.
template <class Get>
Getter of_job(Get get) {
  return [get](const Run& run) { return run.job ? to_value(std::invoke(get, *run.job)) : Value(none()); };
}

/// A figure of jobs that end at a target.
template <class Get>
Getter of_target_job(Get get) {
  return [get](const Run& run) {
    return run.job && run.job->target ? to_value(std::invoke(get, run)) : Value(none());
  };
}

Value epochs_to_target(const Run& run) {
  const std::optional<double>& epochs = run.job->target->epochs;
  return epochs ? to_value(*epochs) : Value(unknown("the model does not state the samples of an epoch"));
}

/// An end of the interval of what is in proportion to the time to the target.
template <class Get>
Getter target_end(double FactorRange::*end, Get get) {
  return of_target_job([=](const Run& run) -> Value {
    const Value value = to_value(get(*run.job));
    const Known<FactorRange> range = range_of_target(run);
    if (!value) return value;
    return range ? to_value((*range).*end * std::get<double>(*value)) : Value(unknown(range.error()));
  });
}

/// A figure of what a job of a fixed number of epochs reaches.
template <class Get>
Getter of_accuracy_at_end(Get get) {
  return [get](const Run& run) -> Value {
    if (!run.job) return none();
    const Known<JobAccuracy>& accuracy = run.job->accuracy;
    return accuracy ? to_value(std::invoke(get, *accuracy)) : Value(unknown(accuracy.error()));
  };
}

Value use_of_host(const Run& run, Known<double> InputReport::*share) {
  return run.input ? to_value(*run.input.*share)
                   : Value(unknown("input is synthetic: no samples are read and decoded"));
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
    return shares_model(run.experiment)
               ? Value(unknown(run.experiment.settings.traces
                                   ? "ranks replay traces of their own: no GPU runs the step alone"
                                   : "a rank holds only a part of the model: no GPU runs the step alone"))
               : to_value(std::invoke(get, run.pace));
  };
}

Value overhead(const Run& run) {
  if (shares_model(run.experiment)) return against_one_gpu(&Pace::one_rank)(run);
  const Updates* updates = updates_of(run);
  if (updates != nullptr && (!is_synchronous(updates->settings.rule) || updates->settings.push_every > 1))
    return unknown("an update is not one step of every rank");
  return to_value(run.pace.time - run.pace.one_rank);
}

Value input_limit(const InputReport& input) {
  const Known<double>& rate = input.samples_per_s_and_node;
  return rate ? to_value(name_of(input.loading.limit)) : Value(unknown(rate.error()));
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

Value lead(const Updates& updates) {
  return updates.settings.rule == UpdateRule::ssp ? to_value(updates.lead) : Value(none());
}

Value useful_throughput(const Run& run) {
  if (run.faults || updates_of(run) != nullptr) return to_value(goodput(run));
  return unknown("same as throughput: synchronous run without faults");
}

Value busiest_link(const Run& run) {
  return run.links.busiest.empty() ? Value(unknown("nothing was sent"))
                                   : to_value(std::string_view(run.links.busiest));
}

/// A member of a part of the run that may be unknown.
template <class Part, class T>
Getter of_part(Known<Part> Run::*part, T Part::*member) {
  return [=](const Run& run) -> Value {
    const Known<Part>& known = run.*part;
    return known ? to_value((*known).*member) : Value(unknown(known.error()));
  };
}

/// A member of the memory report of the class whose GPUs are fullest.
template <class T>
Getter of_fullest(T MemoryReport::*member) {
  return [=](const Run& run) -> Value {
    return run.memory ? to_value(fullest(*run.memory).*member) : Value(unknown(run.memory.error()));
  };
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

using enum FigureUnit;

std::vector<Figure> figures_of_the_job() {  // The job.
  return {
      Figure{"experiment", "experiment", FigureUnit::text, "the name of the experiment's file", "",
             job_itself, of([](auto& run) -> std::string_view { return run.experiment.name; })},
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

std::vector<Figure> figures_of_speed() {  // How fast it is.
  return {
      Figure{"step_time_s", "step time", FigureUnit::time,
             "one optimizer update, from the first kernel to the last; for runs of many updates, the "
             "median time of an update",
             "", everywhere, of([](auto& run) { return run.pace.time; })},
      Figure{"throughput_samples_per_s", "throughput", samples_per_s, "`global_batch` / step time", "",
             everywhere, of([](auto& run) { return run.pace.throughput; })},
      Figure{"throughput_low_samples_per_s", "throughput, low", samples_per_s,
             "lower end of the expected error: 80 % of comparable published runs lie between both ends", "",
             in_tables, expected_throughput(&ExpectedError::low)},
      Figure{"throughput_high_samples_per_s", "throughput, high", samples_per_s,
             "upper end of the expected error", "", in_tables, expected_throughput(&ExpectedError::high)},
      Figure{"throughput_tokens_per_s", "tokens", tokens_per_s,
             "samples per second x sequence length, of models that read sequences", "", in_tables,
             of(tokens_per_second)},
      Figure{"speedup", "speedup", times, "throughput over that of one GPU", "", in_tables,
             against_one_gpu(&Pace::speedup)},
      Figure{"scaling_efficiency", "scaling efficiency", share, "`speedup` over the number of ranks", "",
             everywhere, against_one_gpu(&Pace::efficiency)},
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
      Figure{"one_rank_step_time_s", "one GPU alone", FigureUnit::time,
             "the same step on one GPU with the same batch per GPU", "", in_tables,
             against_one_gpu(&Pace::one_rank)},
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

std::vector<Figure> figures_of_use() {  // How busy the machine is.
  return {
      Figure{"gpu_utilization", "GPU utilization", share, "compute time / step time", "", in_tables,
             of(&Run::gpu_utilization)},
      Figure{"network_utilization", "network utilization", share,
             "bytes / (capacity x step time), mean over the links used", "", in_sweeps,
             of([](auto& run) { return run.links.mean; })},
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

std::vector<Figure> figures_of_input_data() {  // Reading real data.
  return {
      Figure{"input_time_s", "input", FigureUnit::time,
             "with real data: time a node needs to prepare the samples of its ranks for one step", "",
             summary_only, of_input([](auto& input) { return input.loading.time; })},
      Figure{"input_limit", "input limit", FigureUnit::text,
             "with real data: the longest part of `input_time_s`: `cores`, `storage`, `memory` or `decoder`",
             "host CPUs and data loading", summary_only, of_input(input_limit)},
      Figure{"input_samples_per_s_and_node", "input rate", samples_per_s,
             "with real data: samples that a node can prepare per second", "host CPUs and data loading",
             summary_only, of_input(&InputReport::samples_per_s_and_node)},
      Figure{"exposed_input_s", "exposed input", FigureUnit::time,
             "with real data: the part of a step in which GPUs wait for samples", "", in_sweeps,
             of_input(&InputReport::exposed)},
      Figure{"cpu_utilization", "host CPUs", share,
             "with real data: utilization of the CPU cores by decoding samples and summing gradients "
             "for servers, on the node with the most ranks",
             "host CPUs and data loading", in_sweeps,
             of([](auto& run) { return use_of_host(run, &InputReport::cpu_utilization); })},
      Figure{"storage_utilization", "storage", share,
             "with real data: bytes read, relative to the bandwidth of the storage, on the node with the "
             "most ranks",
             "storage", in_sweeps,
             of([](auto& run) { return use_of_host(run, &InputReport::storage_utilization); })}};
}

std::vector<Figure> figures_of_many_updates() {  // Many updates.
  return {Figure{"update_rule", "update rule", FigureUnit::text,
                 "for runs of many updates: which gradients an update waits for", "", summary_only,
                 of_updates([](auto& updates) { return config::name_of(updates.settings.rule); })},
          Figure{"updates_per_s", "updates", per_second, "updates per second, of runs of many updates", "",
                 in_sweeps, of_updates_or_reason([](auto& updates) { return 1 / updates.time.median.si(); })},
          Figure{"update_time_low_s", "fastest repeat", FigureUnit::time,
                 "time of an update in the fastest repeat", "", summary_only,
                 of_updates([](auto& updates) { return updates.time.low; })},
          Figure{"update_time_high_s", "slowest repeat", FigureUnit::time,
                 "time of an update in the slowest repeat", "", summary_only,
                 of_updates([](auto& updates) { return updates.time.high; })},
          Figure{"update_time_confidence", "confidence", share,
                 "probability that the median of all possible repeats lies between `update_time_low_s` and "
                 "`update_time_high_s`",
                 "", summary_only, of_updates([](auto& updates) { return updates.time.confidence; })},
          Figure{"gradients_per_update", "gradients per update", FigureUnit::number,
                 "gradients that an update applies, mean", "", summary_only,
                 of_updates(&Updates::gradients_per_update)},
          Figure{"steps_per_gradient", "steps per gradient", FigureUnit::number,
                 "local steps of a rank between two pushes", "", summary_only,
                 of_updates([](auto& updates) { return updates.settings.push_every; })},
          Figure{"updates_measured", "updates measured", FigureUnit::count, "updates measured in each repeat",
                 "", summary_only, of_updates(&Updates::measured_updates)},
          Figure{"repeats", "repeats", FigureUnit::count,
                 "repetitions of the run, each with different random draws", "", summary_only,
                 of_updates([](auto& updates) { return updates.counts.repeats; })},
          Figure{"staleness_mean", "staleness", FigureUnit::number,
                 "updates between reading the parameters and applying the gradient, 1 is fresh; mean", "",
                 key_in_sweeps, of_updates_or_reason([](auto& updates) { return updates.staleness.mean; })},
          Figure{"staleness_max", "largest staleness", FigureUnit::count, "the largest staleness", "",
                 in_sweeps, of_updates_or_reason([](auto& updates) { return updates.staleness.max; })},
          Figure{"lead_steps_max", "lead", FigureUnit::count,
                 "with `ssp`: largest lead of a rank over the slowest one, in finished steps", "",
                 summary_only, of_updates(lead)},
          Figure{"wasted_compute_s", "wasted computing", FigureUnit::time,
                 "cancelled computing of all ranks, per update", "", in_sweeps,
                 of_updates_or_reason(&Updates::wasted)},
          Figure{"wasted_energy_j", "wasted energy", energy,
                 "energy that GPUs draw for `wasted_compute_s`, per update", "", summary_only,
                 of_updates_or_reason(&Updates::wasted_energy)},
          Figure{"goodput_samples_per_s", "goodput", samples_per_s,
                 "for runs of many updates and jobs with faults: useful samples per second, after "
                 "faults and checkpoints",
                 "", everywhere, useful_throughput}};
}

/// A figure of runs that learn.
template <class Get>
Getter of_learning_run(Get get) {
  return [get](const Run& run) {
    return run.learning ? to_value(std::invoke(get, *run.learning)) : Value(none());
  };
}

/// A figure of runs that learn, over their repeats.
Getter of_repeats(Quartiles Learning::*figure, std::optional<double> Quartiles::*quartile,
                  bool is_of_target) {
  return of_learning_run([=](const Learning& learning) -> Value {
    if (is_of_target && !learning.has_target) return unknown("no target is given (learn.target)");
    const std::optional<double>& value = learning.*figure.*quartile;
    if (value) return to_value(*value);
    if (learning.diverged > 0 && learning.not_learnt > 0)
      return unknown("the loss diverged or ended above its start in too many of the repeats");
    if (learning.diverged > 0) return unknown("the loss diverged in too many of the repeats");
    if (learning.not_learnt > 0) return unknown("the loss ended above its start in too many of the repeats");
    return unknown(
        is_of_target
            ? "the target was not reached in enough of the repeats"
            : "the replay ended at its goal (learn.until), the curve has too few points, or no error "
              "is defined");
  });
}

std::vector<Figure> figures_of_learning() {  // With `learn`.
  struct Fields {
    std::array<std::string_view, 3> fields, labels;
    FigureUnit unit{};
    std::string_view doc;
    Quartiles Learning::*figure;
    Shown shown;
  };
  const Fields all[] = {
      {{"final_loss", "final_loss_low", "final_loss_high"},
       {"final loss", "final loss, low", "final loss, high"},
       FigureUnit::number,
       "with `learn`: training loss, mean of the last quarter of the time; median of the repeats",
       &Learning::final_loss,
       of_learning},
      {{"error_floor", "error_floor_low", "error_floor_high"},
       {"error floor", "error floor, low", "error floor, high"},
       share,
       "with `learn`: fraction of test samples that are wrong (of training samples if there is no test set), "
       "mean of the last quarter of the time; median of the repeats",
       &Learning::error_floor,
       of_learning_in_tables}};
  std::vector<Figure> figures;
  for (const Fields& one : all) {
    constexpr std::array quartiles{&Quartiles::median, &Quartiles::low, &Quartiles::high};
    constexpr std::array docs{std::string_view(), std::string_view("the quartile below it"),
                              std::string_view("the quartile above it; null if fewer than three quarters of "
                                               "the repeats get there")};
    for (std::size_t i = 0; i < quartiles.size(); ++i) {
      figures.push_back({one.fields[i], one.labels[i], one.unit, i == 0 ? one.doc : docs[i], "",
                         i == 0 ? one.shown : of_learning_in_sweeps,
                         of_repeats(one.figure, quartiles[i], false)});
    }
  }
  figures.push_back({"diverged", "diverged repeats", FigureUnit::count,
                     "with `learn`: repeats whose loss was not a number, or more than a million times its "
                     "start",
                     "", of_learning_in_tables, of_learning_run(&Learning::diverged)});
  figures.push_back({"not_learnt", "repeats that did not learn", FigureUnit::count,
                     "with `learn`: repeats whose loss ended above its start without having met a target", "",
                     of_learning_in_sweeps, of_learning_run(&Learning::not_learnt)});
  figures.push_back({"learning_time_s", "simulated time of learning", FigureUnit::time,
                     "with `learn`: simulated time at which the replay ended, median of the repeats; "
                     "`final_loss` is that of its last quarter",
                     "", of_learning_in_sweeps, of_repeats(&Learning::time, &Quartiles::median, false)});
  figures.push_back({"learning_repeats", "learning repeats", FigureUnit::count,
                     "with `learn`: repetitions of the replay, each with other batches and starts", "",
                     summary_only, of_learning_run([](auto& learning) { return learning.repeats.size(); })});
  return figures;
}

std::vector<Figure> figures_of_needs() {  // Memory, energy and rent.
  return {
      Figure{"memory_peak_bytes", "memory per GPU", bytes,
             "memory of one rank when the backward pass begins; see workloads/README.md, \"How memory is "
             "counted\"",
             "memory", everywhere, of_fullest(&MemoryReport::peak)},
      Figure{"memory_capacity_bytes", "memory capacity", bytes, "memory of the GPU", "memory", summary_only,
             of_fullest(&MemoryReport::capacity)},
      Figure{"memory_utilization", "memory utilization", share,
             "`memory_peak_bytes` over `memory_capacity_bytes`", "memory", in_sweeps,
             of_fullest(&MemoryReport::utilization)},
      Figure{"energy_per_step_j", "energy per step", energy,
             "energy of all GPUs with a rank and of their nodes: a part of the TDP per state (matrix work, "
             "other ops, waiting), integrated over the step, plus `node.power.overhead`",
             "energy", everywhere, of_part(&Run::energy, &EnergyUse::per_step)},
      Figure{"average_power_w", "power", power, "`energy_per_step_j` over the step time", "energy", in_tables,
             of_part(&Run::energy, &EnergyUse::average)},
      Figure{"rent_usd_per_h", "rent", usd_per_h, "nodes x `node.price.hour`", "", in_sweeps,
             of([](auto& run) { return rent_per_hour(run.experiment.platform, run.nodes); })},
      Figure{"cost_per_epoch_usd", "cost per epoch", usd, "nodes x `node.price.hour` x hours of an epoch",
             "cost", everywhere, of_part(&Run::cost, &EpochCost::per_epoch)}};
}

std::vector<Figure> figures_of_the_whole_job() {  // With `job` or --epochs.
  return {Figure{"job_time_s", "whole job", FigureUnit::time,
                 "with `job`: start-up, training, evaluations, checkpoints and the effect of faults", "",
                 of_whole_job, of_job([](auto& job) { return job.time; })},
          Figure{"job_epochs_time_s", "epochs of the job", FigureUnit::time,
                 "with `job`: its steps and evaluations, without start-up, checkpoints and faults", "",
                 of_whole_job, of_job([](auto& job) { return time_of_epochs(job); })},
          Figure{"job_energy_j", "energy of the job", energy,
                 "with `job`: energy of all GPUs with a rank and of their nodes over `job_time_s`", "energy",
                 of_whole_job, of_job(&WholeJob::energy)},
          Figure{"job_cost_usd", "cost of the job", usd,
                 "with `job`: nodes x `node.price.hour` x hours of `job_time_s`", "cost", of_whole_job,
                 of_job(&WholeJob::rent)}};
}

/// Updates that have begun.
double whole_updates(double number) {
  constexpr double rounding = 1e-9;
  return std::ceil(number - rounding);
}

/// What a learner reached if the run has one, otherwise what a job that ends at a target takes.
Getter reached(Quartiles Learning::*figure, std::optional<double> Quartiles::*quartile,
               const Getter& of_job) {
  return [of_job, of_learner = of_repeats(figure, quartile, true)](const Run& run) {
    return run.learning ? of_learner(run) : of_job(run);
  };
}

/// What the ends of the intervals to a target are: quantiles of predictions, or quartiles of repeats.
Known<FigureValue> share_of_interval(const Run& run) {
  constexpr double between_quartiles = 0.5;
  if (run.learning)
    return run.learning->has_target ? to_value(between_quartiles)
                                    : Value(unknown("no target is given (learn.target)"));
  constexpr double expected = 0.8;
  return of_target_job([](const Run&) { return expected; })(run);
}

std::vector<Figure> figures_of_the_target() {  // With `job.target`, --target or `learn`.
  const auto of_samples = [](std::optional<double> Quartiles::*quartile, auto member) {
    return reached(&Learning::samples_to_target, quartile,
                   of_target_job([member](const Run& run) { return (*run.job->target).*member; }));
  };
  const auto of_updates = [](std::optional<double> Quartiles::*quartile, auto member) {
    return reached(&Learning::updates_to_target, quartile, of_target_job([member](const Run& run) {
      const ReachedTarget& target = *run.job->target;
      return whole_updates(target.*member / (run.pace.throughput * run.pace.time.si()));
    }));
  };
  const auto of_time = [](std::optional<double> Quartiles::*quartile, const Getter& of_job) {
    return reached(&Learning::time_to_target_s, quartile, of_job);
  };
  const Getter whole_time = of_target_job([](const Run& run) { return time_of_epochs(*run.job); });
  return {
      Figure{"target", "target", FigureUnit::text, "with `job.target`: what the training reaches", "",
             summary_only,
             of_target_job([](const Run& run) -> std::string_view { return run.job->target->target; })},
      Figure{"samples_to_target", "samples to target", samples,
             "with `job.target`: samples after which the training ends, from the published runs of the "
             "model's `convergence`; with `learn`: of the learner, median of the repeats",
             "", of_reached_in_tables, of_samples(&Quartiles::median, &ReachedTarget::samples)},
      Figure{"samples_to_target_low", "samples to target, low", samples,
             "`to_target_interval_share` of single runs are expected to need between this and "
             "`samples_to_target_high`",
             "", of_reached_in_tables, of_samples(&Quartiles::low, &ReachedTarget::samples_low)},
      Figure{"samples_to_target_high", "samples to target, high", samples,
             "upper end of that interval; with `learn` null if fewer than three quarters get there", "",
             of_reached_in_tables, of_samples(&Quartiles::high, &ReachedTarget::samples_high)},
      Figure{
          "samples_range", "range of the samples", FigureUnit::batch_range,
          "with `job.target`: `measured`, if the published runs of `convergence` have batches as small and "
          "as large as this, otherwise `below` or `beyond`",
          "", of_target_in_sweeps, of_target_job([](const Run& run) { return run.job->target->range; })},
      Figure{"updates_to_target", "updates to target", FigureUnit::number,
             "`samples_to_target` over the samples of an update, rounded up; with `learn`: of the learner",
             "", of_reached_in_tables, of_updates(&Quartiles::median, &ReachedTarget::samples)},
      Figure{"updates_to_target_low", "updates to target, low", FigureUnit::number,
             "the same at `samples_to_target_low`; with `learn` the quartile of the repeats' updates", "",
             of_reached_in_tables, of_updates(&Quartiles::low, &ReachedTarget::samples_low)},
      Figure{"updates_to_target_high", "updates to target, high", FigureUnit::number,
             "the same at `samples_to_target_high`; with `learn` the quartile of the repeats' updates", "",
             of_reached_in_tables, of_updates(&Quartiles::high, &ReachedTarget::samples_high)},
      Figure{"epochs_to_target", "epochs to target", FigureUnit::number,
             "with `job.target`: `samples_to_target` over the samples of an epoch", "", of_target_in_tables,
             of_target_job(epochs_to_target)},
      Figure{"time_to_target_s", "time to target", FigureUnit::time,
             "with `job.target`: the steps and evaluations until then, without start-up, checkpoints and "
             "faults, as MLPerf's time to train; with `learn`: simulated time until the learner's target is "
             "met at an evaluation, median of the repeats",
             "", of_reached, of_time(&Quartiles::median, whole_time)},
      Figure{"time_to_target_low_s", "time to target, low", FigureUnit::time,
             "`to_target_interval_share` of runs are expected to take between this and "
             "`time_to_target_high_s`: from the expected error of the throughput and the interval of the "
             "samples; with `learn` from the quartiles of the repeats",
             "", of_reached_in_tables,
             of_time(&Quartiles::low, target_end(&FactorRange::low, time_of_epochs))},
      Figure{"time_to_target_high_s", "time to target, high", FigureUnit::time,
             "upper end of that interval; with `learn` null if fewer than three quarters get there", "",
             of_reached_in_tables, of_time(&Quartiles::high, target_end(&FactorRange::high, time_of_epochs))},
      Figure{"to_target_interval_share", "share of runs in the intervals to target", share,
             "share of single runs between `..._to_target_low` and `..._to_target_high`: 0.8 with "
             "`job.target`; 0.5 with `learn`, whose ends are the quartiles of the repeats",
             "", of_reached_in_sweeps, share_of_interval},
      Figure{"cost_to_target_usd", "cost to target", usd,
             "with `job.target`: nodes x `node.price.hour` x hours of `time_to_target_s`", "cost", of_target,
             of_target_job([](const Run& run) { return rent_of_epochs(*run.job); })},
      Figure{"cost_to_target_low_usd", "cost to target, low", usd, "the same at `time_to_target_low_s`", "",
             of_target_in_tables, target_end(&FactorRange::low, rent_of_epochs)},
      Figure{"cost_to_target_high_usd", "cost to target, high", usd, "the same at `time_to_target_high_s`",
             "", of_target_in_tables, target_end(&FactorRange::high, rent_of_epochs)},
      Figure{"energy_to_target_j", "energy to target", energy,
             "with `job.target`: energy of all GPUs with a rank and of their nodes over `time_to_target_s`",
             "energy", of_target, of_target_job([](const Run& run) { return energy_of_epochs(*run.job); })},
      Figure{"energy_to_target_low_j", "energy to target, low", energy,
             "the same if the time is `time_to_target_low_s` at the same power, whose error is not known", "",
             of_target_in_tables, target_end(&FactorRange::low, energy_of_epochs)},
      Figure{"energy_to_target_high_j", "energy to target, high", energy,
             "the same at `time_to_target_high_s`", "", of_target_in_tables,
             target_end(&FactorRange::high, energy_of_epochs)}};
}

std::vector<Figure> figures_of_fixed_epochs() {  // With `job.epochs` of a model that has `fixed_epochs`.
  const auto of_expected = [](auto member) {
    return of_accuracy_at_end([member](const JobAccuracy& its) { return its.expected.*member; });
  };
  return {
      Figure{"expected_accuracy", "accuracy", share,
             "with `job.epochs`: accuracy at the end, from the published runs of the model's "
             "`fixed_epochs` with as many epochs",
             "", of_accuracy, of_expected(&AccuracyAtEnd::accuracy)},
      Figure{"expected_accuracy_low", "accuracy, low", share,
             "80 % of single runs are expected between this and `expected_accuracy_high`", "",
             of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::low)},
      Figure{"expected_accuracy_high", "accuracy, high", share, "upper end of that interval", "",
             of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::high)},
      Figure{"accuracy_metric", "kind of accuracy", FigureUnit::text, "kind of `expected_accuracy`: top-1",
             "", summary_only,
             of_accuracy_at_end([](const JobAccuracy& its) -> std::string_view { return its.table.metric; })},
      Figure{"accuracy_range", "range of the accuracy", FigureUnit::batch_range,
             "`measured`, if the published runs of `fixed_epochs` have batches as small and as large as "
             "this, otherwise `below` or `beyond`",
             "", of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::range)}};
}

std::vector<Figure> all_figures() {
  std::vector<Figure> all;
  for (auto& some : {figures_of_the_job(), figures_of_speed(), figures_of_use(), figures_of_input_data(),
                     figures_of_many_updates(), figures_of_learning(), figures_of_needs(),
                     figures_of_the_whole_job(), figures_of_the_target(), figures_of_fixed_epochs()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

constexpr const auto& ranges = config::Names<BatchRange>::table;

bool is_column(const Figure& figure, SweepOf points) {
  const Shown& shown = figure.shown;
  if (shown.is_of_jobs && !points.has_jobs) return false;
  if (shown.is_of_accuracy && !points.has_accuracy) return false;
  const bool is_of_a_goal = shown.is_of_targets || shown.is_of_learning;
  const bool has_goal =
      (shown.is_of_targets && points.has_targets) || (shown.is_of_learning && points.has_learning);
  if (is_of_a_goal && !has_goal) return false;
  return shown.in_sweeps && figure.unit != FigureUnit::text;
}

/// A number, or the place of a name in its table.
double as_number(const FigureValue& value) {
  if (const auto* const name = std::get_if<std::string>(&value))
    return static_cast<double>(std::ranges::find(ranges, *name, &config::Name<BatchRange>::text) -
                               ranges.begin());
  return std::get<double>(value);
}

}  // namespace

std::span<const Figure> figures() {
  static const std::vector<Figure> table = all_figures();
  return table;
}

std::vector<std::string> sweep_columns(SweepOf points, std::span<const Figure> all) {
  std::vector<std::string> fields;
  for (const Figure& figure : all) {
    if (is_column(figure, points)) fields.emplace_back(figure.field);
  }
  return fields;
}

std::vector<std::optional<double>> sweep_row(const Run& run, SweepOf points, std::span<const Figure> all) {
  std::vector<std::optional<double>> row;
  for (const Figure& figure : all) {
    if (!is_column(figure, points)) continue;
    const Value value = figure.of(run);
    row.push_back(value ? std::optional(as_number(*value)) : std::nullopt);
  }
  return row;
}

std::string_view sweep_name(std::string_view field, double value, std::span<const Figure> all) {
  const auto found = std::ranges::find(all, field, &Figure::field);
  if (found == all.end() || found->unit != FigureUnit::batch_range) return {};
  const auto place = static_cast<std::size_t>(value);
  return value >= 0 && place < ranges.size() ? ranges[place].text : std::string_view();
}

std::map<std::string, std::string> unmodelled(const Run& run, std::span<const Figure> all) {
  std::map<std::string, std::string> reasons;
  for (const Figure& figure : all) {
    const Value value = figure.of(run);
    if (!value && !value.error().empty()) reasons[std::string(figure.field)] = value.error();
  }
  return reasons;
}

std::vector<std::string> unmodelled_topics(const Run& run, std::span<const Figure> all) {
  const auto reasons = unmodelled(run, all);
  std::vector<std::string> topics;
  for (const auto& [field, reason] : reasons) {
    const std::string topic(all[index_of(field, all)].topic);
    if (!topic.empty() && std::ranges::find(topics, topic) == topics.end()) topics.push_back(topic);
  }
  return topics;
}

std::size_t index_of(std::string_view field, std::span<const Figure> all) {
  const auto found = std::ranges::find(all, field, &Figure::field);
  if (found == all.end()) throw std::out_of_range(fmt::format("no figure {}", field));
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace trainyard
