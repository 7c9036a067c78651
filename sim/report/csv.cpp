#include "report/csv.hpp"

#include "learn/learn.hpp"
#include "run/layout_parts.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <initializer_list>
#include <string_view>

namespace trainyard {

namespace {

void append_fields(std::string& csv, std::initializer_list<std::string_view> fields) {
  bool is_first = csv.empty() || csv.back() == '\n';
  for (const std::string_view field : fields) {
    if (!is_first) csv += ',';
    is_first = false;
    append_csv_cell(csv, field);
  }
}

void append_row(std::string& csv, std::initializer_list<std::string_view> fields) {
  append_fields(csv, fields);
  csv += '\n';
}

template <class Q>
std::string si(Q quantity) {
  return digits12(quantity.si());
}

}  // namespace

std::string ops_csv(const Run& run) {
  const bool has_stages = has_bubbles(run.experiment);
  std::string csv = "rank,phase,layer,kind,shape,flops,bytes,parameter_bytes,duration_s,source,start_s,end_s";
  csv += has_stages ? ",stage,runs\n" : "\n";
  const std::vector<ClassStep>& classes = step_of(run).classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const OpRow& row : classes[i].ops) {
      append_fields(
          csv, {std::to_string(index(classes[i].first)), config::name_of(row.phase), row.layer,
                config::name_of(row.kind), row.shape, si(row.flops), si(row.bytes), si(row.parameter_bytes),
                si(row.duration), config::name_of(row.source), si(row.start), si(row.end)});
      if (has_stages)
        append_fields(csv, {std::to_string(run.experiment.classes[i].stage), std::to_string(row.runs)});
      csv += '\n';
    }
  }
  return csv;
}

std::string ranks_csv(const Run& run) {
  std::string csv = "rank,node,gpu,compute_s,communication_s,end_s\n";
  for (const RankRow& row : run.rank_rows) {
    append_row(csv, {std::to_string(index(row.rank)), std::to_string(index(row.node)), row.gpu,
                     si(row.compute), si(row.communication), si(row.end)});
  }
  return csv;
}

std::string workers_csv(const Updates& updates) {
  std::string csv = "rank,node,computing_s,wasted_s,communicating_s,waiting_s,loading_s,gradients\n";
  for (const WorkerRow& row : updates.workers) {
    append_row(csv, {std::to_string(index(row.rank)), std::to_string(index(row.node)), si(row.computing),
                     si(row.wasted), si(row.communicating), si(row.waiting), si(row.loading),
                     std::to_string(row.gradients)});
  }
  return csv;
}

std::string staleness_csv(const Updates& updates) {
  std::string csv = "staleness_updates,gradients\n";
  for (std::size_t age = 1; age < updates.staleness.gradients.size(); ++age)
    append_row(csv, {std::to_string(age), std::to_string(updates.staleness.gradients[age])});
  return csv;
}

std::string servers_csv(const Updates& updates) {
  std::string csv = "server,utilization\n";
  for (const ServerRow& row : updates.servers) append_row(csv, {row.name, digits12(row.utilization)});
  return csv;
}

std::string learning_csv(const Learning& learning) {
  const auto cell = [](const std::optional<double>& value) {
    return value ? digits12(*value) : std::string();
  };
  std::string csv =
      "repeat,time_s,updates,samples,epochs,train_loss,train_error,test_loss,test_error,staleness_mean,"
      "rate_mean,gradients_per_update,noise_scale_samples\n";
  for (std::size_t repeat = 0; repeat < learning.repeats.size(); ++repeat) {
    for (const LearningPoint& point : learning.repeats[repeat].curve) {
      append_row(csv, {std::to_string(repeat), si(point.at), std::to_string(point.updates),
                       std::to_string(point.samples), cell(point.epochs), digits12(point.train_loss),
                       cell(point.train_error), cell(point.test_loss), cell(point.test_error),
                       cell(point.staleness_mean), cell(point.rate_mean), cell(point.gradients_per_update),
                       cell(point.noise_scale)});
    }
  }
  return csv;
}

std::string checkpoints_csv(const FaultReport& faults) {
  std::string csv = "interval_s,wall_s,goodput_share,wall_closed_form_s\n";
  for (const IntervalRow& row : faults.intervals) {
    append_row(
        csv, {si(row.every), row.wall ? si(*row.wall) : "", row.wall ? digits12(faults.work / *row.wall) : "",
              row.expected ? si(*row.expected) : ""});
  }
  return csv;
}

std::string links_csv(std::span<const LinkRow> links) {
  std::string csv = "link,capacity_bytes_per_s,bytes,utilization\n";
  for (const LinkRow& row : links) {
    append_row(csv, {row.name, si(row.capacity), si(row.bytes), digits12(row.utilization)});
  }
  return csv;
}

std::string timings_csv(std::span<const CollectiveTiming> timings) {
  std::string csv =
      "size_bytes,elements,group,algorithm,protocol,channels,time_s,algbw_bytes_per_s,busbw_bytes_per_s,"
      "bound_s,"
      "closed_form_s\n";
  for (const CollectiveTiming& row : timings) {
    append_row(csv, {si(row.size), std::to_string(row.elements), std::to_string(row.group), row.algorithm,
                     row.protocol, std::to_string(row.channels), si(row.time), si(row.algbw), si(row.busbw),
                     si(row.bound), si(row.closed_form)});
  }
  return csv;
}

std::string collectives_csv(const Run& run) {
  const bool has_groups = run.experiment.layout.has_value() || run.experiment.grid.has_value();
  std::string csv =
      "collective,operation,algorithm,protocol,channels,size_bytes,tensors,ready_after,ready_s,start_s,end_s,"
      "duration_s,bound_s,algbw_bytes_per_s,busbw_bytes_per_s";
  csv += has_groups ? ",group,rounds\n" : "\n";
  for (const CollectiveRow& row : step_of(run).collectives) {
    append_fields(csv, {row.name, config::name_of(row.operation), row.algorithm, row.protocol,
                        std::to_string(row.channels), si(row.size), std::to_string(row.tensors),
                        row.ready_after, si(row.ready), si(row.start), si(row.end), si(row.end - row.start),
                        si(row.bound), si(row.algbw), si(row.busbw)});
    if (has_groups) append_fields(csv, {config::name_of(row.axis), std::to_string(row.rounds)});
    csv += '\n';
  }
  return csv;
}

}  // namespace trainyard
