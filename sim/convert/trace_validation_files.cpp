#include "convert/compared_trace.hpp"
#include "convert/import_report.hpp"
#include "document/json_text.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/shape_text.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json ratio_json(Seconds a, Seconds b) { return number_or_null(change(a, b)); }

Json step_json(const SimulatedStep& step) {
  Json json = Json::object();
  for (const TracePart& part : trace_parts) json[std::string(part.field)] = (step.*part.simulated).si();
  json["slowed_s"] = step.slowed.si();
  return json;
}

}  // namespace

nlohmann::ordered_json trace_validation_json(const TraceValidation& validation) {
  const std::vector<PredictedOp> predicted = predicted_ops(validation);
  const OpTotals totals = totals_of(validation, predicted);
  const OpTotals rest = rest_of(validation);
  const ReplayMachine& machine = validation.machine;
  Json profile = Json::object();
  for (const TracePart& part : trace_parts) {
    if (part.profile != nullptr) profile[std::string(part.field)] = of_profile(validation, part).si();
  }
  Json collectives = Json::array();
  for (const SentCollectives& one : validation.replay.collectives) {
    const SentCollectives own = profiled(validation, one.operation);
    const auto transfer = transfer_of(validation, one.operation);
    collectives.push_back({{"operation", config::name_of(one.operation)},
                           {"count", own.count},
                           {"bytes", own.size.si()},
                           {"profile_s", own.time.si()},
                           {"transfer_s", transfer ? Json(transfer->si()) : Json()},
                           {"replay_s", one.time.si()}});
  }
  Json kinds = Json::array();
  for (const KindOfOps& one : predicted_kinds(validation, predicted)) {
    kinds.push_back({{"phase", config::name_of(one.phase)},
                     {"kind", config::name_of(one.kind)},
                     {"ops", one.ops},
                     {"profile_s", one.measured.si()},
                     {"predicted_s", one.predicted.si()},
                     {"error", ratio_json(one.measured, one.predicted)}});
  }
  Json ops = Json::array();
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    const SimulatedOp* const replay = simulated_op(validation, validation.replay, i);
    const SimulatedOp* const computed = computed_op(validation, i);
    const auto start = start_in_profile(validation, i);
    ops.push_back({{"phase", config::name_of(op.phase)},
                   {"layer", op.layer},
                   {"kind", config::name_of(op.kind)},
                   {"shape", to_string(op.shape)},
                   {"profile_start_s", start ? Json(start->si()) : Json()},
                   {"replay_start_s", replay == nullptr ? Json() : Json(replay->start.si())},
                   {"profile_s", op.duration->si()},
                   {"predicted_s", computed == nullptr ? Json() : Json(computed->duration.si())},
                   {"source", computed == nullptr ? Json() : Json(config::name_of(computed->source))},
                   {"error", computed == nullptr ? Json() : ratio_json(*op.duration, computed->duration)}});
  }
  Json left_out = Json::array();
  for (const LeftOut& one : validation.imported.left_out)
    left_out.push_back({{"count", one.count}, {"time_s", seconds_of_ns(one.time).si()}, {"what", one.what}});
  Json json{{"files", validation.files},
            {"gpu", validation.gpu.empty() ? Json() : Json(validation.gpu)},
            {"rank", validation.rank ? Json(*validation.rank) : Json()},
            {"step", validation.step ? Json(*validation.step) : Json()},
            {"used_steps", validation.imported.steps},
            {"platform", machine.platform},
            {"gpus", machine.ranks},
            {"nodes", machine.nodes},
            {"gpu_profile", machine.gpu},
            {"stack", machine.stack},
            {"precision", config::name_of(machine.precision)},
            {"layout", config::name_of(machine.layout)},
            {"accumulation", validation.imported.accumulation},
            {"parallelism", layout_json(validation.imported)},
            {"profile", std::move(profile)},
            {"replay", step_json(validation.replay)},
            {"predicted", step_json(validation.predicted)},
            {"model", Json()},
            {"replay_error", step_error(validation, validation.replay)},
            {"predicted_error", step_error(validation, validation.predicted)},
            {"model_error", Json()},
            {"collectives", std::move(collectives)},
            {"waiting_for_ranks_s", validation.waiting ? Json(validation.waiting->si()) : Json()},
            {"predicted_kernels",
             {{"ops", totals.ops},
              {"profile_s", totals.measured.si()},
              {"predicted_s", totals.predicted.si()},
              {"mean_error", predicted.empty() ? Json() : Json(totals.mean_error)},
              {"kinds", std::move(kinds)}}},
            {"other_kernels", {{"ops", rest.ops}, {"profile_s", rest.measured.si()}}},
            {"ops", std::move(ops)},
            {"left_out", std::move(left_out)},
            {"warnings", validation.imported.warnings}};
  if (!validation.model) return json;
  json["model"] = step_json(*validation.model);
  json["model"]["name"] = validation.model_name;
  json["model_error"] = step_error(validation, *validation.model);
  Json beside = Json::array();
  for (const KindOfOps& one : kinds_beside_model(validation)) {
    beside.push_back({{"phase", config::name_of(one.phase)},
                      {"kind", config::name_of(one.kind)},
                      {"profile_s", one.measured.si()},
                      {"model_s", one.predicted.si()}});
  }
  json["model"]["kinds"] = std::move(beside);
  return json;
}

std::string trace_validation_csv(const TraceValidation& validation) {
  std::string csv =
      "phase,layer,kind,shape,runs,profile_start_s,replay_start_s,profile_s,predicted_s,source\n";
  for (std::size_t i = 0; i < validation.imported.trace.ops.size(); ++i) {
    const Op& op = validation.imported.trace.ops[i];
    const SimulatedOp* const replay = simulated_op(validation, validation.replay, i);
    const SimulatedOp* const computed = computed_op(validation, i);
    const auto number = [](Seconds time) { return digits12(time.si()); };
    const auto start = start_in_profile(validation, i);
    std::string line;
    for (const std::string& field :
         {std::string(config::name_of(op.phase)), op.layer, std::string(config::name_of(op.kind)),
          to_string(op.shape), std::to_string(runs_of_op(validation, op)), start ? number(*start) : "",
          replay == nullptr ? "" : number(replay->start), number(*op.duration),
          computed == nullptr ? "" : number(computed->duration),
          computed == nullptr ? "" : std::string(config::name_of(computed->source))}) {
      append_csv_cell(line, field);
      line += ',';
    }
    line.back() = '\n';
    csv += line;
  }
  return csv;
}

}  // namespace trainyard
