#include "run/run.hpp"

#include "compute/op_time.hpp"
#include "config/write.hpp"

namespace trainyard {

const std::string& model_name(const Run& run) {
  const ResolvedExperiment& experiment = run.experiment;
  return experiment.model ? experiment.model->name : experiment.classes.front().trace.model;
}

const Updates* updates_of(const Run& run) { return std::get_if<Updates>(&run.what); }

const Step& step_of(const Run& run) {
  const Updates* updates = updates_of(run);
  return updates != nullptr ? updates->steady : std::get<Step>(run.what);
}

std::optional<NetworkEngine> network_engine(const Run& run) {
  if (const Updates* const updates = updates_of(run); updates != nullptr && updates->network)
    return updates->network;
  const Step& step = step_of(run);
  if (step.plan.graph.collectives.empty()) return std::nullopt;
  return step.timeline.network;
}

Seconds exposed_communication(const Run& run) {
  const Updates* updates = updates_of(run);
  return updates != nullptr ? mean_per_update(*updates, sum_of(updates->workers).communicating)
                            : slowest_class(step_of(run)).exposed;
}

Seconds communication_time(const Run& run) {
  return updates_of(run) != nullptr ? exposed_communication(run) : slowest_class(step_of(run)).communication;
}

Seconds compute_time(const Run& run) {
  return updates_of(run) != nullptr ? run.pace.one_rank : slowest_class(step_of(run)).compute;
}

Known<Seconds> epoch_time(const Run& run) {
  const Known<double> samples = samples_of_epoch(run);
  if (!samples) return unknown(samples.error());
  return Seconds{*samples / run.pace.throughput};
}

Known<double> tokens_per_second(const Run& run) {
  const std::optional<Model>& model = run.experiment.model;
  if (!model || !model->sequence_length) return unknown("the model does not read sequences");
  return run.pace.throughput * *model->sequence_length;
}

Known<double> tokens_per_second_and_gpu(const Run& run) {
  const Known<double> tokens = tokens_per_second(run);
  return tokens ? Known<double>(*tokens / run.ranks) : unknown({});
}

Known<double> tokens_per_dollar(const Run& run) {
  const Known<double> tokens = tokens_per_second(run);
  if (!tokens) return unknown({});
  const Known<double> rent = rent_per_hour(run.experiment.platform, run.nodes);
  if (!rent) return rent;
  constexpr double seconds_per_hour = 3600;
  return *tokens * seconds_per_hour / *rent;
}

std::string_view matrix_dtype_name(const Run& run) {
  return config::name_of(matrix_dtype(run.experiment.gpu, run.experiment.settings.precision));
}

double goodput(const Run& run) { return run.pace.throughput * (run.faults ? run.faults->share : 1); }

std::string resolved_text(const Run& run) { return config::write(run.experiment.settings); }

std::vector<std::pair<std::string, std::string>> resolved_keys(const Experiment& settings) {
  config::Node tree = config::to_node(settings);
  std::vector<std::pair<std::string, std::string>> keys;
  for (const config::Node::Entry& entry : tree.entries) {
    if (entry.key != "set") continue;
    for (const config::Node::Entry& one : entry.value.entries) keys.emplace_back(one.key, one.value.scalar);
  }
  std::erase_if(tree.entries, [](const config::Node::Entry& entry) { return entry.key == "set"; });
  for (const auto& [path, value] : config::values_by_path(tree)) keys.emplace_back(path, value);
  return keys;
}

const std::vector<TimelineEvent>& timeline_of(const Run& run) {
  const Updates* updates = updates_of(run);
  return updates != nullptr ? updates->bars : step_of(run).bars;
}

namespace {

/// FLOPs without rows that are padded or that only the fullest rank of a group of experts computes.
Flops model_flops(const Op& op, const std::vector<Layer>& layers) {
  if (op.of_layer < 0 || layers.empty()) return op.flops;
  return op.flops / std::max(1.0, layers[at(op.of_layer)].load);
}

}  // namespace

Known<MatrixWork> matrix_work(const ResolvedExperiment& resolved, double steps_per_second) {
  const int micro_batches = resolved.layout ? resolved.layout->micro_batches : 1;
  MatrixWork work;
  double ranks = 0;
  for (const RankClass& one : resolved.classes) {
    Flops flops;
    for (std::size_t i = 0; i < one.trace.ops.size(); ++i) {
      const Op& op = one.trace.ops[i];
      if (is_matrix(op.kind) && op.role != OpRole::recompute)
        flops += runs_of(one, static_cast<int>(i), micro_batches) * model_flops(op, one.layers);
    }
    work.flops += static_cast<double>(one.ranks.size()) * flops;
    ranks += static_cast<double>(one.ranks.size());
  }
  work.flops = work.flops / ranks;
  if (work.flops <= Flops()) return unknown("the trace has no matrix work with FLOPs");
  work.rate = work.flops * steps_per_second / Seconds{1};
  work.utilization = work.rate / peak_rate(resolved.gpu, resolved.settings.precision);
  return work;
}

Known<double> rent_per_hour(const Platform& platform, int nodes) {
  if (platform.price.hour) return nodes * platform.price.hour->value.si();
  return unknown(platform.name + " states no price per hour (node.price.hour)" +
                 (platform.price.list ? "; a list price is not converted into one" : ""));
}

bool is_rent_assumed(const Platform& platform) {
  return platform.price.hour && platform.price.hour->is_assumed();
}

Known<EpochCost> epoch_cost(const Platform& platform, int nodes, const Known<Seconds>& epoch) {
  const Known<double> rent = rent_per_hour(platform, nodes);
  if (!rent) return unknown(rent.error());
  if (!epoch) return unknown(epoch.error());
  constexpr Seconds hour{3600};
  const Sourced<Dollars>& price = *platform.price.hour;
  return EpochCost{.per_epoch = nodes * (*epoch / hour) * price.value,
                   .per_node_hour = price.value,
                   .date = platform.price.date,
                   .is_assumed = is_rent_assumed(platform)};
}

}  // namespace trainyard
