#include "report/csv.hpp"

#include "learn/learn.hpp"
#include "run/layout_parts.hpp"
#include "units/csv.hpp"

#include <optional>

namespace trainyard {

std::string ops_csv(const Run& run) {
  const bool has_stages = has_bubbles(run.experiment);
  const std::string heads =
      "rank,phase,layer,kind,shape,flops,bytes,parameter_bytes,duration_s,source,start_s,end_s";
  CsvText csv(heads + (has_stages ? ",stage,runs" : ""));
  const std::vector<ClassStep>& classes = step_of(run).classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const OpRow& row : classes[i].ops) {
      csv.add(index(classes[i].first), config::name_of(row.phase), row.layer, config::name_of(row.kind),
              row.shape, row.flops, row.bytes, row.parameter_bytes, row.duration, config::name_of(row.source),
              row.start, row.end);
      if (has_stages) csv.add(run.experiment.classes[i].stage, row.runs);
      csv.end_row();
    }
  }
  return csv.text();
}

std::string ranks_csv(const Run& run) {
  CsvText csv("rank,node,gpu,compute_s,communication_s,end_s");
  for (const RankRow& row : run.rank_rows) {
    csv.row(index(row.rank), index(row.node), row.gpu, row.compute, row.communication, row.end);
  }
  return csv.text();
}

std::string workers_csv(const Updates& updates) {
  CsvText csv("rank,node,computing_s,wasted_s,communicating_s,waiting_s,loading_s,gradients");
  for (const WorkerRow& row : updates.workers) {
    csv.row(index(row.rank), index(row.node), row.computing, row.wasted, row.communicating, row.waiting,
            row.loading, row.gradients);
  }
  return csv.text();
}

std::string staleness_csv(const Updates& updates) {
  CsvText csv("staleness_updates,gradients");
  for (std::size_t age = 1; age < updates.staleness.gradients.size(); ++age)
    csv.row(age, updates.staleness.gradients[age]);
  return csv.text();
}

std::string servers_csv(const Updates& updates) {
  CsvText csv("server,utilization");
  for (const ServerRow& row : updates.servers) csv.row(row.name, row.utilization);
  return csv.text();
}

std::string learning_csv(const Learning& learning) {
  CsvText csv(
      "repeat,time_s,updates,samples,epochs,train_loss,train_error,test_loss,test_error,staleness_mean,"
      "rate_mean,gradients_per_update,noise_scale_samples");
  for (std::size_t repeat = 0; repeat < learning.repeats.size(); ++repeat) {
    for (const LearningPoint& point : learning.repeats[repeat].curve) {
      csv.row(repeat, point.at, point.updates, point.samples, point.epochs, point.train_loss,
              point.train_error, point.test_loss, point.test_error, point.staleness_mean, point.rate_mean,
              point.gradients_per_update, point.noise_scale);
    }
  }
  return csv.text();
}

std::string job_csv(const Run& run) {
  CsvText csv("phase,start_s,time_s,times,energy_j,cost_usd,power_w,processors_w,memory_w,rest_w");
  Seconds start;
  for (const JobPart& part : run.job->parts) {
    const auto watts = [&](auto of) { return part.power ? std::optional(of(*part.power)) : std::nullopt; };
    const auto known = [](const auto& value) { return value ? std::optional(*value) : std::nullopt; };
    csv.row(config::name_of(part.phase), start, part.time, part.times, known(part.energy), known(part.rent),
            watts([](const JobPower& power) { return power.all(); }),
            watts([](const JobPower& power) { return power.processors; }),
            watts([](const JobPower& power) { return power.memory; }),
            watts([](const JobPower& power) { return power.rest; }));
    start += part.time;
  }
  return csv.text();
}

std::string checkpoints_csv(const FaultReport& faults) {
  CsvText csv("interval_s,wall_s,goodput_share,wall_closed_form_s");
  for (const IntervalRow& row : faults.intervals) {
    csv.row(row.every, row.wall, row.wall ? std::optional(faults.work / *row.wall) : std::nullopt,
            row.expected);
  }
  return csv.text();
}

std::string links_csv(std::span<const LinkRow> links) {
  CsvText csv("link,capacity_bytes_per_s,bytes,utilization");
  for (const LinkRow& row : links) {
    csv.row(row.name, row.capacity, row.bytes, row.utilization);
  }
  return csv.text();
}

std::string timings_csv(std::span<const CollectiveTiming> timings) {
  CsvText csv(
      "size_bytes,elements,group,algorithm,protocol,channels,time_s,algbw_bytes_per_s,busbw_bytes_per_s,"
      "bound_s,"
      "closed_form_s");
  for (const CollectiveTiming& row : timings) {
    csv.row(row.size, row.elements, row.group, row.algorithm, row.protocol, row.channels, row.time, row.algbw,
            row.busbw, row.bound, row.closed_form);
  }
  return csv.text();
}

std::string collectives_csv(const Run& run) {
  const bool has_groups = run.experiment.layout.has_value() || run.experiment.grid.has_value();
  const std::string heads =
      "collective,operation,algorithm,protocol,channels,size_bytes,tensors,ready_after,ready_s,start_s,end_s,"
      "duration_s,bound_s,algbw_bytes_per_s,busbw_bytes_per_s";
  CsvText csv(heads + (has_groups ? ",group,rounds" : ""));
  for (const CollectiveRow& row : step_of(run).collectives) {
    csv.add(row.name, config::name_of(row.operation), row.algorithm, row.protocol, row.channels, row.size,
            row.tensors, row.ready_after, row.ready, row.start, row.end, row.end - row.start, row.bound,
            row.algbw, row.busbw);
    if (has_groups) csv.add(config::name_of(row.axis), row.rounds);
    csv.end_row();
  }
  return csv.text();
}

}  // namespace trainyard
