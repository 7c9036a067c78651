#include "document/json_text.hpp"
#include "report/input_ranges.hpp"
#include "report/plan_report.hpp"
#include "report/plan_words.hpp"
#include "report/sweep_report.hpp"

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
  if (answer.robustness) {
    json[quantile_figure(space)] = answer.robustness->quantiles[index];
    json["fastest_share"] = answer.robustness->fastest_shares[index];
    const std::vector<double>& ahead = answer.robustness->ahead_shares;
    json["ahead_of_best_share"] = index < ahead.size() ? Json(ahead[index]) : Json();
  }
  const PlanCosts& costs = answer.costs[index];
  const char* const per = answer.is_of_training ? "training" : "sample";
  json[std::string(per) + "_time_s"] = costs.time_s;
  json[std::string(per) + "_cost_usd"] = number_or_null(costs.usd);
  json[std::string(per) + "_energy_j"] = number_or_null(costs.energy_j);
  return json;
}

/// What the draws of a plan vary, and the best plan without them.
Json robustness_json(const PlanAnswer& answer) {
  if (!answer.robustness) return {};
  const PlanSpace& space = answer.space;
  const PlanRandomness& randomness = *space.randomness;
  Json groups = Json::array();
  for (std::size_t group = 0; group < space.groups.size(); ++group) {
    const GroupSpeeds& speeds = randomness.draws.speeds(group);
    const CommonError& common = randomness.common[group];
    groups.push_back({{"gpu_variation", speeds.waited.variation},
                      {"slowest_gpu", speeds.nominal},
                      {"common_error_share", common.share},
                      {"common_error_runs", common.runs},
                      {"common_error_sets", common.sets}});
  }
  const std::optional<std::size_t>& nominal = answer.robustness->nominal;
  return {{"quantile", *space.request.settings.quantile},
          {"draws", space.request.settings.draws},
          {"seed", randomness.seed},
          {"errors_unknown", randomness.errors_unknown.empty() ? Json() : Json(randomness.errors_unknown)},
          {"nominal_best", nominal ? Json(answer.result.rows[*nominal].point) : Json()},
          {"groups", std::move(groups)}};
}

/// How the search of a group went, point by point. Figures as the points have them, "step_time_s" or
/// "energy_per_step_j", or their quantiles; bounds with the same unit.
Json progress_json(const PlanSpace& space, const GroupSearch& search) {
  const std::string name = space.randomness ? quantile_figure(space) : searched_figure(space);
  const std::string unit = name.substr(name.rfind('_'));
  Json steps = Json::array();
  for (const SearchStep& step : search.steps)
    steps.push_back({{"point", step.point},
                     {name, number_or_null(step.value)},
                     {"best_" + name, number_or_null(step.best)},
                     {"open_bound" + unit, number_or_null(step.least_open)}});
  return steps;
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
  json["progress"] = progress_json(answer.space, search);
  json["failure"] = group.failure.empty() ? Json() : Json(group.failure);
  const std::optional<std::size_t>& best = answer.best_of_group[index];
  json["best"] = best ? point_json(answer, *best) : Json();
  return json;
}

Json cell_json(const PlanAnswer& answer, const LayoutCell& cell) {
  Json json{{"tensor", cell.tensor}, {"pipeline", cell.pipeline}};
  json["point"] = cell.row ? Json(answer.result.rows[*cell.row].point) : Json();
  const auto figure = [&](const std::optional<double>& value) {
    return value ? Json(goal_figure(answer, *value)) : Json();
  };
  const std::string name = goal_figure_name(answer.space);
  json[name] = figure(cell.value);
  json["bound" + name.substr(name.rfind('_'))] = figure(cell.bound);
  return json;
}

/// Shares of the step, and of the memory.
Json binds_json(const PlanBinds& binds) {
  return {{"memory_utilization", number_or_null(binds.memory)},
          {"bubble_share", number_or_null(binds.bubble)},
          {"exposed_layers_share", binds.layers},
          {"exposed_messages_share", binds.messages},
          {"exposed_data_share", binds.data}};
}

/// Rents of a node for an hour.
Json turn_json(const PlanAnswer& answer) {
  if (!answer.turn) return {};
  const PriceTurn& turn = *answer.turn;
  return {{"point", answer.result.rows[turn.other].point},
          {"node_usd_per_h", turn.other_usd},
          {"cheaper_below_usd_per_h", turn.other_turns_usd},
          {"best_node_usd_per_h", turn.best_usd},
          {"best_dearer_above_usd_per_h", turn.best_turns_usd}};
}

/// By what a step is longer than that of the best plan.
Json longer_by_json(const Comparison& loss) {
  Json json = Json::object();
  for (const ComparedPart& part : loss.parts)
    json[std::string(config::name_of(part.part)) + "_s"] = part.time.difference.si();
  return json;
}

}  // namespace

std::string plan_csv(const PlanAnswer& answer) {
  if (!answer.robustness) return sweep_csv(answer.result);
  SweepResult result = answer.result;
  result.figures.push_back(quantile_figure(answer.space));
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    if (result.rows[row].status == PointStatus::done)
      result.rows[row].figures.emplace_back(answer.robustness->quantiles[row]);
  }
  return sweep_csv(result);
}

Json plan_json(const PlanAnswer& answer, const PlanDetails& details) {
  Json json{{"schema_version", 1},
            {"plan", answer.space.request.name},
            {"changed_keys", changed_keys(answer.space)},
            {"goal", config::name_of(answer.space.request.settings.goal)}};
  if (answer.robustness) json["robustness"] = robustness_json(answer);
  json["best"] = answer.best ? point_json(answer, *answer.best) : Json();
  if (details.best != nullptr && details.best->assumed) {  // which the stored points lack
    for (const char* const field : {"throughput_low_samples_per_s", "throughput_high_samples_per_s"}) {
      if (const auto value = figures()[index_of(field)].of(*details.best))
        json["best"][field] = std::get<double>(*value);
    }
    json["best"]["assumed_inputs"] = assumed_json(*details.best->assumed);
  }
  json["command"] = details.command.empty() ? Json() : Json(details.command);
  json["binds"] = details.best == nullptr ? Json() : binds_json(plan_binds(*details.best));
  json["price_turn"] = turn_json(answer);
  json["others"] = Json::array();
  for (std::size_t i = 0; i < answer.others.size(); ++i) {
    Json other = point_json(answer, answer.others[i]);
    other["is_tie"] = is_tie(answer.result, *answer.best, answer.others[i]);
    if (has_own_figure(answer.space)) other["excess"] = excess_of(answer, answer.others[i]);
    other["longer_by"] = i < details.losses.size() ? longer_by_json(details.losses[i]) : Json();
    json["others"].push_back(std::move(other));
  }
  json["pareto"] = Json::array();
  for (const std::size_t row : answer.front) json["pareto"].push_back(answer.result.rows[row].point);
  json["groups"] = Json::array();
  for (std::size_t i = 0; i < answer.space.groups.size(); ++i)
    json["groups"].push_back(group_json(answer, i));
  json["layouts"] = Json::array();
  for (const LayoutCell& cell : answer.cells) json["layouts"].push_back(cell_json(answer, cell));
  json["too_large"] = Json::array();
  for (const PlanPlace& place : answer.full)
    json["too_large"].push_back({{"tensor", place.tensor}, {"pipeline", place.pipeline}});
  json["changes"] = Json::array();
  const int gpus = answer.best ? group_of_row(answer, *answer.best).gpus : 0;
  for (const PlanChange& change : details.changes)
    json["changes"].push_back(
        {{"change", change.change},
         {"layout", change.layout ? Json(plan_layout_in_words(*change.layout, gpus)) : Json()},
         {"is_same", change.is_same},
         {"step_time_s", change.layout ? Json(change.step_s) : Json()}});
  return json;
}

}  // namespace trainyard
