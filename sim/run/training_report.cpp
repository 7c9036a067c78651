#include "run/training_report.hpp"

#include "compute/op_time.hpp"
#include "config/write.hpp"
#include "run/energy.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace trainyard {

namespace {

double time_per_update(const TrainingRecord& record) {
  return (record.ended - record.begun).si() / static_cast<double>(record.updates);
}

/// Index of the repeat with the median time, the lower one of two.
std::size_t median_of(const std::vector<TrainingRecord>& repeats) {
  std::vector<std::size_t> order(repeats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return time_per_update(repeats[i]); });
  return order[(order.size() - 1) / 2];
}

/// What the ranks computed at the power of their ops, the rest of their time idle, and the boxes. Leaves out
/// what the steady step could not tell either.
void add_energy(const Inputs& inputs, const Cluster& cluster, Result& result) {
  if (!result.energy_per_step) return;
  TrainingReport& training = *result.training;
  const Watts computing = computing_power(result.layers, inputs.gpu);
  const Watts idle = inputs.gpu.power->idle.value * inputs.gpu.tdp.value;
  Joules sum = static_cast<double>(cluster.nodes) * node_overhead(inputs.platform, inputs.gpu)->value *
               training.measured;
  for (const WorkerRow& worker : training.workers)
    sum += computing * worker.computing + idle * (training.measured - worker.computing);
  result.energy_per_step = sum / static_cast<double>(training.updates);
  result.average_power = *result.energy_per_step / result.step_time;
  training.wasted_energy = computing * training.wasted;
}

}  // namespace

TrainingReport training_report(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                               const UpdateSettings& settings, int ranks_per_worker,
                               const StepCounts& steps) {
  const TrainingRecord& median = repeats[median_of(repeats)];
  TrainingReport report;
  report.settings = settings;
  report.ranks_per_worker = ranks_per_worker;
  report.steps = steps;
  report.staleness = median.staleness;
  report.updates = median.updates;
  report.measured = median.ended - median.begun;
  report.update_time = {.median = time_per_update(median), .low = time_per_update(median), .high = 0};
  for (const TrainingRecord& repeat : repeats) {
    report.update_time.low = std::min(report.update_time.low, time_per_update(repeat));
    report.update_time.high = std::max(report.update_time.high, time_per_update(repeat));
  }
  // All of n independent runs on one side of the median: 2 in 2^n.
  report.confidence = repeats.size() > 1 ? 1 - std::ldexp(1.0, 1 - static_cast<int>(repeats.size())) : 0;
  report.gradients_per_update = static_cast<double>(median.gradients) / static_cast<double>(median.updates);
  double sum = 0;
  for (std::size_t age = 0; age < median.staleness.size(); ++age)
    sum += static_cast<double>(age) * static_cast<double>(median.staleness[age]);
  report.staleness_mean = sum / static_cast<double>(median.gradients);
  report.staleness_max = static_cast<int>(median.staleness.size()) - 1;
  report.lead = median.lead;
  report.spans = median.spans;
  for (int number = 0; number < settings.workers * ranks_per_worker; ++number) {
    const WorkerRecord& its = median.workers[at(number / ranks_per_worker)];
    const Rank rank{number};
    report.workers.push_back({.rank = rank,
                              .node = cluster.node_of(rank),
                              .computing = its.computing,
                              .communicating = its.communicating,
                              .waiting = its.waiting,
                              .loading = its.loading,
                              .wasted = its.wasted,
                              .gradients = its.gradients});
    report.wasted += its.wasted / static_cast<double>(median.updates);
  }
  return report;
}

std::optional<Seconds> shown_until(const TrainingReport& training) {
  constexpr double all = 0.999;  // of the measured time: what is under way at its end is not kept
  if (training.spans.empty() || training.spans.back().ended >= all * training.measured) return std::nullopt;
  return training.spans.back().ended;
}

void describe_training(const Inputs& inputs, const Cluster& cluster, Result& result) {
  const TrainingReport& training = *result.training;
  result.resolved = inputs.experiment;
  result.ranks = training.settings.workers * training.ranks_per_worker;
  result.resolved.gpus = result.ranks;
  result.resolved_experiment = config::write(result.resolved);
  result.nodes = cluster.nodes;
  const double samples_per_step =
      static_cast<double>(inputs.experiment.batch_per_gpu) * inputs.experiment.accumulation;
  const double samples_per_gradient =
      samples_per_step * training.settings.push_every * training.ranks_per_worker;
  result.global_batch = std::llround(samples_per_gradient * training.gradients_per_update);
  result.step_time = Seconds{training.update_time.median};
  result.throughput = samples_per_gradient * training.gradients_per_update / result.step_time.si();
  result.speedup = result.throughput * result.one_rank_step_time.si() / samples_per_step;
  result.scaling_efficiency = result.speedup / result.ranks;
  if (result.epoch_time) result.epoch_time = Seconds{*inputs.samples_per_epoch / result.throughput};
  if (result.tokens_per_second) result.tokens_per_second = result.throughput * *inputs.model->sequence_length;

  Seconds computing;
  Seconds communicating;
  result.rank_rows.clear();
  for (const WorkerRow& worker : training.workers) {
    result.rank_rows.push_back({.rank = worker.rank,
                                .node = worker.node,
                                .gpu = cluster.platform.node[cluster.gpu_of(worker.rank)].name,
                                .compute = worker.computing,
                                .communication = worker.communicating,
                                .end = training.measured});
    computing += worker.computing;
    communicating += worker.communicating;
  }
  result.gpu_utilization = computing / (training.measured * static_cast<double>(result.ranks));
  const double steps = static_cast<double>(training.updates) * training.gradients_per_update *
                       training.settings.push_every * training.ranks_per_worker;
  result.communication_time = result.exposed_communication = communicating / steps;
  result.achieved_flops_per_gpu =
      result.model_flops * (result.throughput / result.ranks / samples_per_step) / Seconds{1};
  if (result.model_flops_utilization)
    result.model_flops_utilization =
        result.achieved_flops_per_gpu / peak_rate(inputs.gpu, inputs.experiment.precision);
  result.communication_overhead = result.step_time - result.one_rank_step_time;
  if (!is_synchronous(training.settings.rule) || training.settings.push_every > 1)
    leave_out(result, {"communication_overhead_s"}, "an update is no step of every rank");
  result.compute_time = result.one_rank_step_time;
  leave_out(result, {"compute_slowdown_s"},
            has_servers(inputs.experiment.sync) ? "gradients and parameters that are sent do not slow kernels"
                                                : "it is part of the exposed communication");
  result.lower_bound = {};
  leave_out(result, {"lower_bound_s"}, "of runs with servers or random times none is known");
  add_energy(inputs, cluster, result);
  result.timeline.clear();
  for (const WorkerSpan& span : training.spans) {
    result.timeline.push_back({.rank = Rank{span.worker * training.ranks_per_worker},
                               .stream = span.activity == Activity::wasted ? Stream::host : Stream::compute,
                               .category = std::string(name_of(span.activity)),
                               .start = span.begun,
                               .end = span.ended});
  }
  if (const auto until = shown_until(training)) {
    result.notes.push_back(fmt::format("trace.json and report.html show the first {} of the measured {}",
                                       human(*until), human(training.measured)));
  }
  if (!training.wasted_energy) leave_out(result, {"wasted_energy_j"}, "what ranks draw is not known");
  result.cost.reset();
  if (const auto reason = cost_unknown(inputs.platform, result.epoch_time)) {
    leave_out(result, {"cost_per_epoch_usd"}, *reason);
  } else {
    result.cost = epoch_cost(inputs.platform, cluster.nodes, *result.epoch_time);
  }
}

}  // namespace trainyard
