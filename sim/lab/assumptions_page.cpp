#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "lab/page_parts.hpp"
#include "lab/pages.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

doc::Value error_value(const std::optional<double>& error) {
  doc::Value value(error ? fmt::format("{:.2f}", 100 * *error) : std::string("refused"));
  value.number = error;
  return value;
}

/// "dlperf, dgx1v: fabric.latency.value 1.8 us"; if there are several places, the first and their number.
std::string places_text(const Assumption& assumption) {
  const FileChange& first = assumption.places.front();
  std::string text = fmt::format("{}: {} {}", first.name, first.key, first.value);
  if (assumption.places.size() > 1) text += fmt::format(" and {} more", assumption.places.size() - 1);
  return text;
}

}  // namespace

void add_assumptions(doc::Document& page, const std::vector<AssumptionEffect>& effects, Fit fit) {
  doc::Table table = table_of(
      "assumed values", {"runs", "x 0.7", "x 1", "x 1.3", "value and its reason"},
      {number_column(5), number_column(8), number_column(8), number_column(8), text_column().wraps(20)});
  table.columns.back().is_apart = true;
  for (const AssumptionEffect& effect : effects) {
    add_row(table, effect.rows, error_value(effect.less), error_value(effect.as_it_is),
            error_value(effect.more), places_text(effect.assumption));
    add_row(table, "", "", "", "", effect.assumption.reason);
  }
  add_part(page, "assumed values",
           fmt::format("assumed values: mean errors in % with fit {} over the runs that use one, with 0.7, 1 "
                       "and 1.3 times the value",
                       config::name_of(fit)))
      .add(std::move(table));
}

nlohmann::ordered_json assumptions_json(const std::vector<AssumptionEffect>& effects) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const AssumptionEffect& effect : effects) {
    nlohmann::ordered_json places = nlohmann::ordered_json::array();
    for (const FileChange& place : effect.assumption.places)
      places.push_back({{"file", place.name}, {"key", place.key}, {"value", place.value}});
    all.push_back({{"reason", effect.assumption.reason},
                   {"places", std::move(places)},
                   {"rows", effect.rows},
                   {"mape_with_less", number_or_null(effect.less)},
                   {"mape", number_or_null(effect.as_it_is)},
                   {"mape_with_more", number_or_null(effect.more)}});
  }
  return all;
}

}  // namespace trainyard
