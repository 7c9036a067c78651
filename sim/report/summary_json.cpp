#include "report/summary_json.hpp"

#include "config/write.hpp"
#include "explain/library_choice.hpp"
#include "explain/network_limit.hpp"
#include "learn/learn.hpp"
#include "report/expected_error.hpp"
#include "report/input_ranges.hpp"
#include "report/memory_page.hpp"
#include "run/job_functions.hpp"
#include "run/learning.hpp"
#include "run/step_parts.hpp"
#include "units/ids.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

/// Numbers of things are written as integers.
Json to_json(const FigureValue& value, FigureUnit unit) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const double number = std::get<double>(value);
  const bool is_count = unit == FigureUnit::count || unit == FigureUnit::samples || unit == FigureUnit::gpus;
  return is_count ? Json(std::llround(number)) : Json(number);
}

void add_figures(Json& json, const Run& run, std::span<const Figure> table) {
  for (const Figure& figure : table) {
    const Known<FigureValue> value = figure.of(run);
    if (value)
      json[std::string(figure.field)] = to_json(*value, figure.unit);
    else if (!value.error().empty())
      json[std::string(figure.field)] = nullptr;
  }
}

Json parts_json(const StepParts& split) {
  Json parts = Json::object();
  for (const PartTime& part : split.parts) parts[std::string(config::name_of(part.part))] = part.time.si();
  return parts;
}

/// The step time in parts that add up to it, and the exposed communication by collective.
void add_parts(Json& json, const Run& run) {
  const StepParts split = step_parts(run);
  json["step_parts_s"] = parts_json(split);
  Json& collectives = json["exposed_collectives"] = Json::array();
  for (const ExposedCollective& one : split.collectives) {
    const CollectiveRow& row = step_of(run).collectives[at(one.collective)];
    collectives.push_back({{"collective", row.name},
                           {"operation", config::name_of(row.operation)},
                           {"purpose", row.purpose},
                           {"exposed_s", one.exposed.si()}});
  }
}

/// How the ranks share the model, and the step and memory of each stage.
void add_layout(Json& json, const Run& run) {
  if (!run.experiment.layout) return;
  const RankLayout& layout = *run.experiment.layout;
  const Parallelism& parallelism = layout.parallelism;
  Json& numbers = json["layout"];
  for (const GridAxis& one : grid_axes) numbers[config::name_of(one.axis)] = layout.grid.*one.ranks;
  numbers["virtual_stages"] = parallelism.virtual_stages;
  numbers["sequence"] = parallelism.sequence;
  numbers["schedule"] = config::name_of(layout.schedule);
  numbers["recompute"] = config::name_of(parallelism.recompute);
  numbers["shard"] = config::name_of(parallelism.shard);
  numbers["shard_over"] = config::name_of(parallelism.shard_over);
  numbers["micro_batches"] = layout.micro_batches;
  if (layout.grid.context > 1) json["layout"]["context_exchange"] = config::name_of(exchange_of(parallelism));
  Json& stages = json["stages"] = Json::array();
  const std::vector<ClassStep>& classes = step_of(run).classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Json& stage = stages.emplace_back();
    stage["name"] = classes[i].name;
    stage["stage"] = run.experiment.classes[i].stage;
    stage["ranks"] = run.experiment.classes[i].ranks.size();
    stage["first_rank"] = index(classes[i].first);
    stage["end_s"] = classes[i].end.si();
    stage["step_parts_s"] = parts_json(step_parts(run, classes[i]));
    const bool has_memory = run.memory && i < run.memory->size();
    stage["memory_peak_bytes"] = has_memory ? Json((*run.memory)[i].peak.si()) : Json();
    stage["memory"] = has_memory ? memory_terms_json((*run.memory)[i].terms) : Json();
  }
}

void add_experiment(Json& json, const Run& run) {
  Json& keys = json["resolved_experiment"] = Json::object();
  for (const auto& [path, value] : resolved_keys(run.experiment.settings)) keys[path] = value;
}

/// By which published runs are compared with this one; read back by `compare`.
Json comparable_json(const PredictedJob& job) {
  Json json{{"fit", job.fit},
            {"software_fit", job.software_fit},
            {"platform", job.of.platform},
            {"nodes", job.of.nodes},
            {"gpus", job.of.gpus},
            {"batch_per_gpu", job.of.batch_per_gpu}};
  for (const SoftwareColumn& column : software_columns) json[column.name] = job.of.use.*column.text;
  json["kind"] = config::name_of(job.of.kind);
  json["recorded_kernels"] = job.of.has_recorded_kernels;
  json["mean_op_s"] = job.of.mean_op.si();
  return json;
}

/// The use of each server, for runs of many updates.
void add_servers(Json& json, const Run& run) {
  const Updates* updates = updates_of(run);
  if (updates == nullptr) return;
  Json& servers = json["servers"] = Json::array();
  for (const ServerRow& server : updates->servers)
    servers.push_back({{"name", server.name}, {"utilization", server.utilization}});
  Json& loaded = json["loaded_shard"] = nullptr;
  if (!updates->loaded_shard) return;
  const LoadedShard& shard = *updates->loaded_shard;
  loaded = {{"shard", shard.shard},        {"shards", shard.shards}, {"bytes", shard.bytes.si()},
            {"all_bytes", shard.all.si()}, {"layer", shard.layer},   {"layer_bytes", shard.of_layer.si()}};
}

Json seconds_or_null(const std::optional<Seconds>& time) { return time ? Json(time->si()) : Json(); }

/// For jobs with faults: means over the runs.
Json faults_json(const FaultReport& faults) {
  return {{"work_s", faults.work.si()},
          {"wall_s", faults.wall.si()},
          {"lost_s", faults.lost.si()},
          {"slowed_s", faults.slowed.si()},
          {"writing_s", faults.writing.si()},
          {"restarting_s", faults.restarting.si()},
          {"waiting_s", faults.waiting.si()},
          {"slowest_gpu_share", faults.slowest_gpu},
          {"faults", faults.faults},
          {"restarts", faults.restarts},
          {"runs", faults.runs},
          {"goodput_share", faults.share},
          {"goodput_share_low", faults.share_low},
          {"goodput_share_high", faults.share_high},
          {"time_between_stops_s", seconds_or_null(faults.between_stops)},
          {"checkpoint_bytes", faults.checkpoint_size.si()},
          {"checkpoint_write_s", faults.write.si()},
          {"checkpoint_stall_s", faults.stall.si()},
          {"checkpoints", faults.checkpoints},
          {"checkpoint_interval_s", seconds_or_null(faults.every)},
          {"young_interval_s", seconds_or_null(faults.young)},
          {"daly_interval_s", seconds_or_null(faults.daly)},
          {"best_interval_s", seconds_or_null(faults.best)},
          {"best_goodput_share", faults.best ? Json(faults.best_share) : Json()}};
}

template <class Q>
Json si_or_null(const Known<Q>& quantity) {
  return quantity ? Json(quantity->si()) : Json();
}

/// The phases of a whole job, which add up to job_time_s, job_energy_j and job_cost_usd.
Json job_json(const Run& run) {
  const WholeJob& job = *run.job;
  Json parts = Json::array();
  for (const JobPart& part : job.parts) {
    Json& one = parts.emplace_back();
    one = {{"phase", config::name_of(part.phase)},
           {"times", part.times},
           {"time_s", part.time.si()},
           {"energy_j", si_or_null(part.energy)},
           {"cost_usd", si_or_null(part.rent)}};
    if (!part.power) continue;
    one["power_w"] = part.power->all().si();
    one["processors_w"] = part.power->processors.si();
    one["memory_w"] = part.power->memory.si();
    one["rest_w"] = part.power->rest.si();
  }
  Json json{{"epochs", job.epochs ? Json(*job.epochs) : Json()}, {"steps", job.steps}};
  if (job.tokens) json["tokens"] = *job.tokens;
  json["parts"] = parts;
  const std::vector<FunctionTime> functions = time_by_function(run);
  for (const FunctionTime& row : functions)
    json["functions"].push_back({{"function", row.name},
                                 {"depth", row.depth},
                                 {"calls", row.calls},
                                 {"own_time_s", row.own.si()},
                                 {"cumulative_time_s", row.cumulative.si()}});
  return json;
}

}  // namespace

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json floor_json(const std::optional<Floor>& floor) {
  return floor ? Json{{"mean", floor->mean}, {"standard_error", floor->standard_error}} : Json();
}

/// The learner, and what became of every repeat; learning.csv has the curves.
Json learning_json(const Run& run) {
  const Learning& learning = *run.learning;
  Json repeats = Json::array();
  for (const LearningRun& one : learning.repeats) {
    Json& repeat = repeats.emplace_back();
    repeat["end"] = config::name_of(one.end);
    repeat["verdict"] = config::name_of(one.verdict);
    repeat["diverged"] = one.verdict == LearningVerdict::diverged;
    repeat["reason"] = one.reason.empty() ? Json() : Json(one.reason);
    repeat["time_s"] = one.curve.empty() ? Json() : Json(one.curve.back().at.si());
    repeat["time_to_target_s"] = one.target ? Json(one.target->at.si()) : Json();
    repeat["updates_to_target"] = one.target ? Json(one.target->updates) : Json();
    repeat["samples_to_target"] = one.target ? Json(one.target->samples) : Json();
    repeat["final_loss"] = floor_json(one.loss_floor);
    repeat["error_floor"] = floor_json(one.error_floor);
  }
  return {{"learner", learner_title(*run.experiment.settings.learn)},
          {"clock", {{"model", model_name(run)}, {"platform", run.experiment.settings.platform}}},
          {"parameters", learning.parameters},
          {"train_samples", value_or_null(learning.train_samples)},
          {"test_samples", value_or_null(learning.test_samples)},
          {"least_error", value_or_null(learning.least_error)},
          {"staleness_mean", value_or_null(learning.staleness_mean)},
          {"rate_mean", value_or_null(learning.rate_mean)},
          {"noise_scale_samples", value_or_null(learning.noise_scale)},
          {"repeats", repeats}};
}

Json network_limit_json(const Run& run) {
  const std::optional<NetworkLimit> limit = network_limit(run);
  if (!limit) return {};
  const CollectivePace& pace = limit->pace;
  const bool is_rate = !limit->is_latency && pace.part.has_value();
  Json json{{"part", limit->is_latency ? Json("latency")
                     : is_rate         ? Json(config::name_of(*pace.part))
                                       : Json()},
            {"link", pace.link.empty() ? Json() : Json(pace.link)},
            {"connection_bytes_per_s", pace.link.empty() ? Json() : Json(pace.edge.si())},
            {"is_assumed", pace.is_assumed},
            {"set", nullptr},
            {"gain", nullptr}};
  if (!limit->faster) return json;
  Json& set = json["set"] = Json::object();
  for (const auto& [key, value] : limit->faster->set) set[key] = value;
  json["gain"] = limit->gain / (run.pace.time - limit->gain);
  return json;
}

Json nccl_choice_json(const Run& run) {
  const std::optional<CostlyChoice> found = costly_choice(run);
  if (!found) return {};
  const auto choice_json = [](const NcclChoice& choice, Seconds time) -> Json {
    return {{"algorithm", config::name_of(choice.algorithm)},
            {"protocol", protocol_name(CommunicationLibrary::nccl, choice.protocol)},
            {"time_s", time.si()}};
  };
  const Seconds better = run.pace.time - found->gain;
  Json json{{"operation", config::name_of(found->operation)},
            {"axis", config::name_of(found->axis)},
            {"size_bytes", found->size.si()},
            {"chosen", choice_json(found->chosen, found->time)},
            {"better", choice_json(found->better, found->better_time)},
            {"step_time_s", better.si()},
            {"cost", found->gain / better},
            {"set", nullptr},
            {"step_time_with_set_s", nullptr}};
  if (found->set.empty()) return json;
  Json& set = json["set"] = Json::object();
  for (const auto& [key, value] : found->set) set[key] = value;
  json["step_time_with_set_s"] = found->step_time_with_set.si();
  return json;
}

Json verification_json(const Verification& verified) {
  Json part = Json::object();
  for (const auto& [key, value] : verified.part) part[key] = value;
  return {{"part", verified.part.empty() ? Json() : part},
          {"nodes", verified.nodes},
          {"ranks", verified.ranks},
          {"messages", std::llround(verified.messages)},
          {"step_time_s", verified.step_time.si()},
          {"step_time_by_messages_s", verified.step_time_by_messages.si()},
          {"largest_difference", verified.difference},
          {"of", verified.where},
          {"ranks_end_earlier_by", verified.early_rank},
          {"causes", verified.causes},
          {"limit", verified.limit}};
}

Json summary_json(const Run& run, const std::optional<ResourceUsage>& usage, std::span<const Figure> table) {
  Json json{{"schema_version", summary_schema_version}, {"trainyard_version", version()}};
  add_figures(json, run, table);
  json["expected_error"] = run.expected_error ? expected_error_json(*run.expected_error) : Json();
  json["expected_bounds"] = expected_bounds_json(run);
  json["comparable_by"] = run.predicted_job ? comparable_json(*run.predicted_job) : Json();
  if (run.assumed) json["assumed_inputs"] = assumed_json(*run.assumed);
  if (run.ranges) add_ranges(json, run);
  add_servers(json, run);
  if (run.faults) json["faults"] = faults_json(*run.faults);
  if (run.job) json["job"] = job_json(run);
  if (run.learning) json["learning"] = learning_json(run);
  json["memory"] = run.memory ? memory_terms_json(fullest(*run.memory).terms) : Json();
  if (run.memory && fullest(*run.memory).server)
    json["server_memory"] = server_memory_json(*fullest(*run.memory).server);
  add_parts(json, run);
  const LinkRow* const most = busiest(run.links);
  json["busiest_link_is_assumed"] = most == nullptr ? Json() : Json(most->is_assumed);
  json["network_limit"] = network_limit_json(run);
  json["nccl_choice"] = nccl_choice_json(run);
  const std::optional<NetworkEngine> engine = network_engine(run);
  json["network_engine"] = engine ? Json(config::name_of(*engine)) : Json();
  json["verification"] = run.verified ? verification_json(*run.verified) : Json();
  add_layout(json, run);
  const ComputeSourceShares& shares = run.compute_sources;
  json["compute_source_shares"] = {
      {"measured", shares.measured}, {"fitted", shares.fitted}, {"roofline", shares.roofline}};
  add_experiment(json, run);
  json["calibrated_on"] = run.calibrated_on;
  json["notes"] = run.notes;
  auto reasons = unmodelled(run, table);
  if (!run.memory) reasons["memory"] = run.memory.error();
  if (!run.expected_error) reasons["expected_error"] = run.expected_error.error();
  if (!run.predicted_job) reasons["comparable_by"] = run.predicted_job.error();
  for (const char* field : {"busiest_link_is_assumed", "network_engine"})
    if (json[field].is_null()) reasons[field] = "nothing was sent";
  if (!run.verified) reasons["verification"] = run.verified.error();
  if (json["network_limit"].is_null())
    reasons["network_limit"] =
        updates_of(run) ? "updates differ or overlap, so no link limits all of them" : "no collectives";
  if (json["nccl_choice"].is_null())
    reasons["nccl_choice"] = fmt::format(
        "no choice of NCCL's is known to cost a step {:.0f} %: compared for steady steps of up to {} ranks",
        100 * least_gain_of_choice, grouped(most_ranks_of_choice));
  if (updates_of(run) && !updates_of(run)->loaded_shard)
    reasons["loaded_shard"] = "no shard of parameter servers holds 1.5 times the mean";
  json["unmodelled"] = reasons;
  json["simulation"] = {{"wall_s", usage ? Json(usage->wall.si()) : Json()},
                        {"cpu_s", usage ? Json(usage->cpu.si()) : Json()},
                        {"events", run.events},
                        {"peak_rss_bytes", usage ? Json(usage->peak_rss.si()) : Json()}};
  return json;
}

}  // namespace trainyard
