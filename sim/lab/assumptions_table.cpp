#include "lab/assumptions_table.hpp"

#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.2f}", 100 * *error) : std::string("refused");
}

/// "dlperf, dgx1v: fabric.latency.value 1.8 us"; if there are several places, the first and their number.
std::string places_text(const Assumption& assumption) {
  const FileChange& first = assumption.places.front();
  std::string text = fmt::format("{}: {} {}", first.name, first.key, first.value);
  if (assumption.places.size() > 1) text += fmt::format(" and {} more", assumption.places.size() - 1);
  return text;
}

}  // namespace

std::string assumptions_table(const std::vector<AssumptionEffect>& effects, Fit fit,
                              const PrintStyle& style) {
  std::string text =
      '\n' + comment(fmt::format("assumed values: mean errors in % with fit {} over the runs that "
                                 "use one, with 0.7, 1 and 1.3 times the value",
                                 config::name_of(fit)),
                     style.width);
  // one more blank before the text
  Table table(
      {number_column(5), number_column(8), number_column(8), number_column(8), text_column().wraps(20)},
      {.indent = 0, .gap = 1});
  table.row("runs", "x 0.7", "x 1", "x 1.3", " value and its reason");
  for (const AssumptionEffect& effect : effects) {
    table.row(effect.rows, error_text(effect.less), error_text(effect.as_it_is), error_text(effect.more),
              ' ' + places_text(effect.assumption));
    table.row("", "", "", "", ' ' + effect.assumption.reason);
  }
  return text + table.text(style.width);
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
