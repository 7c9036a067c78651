#include "published/predicted_case_json.hpp"

#include "accuracy/published_errors.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::json;

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::optional<double> number_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json json_of(const std::optional<Circumstances>& of) {
  if (!of) return nullptr;
  return circumstances_text(*of);
}

Json json_of(const std::optional<CaseMemory>& memory) {
  if (!memory) return nullptr;
  return {{"state", memory->state.si()},
          {"activations", memory->activations.si()},
          {"allocated", memory->allocated.si()},
          {"in_use", memory->in_use.si()},
          {"available", memory->available.si()},
          {"gpu", memory->gpu},
          {"fits", memory->fits}};
}

Json json_of(const std::optional<ErrorBounds>& bounds) {
  return bounds ? Json{bounds->low, bounds->high} : Json();
}

std::optional<ErrorBounds> bounds_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(ErrorBounds{json[0], json[1]});
}

}  // namespace

nlohmann::json json_of(const PredictedCase& predicted) {
  Json by_fit = Json::array();
  for (std::size_t i = 0; i < fit_count; ++i) {
    const Prediction& one = predicted.by_fit.values[i];
    by_fit.push_back({{"value", json_of(one.value)},
                      {"scale", one.compute_scale},
                      {"reason", one.reason},
                      {"linear", json_of(predicted.linear.values[i])}});
  }
  Json ends = Json::array();
  for (const PredictedEnd& end : predicted.ends)
    ends.push_back({{"value", end.value}, {"bounds", json_of(end.bounds)}});
  return {{"measured", json_of(predicted.measured)}, {"by_fit", std::move(by_fit)},
          {"bounds", json_of(predicted.bounds)},     {"ends", std::move(ends)},
          {"without_ends", predicted.without_ends},  {"of", json_of(predicted.of)},
          {"memory", json_of(predicted.memory)}};
}

PredictedCase predicted_case(const nlohmann::json& json) {
  PredictedCase predicted{.measured = number_of(json["measured"])};
  for (std::size_t i = 0; i < fit_count; ++i) {
    const Json& one = json["by_fit"][i];
    predicted.by_fit.values[i] = {
        .value = number_of(one["value"]), .compute_scale = one["scale"], .reason = one["reason"]};
    predicted.linear.values[i] = number_of(one["linear"]);
  }
  predicted.bounds = bounds_of(json["bounds"]);
  for (const Json& end : json["ends"])
    predicted.ends.push_back({.value = end["value"], .bounds = bounds_of(end["bounds"])});
  predicted.without_ends = json["without_ends"];
  if (const Json& of = json["of"]; !of.is_null()) predicted.of = read_circumstances(of);
  if (const Json& memory = json["memory"]; !memory.is_null())
    predicted.memory = CaseMemory{.state = Bytes{memory["state"].get<double>()},
                                  .activations = Bytes{memory["activations"].get<double>()},
                                  .allocated = Bytes{memory["allocated"].get<double>()},
                                  .in_use = Bytes{memory["in_use"].get<double>()},
                                  .available = Bytes{memory["available"].get<double>()},
                                  .gpu = memory["gpu"],
                                  .fits = memory["fits"]};
  return predicted;
}

}  // namespace trainyard
