#include "document/json_text.hpp"
#include "report/expected_error.hpp"
#include "report/explanation.hpp"
#include "report/input_ranges.hpp"
#include "report/summary_json.hpp"
#include "run/step_parts.hpp"
#include "units/ids.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

Json null_if_empty(const std::string& text) { return text.empty() ? Json() : Json(text); }

void add_collective(Json& json, const CollectiveRow& row, const CollectivePace& pace) {
  json["operation"] = config::name_of(row.operation);
  json["algorithm"] = row.algorithm;
  json["protocol"] = row.protocol;
  json["size_bytes"] = row.size.si();
  json["began_s"] = row.start.si();
  json["duration_s"] = (row.end - row.start).si();
  json["duration_alone_s"] = pace.alone().si();
  json["overhead_s"] = pace.overhead.si();
  json["latency_s"] = pace.latency.si();
  if (pace.sums > Seconds()) json["sums_s"] = pace.sums.si();
  json["transfer_s"] = pace.transfer.si();
  json["link"] = null_if_empty(pace.link);
  json["link_bytes_per_s"] = pace.link.empty() ? Json() : Json(pace.capacity.si());
  json["links_as_tight"] = pace.alike;
  json["connection_bytes_per_s"] = pace.link.empty() ? Json() : Json(pace.edge.si());
  json["limited_by_connection"] = pace.is_connection;
  json["limit_is_assumed"] = pace.is_assumed;
}

Json path_json(const Run& run, const Explanation& why) {
  Json rows = Json::array();
  std::size_t collectives = 0;
  for (const PathSegment& segment : why.path) {
    Json& row = rows.emplace_back();
    row["kind"] = config::name_of(segment.kind);
    row["rank"] = segment.kind == PathKind::input ? Json() : Json(index(segment.rank));
    row["start_s"] = segment.start.si();
    row["length_s"] = segment.length.si();
    row["share"] = segment.length / run.pace.time;
    if (run.experiment.layout) {
      if (segment.passes > 0) row["passes"] = segment.passes;
      if (segment.times > 0) row["times"] = segment.times;
    }
    if (segment.ops > 0) {
      if (!segment.first.empty()) row["first_layer"] = segment.first;
      if (!segment.last.empty()) row["last_layer"] = segment.last;
      row["ops"] = segment.ops;
      row["slowed_s"] = segment.slowed.si();
    }
    if (!segment.what.empty()) row["what"] = segment.what;
    if (segment.collective < 0) continue;
    const CollectiveRow& its = step_of(run).collectives.at(static_cast<std::size_t>(segment.collective));
    row["collective"] = its.name;
    if (is_communication(segment.kind)) add_collective(row, its, why.paces.at(collectives++));
  }
  return rows;
}

Json gap_json(const Run& run, const Explanation& why) {
  Json rows = Json::array();
  for (const GapTime& gap : why.gap) {
    const auto* const name =
        std::ranges::find(config::Names<GapPart>::table, gap.part, &config::Name<GapPart>::value);
    rows.push_back({{"part", name->text},
                    {"time_s", gap.time.si()},
                    {"in_lower_bound", gap.part < first_above_bound},
                    {"how", how_obtained(run, gap.part)}});
  }
  return rows;
}

Json updates_json(const Run& run) {
  Json json = Json::object();
  for (const PartTime& part : step_parts(run).parts)
    json[std::string(config::name_of(part.part))] = part.time.si();
  return json;
}

Json change_json(const ExplainedRun& explained, const WhatIfRow& row) {
  Json json;
  json["change"] = row.what.change;
  Json& set = json["set"] = Json::object();
  for (const auto& [key, value] : row.what.set) set[key] = value;
  json["step_time_s"] = row.step_time ? Json(row.step_time->si()) : Json();
  json["throughput_samples_per_s"] = number_or_null(row.throughput);
  json["gain"] = number_or_null(gain(explained.run, row));
  json["remark"] = null_if_empty(row.what.remark);
  json["reason"] = null_if_empty(row.what.reason);
  return json;
}

}  // namespace

Json explanation_json(const ExplainedRun& explained) {
  const Run& run = explained.run;
  const bool is_step = explained.explanation.has_value();
  Json json;
  json["schema_version"] = 2;
  json["trainyard_version"] = version();
  json["experiment"] = run.experiment.name;
  json["changed_keys"] = changed_keys(run.experiment);
  json["platform"] = run.experiment.platform.title;
  json["model"] = model_name(run);
  json["ranks"] = run.ranks;
  json["nodes"] = run.nodes;
  json["fidelity"] = config::name_of(run.experiment.settings.fidelity);
  json["step_time_s"] = run.pace.time.si();
  json["saved_step_time_s"] = explained.saved_step_time ? Json(explained.saved_step_time->si()) : Json();
  json["throughput_samples_per_s"] = run.pace.throughput;
  json["expected_error"] = run.expected_error ? expected_error_json(*run.expected_error) : Json();
  if (run.assumed) json["assumed_inputs"] = assumed_json(*run.assumed);
  json["lower_bound_s"] = is_step ? Json(step_of(run).lower_bound.si()) : Json();
  json["critical_path"] = is_step ? path_json(run, *explained.explanation) : Json();
  json["parts"] = is_step ? gap_json(run, *explained.explanation) : Json();
  json["network_limit"] = network_limit_json(run);
  json["nccl_choice"] = nccl_choice_json(run);
  json["update_parts_s"] = is_step ? Json() : updates_json(run);
  Json& changes = json["changes"] = Json::array();
  for (const WhatIfRow& row : explained.changes) changes.push_back(change_json(explained, row));
  json["notes"] = run.notes;
  json["in_words"] = {{"path", is_step ? path_in_words(run, *explained.explanation) : updates_in_words(run)},
                      {"help", help_in_words(explained.run, explained.changes)}};
  return json;
}

}  // namespace trainyard
