#include "report/summary_json.hpp"

#include "config/write.hpp"
#include "report/memory_table.hpp"
#include "report/unmodelled.hpp"
#include "run/step_parts.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

void add_what_ran(Json& json, const Result& result) {
  json["experiment"] = result.experiment;
  json["platform"] = result.resolved.platform;
  json["model"] = result.model;
  json["stack"] = result.resolved.stack;
  json["precision"] = config::name_of(result.resolved.precision);
  json["optimizer"] = config::name_of(result.resolved.optimizer);
  json["batch_per_gpu"] = result.resolved.batch_per_gpu;
  json["accumulation"] = result.resolved.accumulation;
  json["global_batch"] = result.global_batch;
  json["ranks"] = result.ranks;
  json["nodes"] = result.nodes;
  json["fidelity"] = result.fidelity;
}

void add_times(Json& json, const Result& result) {
  json["step_time_s"] = result.step_time.si();
  json["throughput_samples_per_s"] = result.throughput;
  if (result.tokens_per_second) json["throughput_tokens_per_s"] = *result.tokens_per_second;
  json["speedup"] = result.speedup;
  json["scaling_efficiency"] = result.scaling_efficiency;
  json["communication_overhead_s"] = result.communication_overhead.si();
  json["compute_time_s"] = result.compute_time.si();
  json["compute_slowdown_s"] = result.compute_slowdown.si();
  json["communication_time_s"] = result.communication_time.si();
  json["exposed_communication_s"] = result.exposed_communication.si();
  json["one_rank_step_time_s"] = result.one_rank_step_time.si();
  json["lower_bound_s"] = result.lower_bound.si();
  json["epoch_time_s"] = result.epoch_time ? Json(result.epoch_time->si()) : Json();
}

/// The step time in parts that add up to it, and the exposed communication collective by collective.
void add_parts(Json& json, const Result& result) {
  const StepParts split = step_parts(result);
  Json& parts = json["step_parts_s"] = Json::object();
  for (const PartTime& part : split.parts) parts[std::string(config::name_of(part.part))] = part.time.si();
  Json& collectives = json["exposed_collectives"] = Json::array();
  for (const ExposedCollective& one : split.collectives) {
    const CollectiveRow& row = result.collectives[at(one.collective)];
    collectives.push_back({{"collective", row.name},
                           {"operation", config::name_of(row.operation)},
                           {"exposed_s", one.exposed.si()}});
  }
}

/// The resolved experiment by key; `set` as on the command line ("platform.fabric.nic").
void add_experiment(Json& json, const Result& result) {
  config::Node tree = config::to_node(result.resolved);
  Json& keys = json["resolved_experiment"] = Json::object();
  for (const config::Node::Entry& entry : tree.entries) {
    if (entry.key != "set") continue;
    for (const config::Node::Entry& one : entry.value.entries) keys[one.key] = one.value.scalar;
  }
  std::erase_if(tree.entries, [](const config::Node::Entry& entry) { return entry.key == "set"; });
  for (const auto& [path, value] : config::values_by_path(tree)) keys[path] = value;
}

void add_utilization(Json& json, const Result& result) {
  json["gpu_utilization"] = result.gpu_utilization;
  json["network_utilization"] = result.network_utilization;
  json["link_utilization_max"] = result.link_utilization_max;
  json["busiest_link"] = result.busiest_link.empty() ? Json() : Json(result.busiest_link);
  json["model_flops"] = result.model_flops.si();
  json["achieved_flops_per_gpu"] = result.achieved_flops_per_gpu.si();
  const std::optional<double>& mfu = result.model_flops_utilization;
  json["model_flops_utilization"] = mfu ? Json(*mfu) : Json();
}

/// Of runs that read real data.
void add_input(Json& json, const Result& result) {
  if (!result.input) return;
  const InputReport& input = *result.input;
  json["input_time_s"] = input.pipeline.time.si();
  if (input.pipeline.time > Seconds{}) {
    json["input_limit"] = name_of(input.pipeline.limit);
    json["input_samples_per_s_and_node"] = input.pipeline.samples / input.pipeline.time.si();
  }
  json["exposed_input_s"] = input.exposed.si();
  if (input.cpu_utilization) json["cpu_utilization"] = *input.cpu_utilization;
  if (input.storage_utilization) json["storage_utilization"] = *input.storage_utilization;
}

/// Of runs that are many updates long.
void add_training(Json& json, const Result& result) {
  if (!result.training) return;
  const TrainingReport& training = *result.training;
  const double per_step = training.settings.push_every;
  json["update_rule"] = config::name_of(training.settings.rule);
  json["updates_per_s"] = 1 / training.update_time.median;
  json["update_time_low_s"] = training.update_time.low;
  json["update_time_high_s"] = training.update_time.high;
  json["update_time_confidence"] = training.confidence;
  json["gradients_per_update"] = training.gradients_per_update;
  json["steps_per_gradient"] = per_step;
  json["updates_measured"] = training.updates;
  json["repeats"] = training.steps.repeats;
  json["staleness_mean"] = training.staleness_mean;
  json["staleness_max"] = training.staleness_max;
  if (training.settings.rule == UpdateRule::ssp) json["lead_steps_max"] = training.lead;
  json["wasted_compute_s"] = training.wasted.si();
  if (training.wasted_energy) json["wasted_energy_j"] = training.wasted_energy->si();
  Json servers = Json::array();
  for (const ServerRow& server : training.servers)
    servers.push_back({{"name", server.name}, {"utilization", server.utilization}});
  json["servers"] = std::move(servers);
}

Json seconds_or_null(const std::optional<Seconds>& time) { return time ? Json(time->si()) : Json(); }

/// Of jobs in which something fails: means over the runs.
Json faults_json(const FaultReport& faults) {
  return {{"work_s", faults.work.si()},
          {"wall_s", faults.wall.si()},
          {"lost_s", faults.lost.si()},
          {"slowed_s", faults.slowed.si()},
          {"writing_s", faults.writing.si()},
          {"restarting_s", faults.restarting.si()},
          {"faults", faults.faults},
          {"restarts", faults.restarts},
          {"runs", faults.runs},
          {"goodput_share", faults.share},
          {"goodput_share_low", faults.share_low},
          {"goodput_share_high", faults.share_high},
          {"time_between_stops_s", seconds_or_null(faults.between_stops)},
          {"checkpoint_bytes", faults.checkpoint_size.si()},
          {"checkpoint_write_s", faults.write.si()},
          {"checkpoint_interval_s", seconds_or_null(faults.every)},
          {"young_interval_s", seconds_or_null(faults.young)},
          {"daly_interval_s", seconds_or_null(faults.daly)},
          {"best_interval_s", seconds_or_null(faults.best)},
          {"best_goodput_share", faults.best ? Json(faults.best_share) : Json()}};
}

/// Samples per second that are of use, where the update rule or faults make them differ from the throughput.
void add_goodput(Json& json, const Result& result) {
  if (!result.training && !result.faults) return;
  json["goodput_samples_per_s"] = result.throughput * (result.faults ? result.faults->share : 1);
  if (result.faults) json["faults"] = faults_json(*result.faults);
}

/// What is not known is set to null behind, as every field in `unmodelled`.
void add_needs(Json& json, const Result& result) {
  if (result.memory) add_memory_fields(json, *result.memory);
  if (result.energy_per_step) json["energy_per_step_j"] = result.energy_per_step->si();
  if (result.average_power) json["average_power_w"] = result.average_power->si();
  if (result.cost) json["cost_per_epoch_usd"] = result.cost->per_epoch.si();
}

}  // namespace

Json figures_json(const Result& result) {
  Json json;
  add_what_ran(json, result);
  add_times(json, result);
  add_utilization(json, result);
  add_input(json, result);
  add_training(json, result);
  add_goodput(json, result);
  add_needs(json, result);
  for (const auto& [field, reason] : unmodelled(result)) json[field] = nullptr;
  return json;
}

Json summary_json(const Result& result, const SimulationCost& cost) {
  Json json{{"schema_version", summary_schema_version}};
  json.update(figures_json(result));
  add_parts(json, result);
  const ComputeSourceShares& shares = result.compute_source_shares;
  json["compute_source_shares"] = {
      {"measured", shares.measured}, {"fitted", shares.fitted}, {"roofline", shares.roofline}};
  add_experiment(json, result);
  json["calibrated_on"] = result.calibrated_on;
  json["notes"] = result.notes;
  json["unmodelled"] = unmodelled(result);
  json["simulation"] = {{"wall_s", cost.wall.si()},
                        {"cpu_s", cost.cpu.si()},
                        {"events", result.events},
                        {"peak_rss_bytes", cost.peak_rss.si()}};
  return json;
}

}  // namespace trainyard
