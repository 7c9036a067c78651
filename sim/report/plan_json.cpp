#include "report/json_text.hpp"
#include "report/plan_report.hpp"

#include <nlohmann/json.hpp>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

Json point_json(const PlanAnswer& answer, std::size_t index) {
  const SweepRow& row = answer.result.rows[index];
  const PlanSpace& space = answer.space;
  Json keys = Json::object();
  for (std::size_t i = 0; i < space.sweep.keys.size(); ++i)
    keys[space.sweep.keys[i]] = space.sweep.points[row.point][i];
  Json json{
      {"point", row.point}, {"layout", plan_layout_in_words(space, row.point)}, {"keys", std::move(keys)}};
  json["bound_s"] = space.bounds[row.point].step_s;
  for (std::size_t i = 0; i < answer.result.figures.size(); ++i)
    json[answer.result.figures[i]] = number_or_null(row.figures[i]);
  const PlanCosts& costs = answer.costs[index];
  const char* const per = answer.is_of_training ? "training" : "sample";
  json[std::string(per) + "_time_s"] = costs.time_s;
  json[std::string(per) + "_cost_usd"] = number_or_null(costs.usd);
  json[std::string(per) + "_energy_j"] = number_or_null(costs.energy_j);
  return json;
}

Json group_json(const PlanAnswer& answer, std::size_t index) {
  const PlanGroup& group = answer.space.groups[index];
  const GroupSearch& search = answer.searches[index];
  Json keys = Json::object();
  for (std::size_t i = 0; i < group.values.size(); ++i) keys[answer.space.group_keys[i]] = group.values[i];
  Json json{{"keys", std::move(keys)},  {"gpus", group.gpus},
            {"nodes", group.nodes},     {"global_batch", group.global_batch},
            {"layouts", group.layouts}, {"too_large", group.too_large}};
  Json impossible = Json::object();
  for (const auto& [reason, number] : group.impossible) impossible[reason] = number;
  json["impossible"] = std::move(impossible);
  json["simulated"] = search.simulated;
  json["failed"] = search.failed;
  json["bounded"] = search.bounded;
  json["left"] = search.left;
  json["gap"] = gap_of(search);
  json["failure"] = group.failure.empty() ? Json() : Json(group.failure);
  const std::optional<std::size_t>& best = answer.best_of_group[index];
  json["best"] = best ? point_json(answer, *best) : Json();
  return json;
}

Json cell_json(const PlanAnswer& answer, const LayoutCell& cell) {
  Json json{{"tensor", cell.tensor}, {"pipeline", cell.pipeline}};
  json["point"] = cell.row ? Json(answer.result.rows[*cell.row].point) : Json();
  json["step_time_s"] = number_or_null(cell.step_s);
  json["bound_s"] = number_or_null(cell.bound_s);
  return json;
}

}  // namespace

Json plan_json(const PlanAnswer& answer, const PlanDetails& details) {
  Json json{{"schema_version", 1},
            {"plan", answer.space.request.name},
            {"goal", config::name_of(answer.space.request.settings.goal)}};
  json["best"] = answer.best ? point_json(answer, *answer.best) : Json();
  json["command"] = details.command.empty() ? Json() : Json(details.command);
  json["others"] = Json::array();
  for (const std::size_t row : answer.others) {
    Json other = point_json(answer, row);
    other["is_tie"] = is_tie(answer.result, *answer.best, row);
    json["others"].push_back(std::move(other));
  }
  json["pareto"] = Json::array();
  for (const std::size_t row : answer.front) json["pareto"].push_back(answer.result.rows[row].point);
  json["groups"] = Json::array();
  for (std::size_t i = 0; i < answer.space.groups.size(); ++i)
    json["groups"].push_back(group_json(answer, i));
  json["layouts"] = Json::array();
  for (const LayoutCell& cell : answer.cells) json["layouts"].push_back(cell_json(answer, cell));
  json["changes"] = Json::array();
  const int gpus =
      answer.best
          ? answer.space.groups[answer.space.bounds[answer.result.rows[*answer.best].point].group].gpus
          : 0;
  for (const PlanChange& change : details.changes)
    json["changes"].push_back(
        {{"change", change.change},
         {"layout", change.layout ? Json(plan_layout_in_words(*change.layout, gpus)) : Json()},
         {"is_same", change.is_same},
         {"step_time_s", change.layout ? Json(change.step_s) : Json()}});
  return json;
}

}  // namespace trainyard
