#include "run/figure_getters.hpp"
#include "run/figure_groups.hpp"

#include <vector>

namespace trainyard::figure_groups {

namespace {

/// A member of the memory report of the class whose GPUs are fullest.
template <class T>
Getter of_fullest(T MemoryReport::*member) {
  return [=](const Run& run) -> Value {
    return run.memory ? to_value(fullest(*run.memory).*member) : Value(unknown(run.memory.error()));
  };
}

}  // namespace

std::vector<Figure> figures_of_needs() {
  return {
      Figure{"memory_peak_bytes", "memory per GPU", bytes,
             "memory of one rank when the backward pass begins; see docs/memory.md", "memory", everywhere,
             of_fullest(&MemoryReport::peak)},
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
      Figure{assumed_rent_figure, "assumed rent", usd_per_h,
             "`rent_usd_per_h` if the platform's file calls its price assumed: it is that of another machine",
             "", in_sweeps, of([](auto& run) -> Known<double> {
               const Platform& platform = run.experiment.platform;
               return is_rent_assumed(platform) ? rent_per_hour(platform, run.nodes) : unknown({});
             })},
      Figure{"cost_per_epoch_usd", "cost per epoch", usd, "nodes x `node.price.hour` x hours of an epoch",
             "cost", everywhere, of_part(&Run::cost, &EpochCost::per_epoch)}};
}

std::vector<Figure> figures_of_the_whole_job() {
  return {
      Figure{"job_time_s", "whole job", FigureUnit::time,
             "with `job`: start-up, training, evaluations, checkpoints and the effect of faults", "",
             of_whole_job, of_job([](auto& job) { return job.time; })},
      Figure{"job_epochs_time_s", "epochs of the job", FigureUnit::time,
             "with `job`: its steps and evaluations, without start-up, checkpoints and faults", "",
             of_whole_job, of_job([](auto& job) { return time_of_epochs(job); })},
      Figure{"job_fit_time_s", "fit of the job", FigureUnit::time,
             "with `job`: its epochs, the wait for the slowest reader, the broadcast of the parameters and "
             "callbacks: what a call of fit() takes",
             "", of_job_in_sweeps, of_job([](auto& job) { return time_of_fit(job); })},
      Figure{"job_energy_j", "energy of the job", energy,
             "with `job`: energy of all GPUs with a rank and of their nodes over `job_time_s`", "energy",
             of_whole_job, of_job(&WholeJob::energy)},
      Figure{"job_cost_usd", "cost of the job", usd,
             "with `job`: nodes x `node.price.hour` x hours of `job_time_s`", "cost", of_whole_job,
             of_job(&WholeJob::rent)}};
}

}  // namespace trainyard::figure_groups
