// A comparison as JSON, in SI base units.

#include "document/json_text.hpp"
#include "report/comparison_page.hpp"
#include "report/ratio_error.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

Json head_json() { return {{"schema_version", 2}, {"trainyard_version", version()}}; }

Json run_json(const RunSummary& run) {
  Json json;
  for (const char* const field : {"experiment", "platform", "model", "stack", "precision", "optimizer"})
    json[field] = text_of(run, field);
  for (const char* const field : {"batch_per_gpu", "accumulation", "ranks", "nodes"})
    json[field] = std::llround(number_of(run, field));
  json["fidelity"] = text_of(run, "fidelity");
  return json;
}

void add_time(Json& json, const ComparedTime& time) {
  json["a_s"] = time.a.si();
  json["b_s"] = time.b.si();
  json["difference_s"] = time.difference.si();
  json["ratio"] = number_or_null(ratio_of(time.a.si(), time.b.si()));
}

Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json group_json(const ComparedGroup& group) {
  Json json;
  json["operation"] = group.operation.empty() ? Json() : Json(group.operation);
  json["purpose"] = group.purpose.empty() ? Json() : Json(group.purpose);
  add_time(json, group.time);
  json["collectives"] = Json::array();
  for (const ComparedCollective& one : group.collectives) {
    Json& row = json["collectives"].emplace_back(Json{{"collective", one.name}});
    add_time(row, one.time);
  }
  return json;
}

/// Everything except the runs themselves.
void add_comparison(Json& json, const Comparison& comparison) {
  Json& keys = json["experiment_differences"] = Json::array();
  for (const ComparedKey& key : comparison.keys)
    keys.push_back({{"key", key.path}, {"a", text_or_null(key.a)}, {"b", text_or_null(key.b)}});
  Json& step = json["step_time"];
  add_time(step, comparison.step);
  json["throughput_ratio"] = comparison.throughput_ratio;
  json["ratio_error"] = ratio_error_json(comparison);
  Json& figures = json["figures"] = Json::object();
  for (const ComparedFigure& figure : comparison.figures) {
    figures[std::string(figure.figure->field)] = {{"a", number_or_null(figure.a)},
                                                  {"b", number_or_null(figure.b)},
                                                  {"difference", number_or_null(figure.difference)},
                                                  {"ratio", number_or_null(figure.ratio)}};
  }
  Json& parts = json["step_parts"] = Json::array();
  for (const ComparedPart& part : comparison.parts) {
    Json& row = parts.emplace_back(Json{{"part", config::name_of(part.part)}});
    add_time(row, part.time);
  }
  Json& groups = json["exposed_collectives"] = Json::array();
  for (const ComparedGroup& group : comparison.groups) groups.push_back(group_json(group));
  json["in_words"] = comparison_in_words(comparison);
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  Json json = head_json();
  json["a"] = run_json(comparison.a);
  json["b"] = run_json(comparison.b);
  add_comparison(json, comparison);
  return json;
}

Json comparisons_json(std::span<const Comparison> comparisons) {
  Json json = head_json();
  Json& runs = json["runs"] = Json::array();
  std::vector<std::pair<double, std::string>> ranked{{1, "A"}};
  const auto add_run = [&](const std::string& letter, const RunSummary& run) {
    Json& its = runs.emplace_back(Json{{"run", letter}});
    its.update(run_json(run));
  };
  add_run("A", comparisons.front().a);
  for (const Comparison& one : comparisons) {
    add_run(one.letter, one.b);
    ranked.emplace_back(one.throughput_ratio, one.letter);
  }
  std::ranges::stable_sort(ranked, std::greater{}, &std::pair<double, std::string>::first);
  Json& ranking = json["ranking"] = Json::array();
  for (const auto& [ratio, letter] : ranked) ranking.push_back(letter);
  Json& all = json["comparisons"] = Json::array();
  for (const Comparison& one : comparisons) {
    Json& its = all.emplace_back(Json{{"run", one.letter}});
    add_comparison(its, one);
  }
  return json;
}

}  // namespace trainyard
