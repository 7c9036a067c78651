#include "convert/compared_trace.hpp"
#include "convert/import_report.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <fmt/format.h>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json step_json(const SimulatedStep& step) {
  Json json = Json::object();
  for (const TracePart& part : trace_parts) json[std::string(part.field)] = (step.*part.simulated).si();
  json["slowed_s"] = step.slowed.si();
  return json;
}

/// Rows of a page's table, except these of its columns.
Json rows_without(std::initializer_list<const char*> columns, const doc::Table& table) {
  Json rows = doc::rows_json(table);
  for (Json& row : rows) {
    for (const char* const column : columns) row.erase(column);
  }
  return rows;
}

/// A row for each op of the trace.
Json op_rows(const TraceValidation& validation) {
  std::vector<std::size_t> all(validation.imported.trace.ops.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return doc::rows_json(ops_table(validation, all));
}

}  // namespace

nlohmann::ordered_json trace_validation_json(const TraceValidation& validation) {
  const OpTotals totals = totals_of(validation, true);
  const OpTotals rest = totals_of(validation, false);
  const ReplayMachine& machine = validation.machine;
  Json profile = Json::object();
  for (const TracePart& part : trace_parts) {
    if (part.profile != nullptr) profile[std::string(part.field)] = of_profile(validation, part).si();
  }
  Json ops = op_rows(validation);
  for (Json& op : ops) {
    op.erase("runs");
    if (op["source"] == "") op["source"] = nullptr;
    Json error = std::move(op["error"]);
    op.erase("error");
    op["error"] = std::move(error);
  }
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
            {"replay", Json()},
            {"predicted", Json()},
            {"model", Json()},
            {"replay_error", Json()},
            {"predicted_error", Json()},
            {"model_error", Json()},
            {"collectives", rows_without({"error"}, collectives_table(validation))},
            {"waiting_for_ranks_s", validation.waiting ? Json(validation.waiting->si()) : Json()},
            {"predicted_kernels",
             {{"ops", totals.ops},
              {"profile_s", totals.measured.si()},
              {"predicted_s", totals.predicted.si()},
              {"mean_error", totals.ops == 0 ? Json() : Json(totals.mean_error)},
              {"kinds", doc::rows_json(predicted_kinds_table(validation))}}},
            {"other_kernels", {{"ops", rest.ops}, {"profile_s", rest.measured.si()}}},
            {"ops", std::move(ops)},
            {"left_out", left_out_json(validation.imported)},
            {"warnings", validation.imported.warnings}};
  for (const ComparedStep& one : compared_steps(validation)) {
    json[std::string(one.name)] = step_json(*one.step);
    json[fmt::format("{}_error", one.name)] = step_error(validation, *one.step);
  }
  if (!validation.model) return json;
  json["model"]["name"] = validation.model_name;
  json["model"]["kinds"] = rows_without({"ops", "error"}, model_kinds_table(validation));
  return json;
}

std::string trace_validation_csv(const TraceValidation& validation) {
  std::string csv =
      "phase,layer,kind,shape,runs,profile_start_s,replay_start_s,profile_s,predicted_s,source\n";
  for (const Json& op : op_rows(validation)) {
    for (const auto& [field, value] : op.items()) {
      if (field == "error") continue;
      append_csv_cell(csv, value.is_string()   ? value.get<std::string>()
                           : value.is_number() ? digits12(value.get<double>())
                                               : std::string());
      csv += ',';
    }
    csv.back() = '\n';
  }
  return csv;
}

}  // namespace trainyard
