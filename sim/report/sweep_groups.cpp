#include "report/sweep_groups.hpp"

#include "units/csv.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

std::string times_text(double ratio) { return fmt::format("{:.2f} x", ratio); }

std::string points_text(double share) {
  constexpr double points = 100;
  return with_sign(fmt::format("{:.1f} points", points * share));
}

/// "1.92 x (1.50 to 2.81)": the ends without the unit of the median.
template <class Text>
std::string spread_text(const Spread& spread, const Text& text) {
  const auto number = [&](double value) {
    const std::string all = text(value);
    return all.substr(0, all.rfind(' '));
  };
  const std::string low = number(spread.low);
  const std::string high = number(spread.high);
  return text(spread.median) + (low == high ? "" : fmt::format(" ({} to {})", low, high));
}

std::string effect_name(const GroupEffect& effect) { return effect.key + "=" + effect.value; }

template <class Text>
doc::Cell spread_cell(const std::optional<Spread>& spread, const Text& text) {
  return spread ? doc::Value(spread_text(*spread, text), spread->median) : doc::Value("-");
}

const GroupEffect* effect_of(const GroupFinding& finding, const GroupEffect& like) {
  for (const GroupEffect& effect : finding.effects)
    if (effect.key == like.key && effect.value == like.value) return &effect;
  return nullptr;
}

/// The effects of all groups, each key and value once.
std::vector<GroupEffect> all_effects(const std::vector<GroupFinding>& findings) {
  std::vector<GroupEffect> all;
  for (const GroupFinding& finding : findings) {
    for (const GroupEffect& effect : finding.effects) {
      const bool is_known = std::ranges::any_of(
          all, [&](const GroupEffect& one) { return one.key == effect.key && one.value == effect.value; });
      if (!is_known) all.push_back(effect);
    }
  }
  return all;
}

Json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return {};
  return {{"median", spread->median}, {"low", spread->low}, {"high", spread->high}};
}

void add_spread(CsvText& csv, const std::optional<Spread>& spread) {
  const auto end = [&](double Spread::*member) {
    return spread ? std::optional((*spread).*member) : std::nullopt;
  };
  csv.add(end(&Spread::median), end(&Spread::low), end(&Spread::high));
}

}  // namespace

std::string finding_in_words(const GroupFinding& finding) {
  std::string text = count(static_cast<std::int64_t>(finding.points), "point");
  if (!finding.members.empty()) text += " of " + finding.members;
  if (finding.efficiency) text += "; efficiency on most GPUs " + spread_text(*finding.efficiency, percent);
  if (const GroupEffect* const best = strongest_effect(finding, true))
    text +=
        fmt::format("; fastest with {}: {}", effect_name(*best), spread_text(best->throughput, times_text));
  if (const GroupEffect* const worst = strongest_effect(finding, false))
    text +=
        fmt::format("; slowest with {}: {}", effect_name(*worst), spread_text(worst->throughput, times_text));
  if (finding.utilization) text += "; memory " + spread_text(*finding.utilization, percent);
  return text;
}

doc::Table effects_table(const std::vector<GroupFinding>& findings) {
  constexpr int depth = 2;  // below the words of the effect, which begin after the gap
  doc::Table table{.key = "effects",
                   .title = "effects of keys in each group",
                   .columns = {doc::texts("effect, group"), doc::numbers("samples/s"),
                               doc::numbers("efficiency", {}, 1), doc::numbers("memory/GPU")}};
  for (const GroupEffect& like : all_effects(findings)) {
    table.rows.push_back({.rest = fmt::format("{}: {} to {}", like.key, like.first, like.value)});
    for (const GroupFinding& finding : findings) {
      const GroupEffect* const effect = effect_of(finding, like);
      if (effect == nullptr) continue;
      table.rows.push_back(
          {.cells = {finding.group, spread_cell(effect->throughput, times_text),
                     spread_cell(effect->efficiency, points_text), spread_cell(effect->memory, times_text)},
           .depth = depth});
    }
  }
  return table;
}

std::string groups_csv(const std::vector<GroupFinding>& findings) {
  if (findings.empty()) return {};
  CsvText csv(
      "group,key,value,first,pairs,throughput_ratio,throughput_ratio_low,throughput_ratio_high,"
      "efficiency_difference,efficiency_difference_low,efficiency_difference_high,memory_ratio,"
      "memory_ratio_low,memory_ratio_high");
  for (const GroupFinding& finding : findings) {
    for (const GroupEffect& effect : finding.effects) {
      csv.add(finding.group, effect.key, effect.value, effect.first, effect.pairs);
      add_spread(csv, effect.throughput);
      add_spread(csv, effect.efficiency);
      add_spread(csv, effect.memory);
      csv.end_row();
    }
  }
  return csv.text();
}

nlohmann::ordered_json groups_json(const std::vector<GroupFinding>& findings) {
  Json all = Json::array();
  for (const GroupFinding& finding : findings) {
    Json effects = Json::array();
    for (const GroupEffect& effect : finding.effects)
      effects.push_back({{"key", effect.key},
                         {"value", effect.value},
                         {"first", effect.first},
                         {"pairs", effect.pairs},
                         {"throughput_ratio", spread_json(effect.throughput)},
                         {"efficiency_difference", spread_json(effect.efficiency)},
                         {"memory_ratio", spread_json(effect.memory)}});
    all.push_back({{"group", finding.group},
                   {"members", finding.members},
                   {"points", finding.points},
                   {"scaling_efficiency", spread_json(finding.efficiency)},
                   {"memory_utilization", spread_json(finding.utilization)},
                   {"effects", std::move(effects)}});
  }
  return all;
}

}  // namespace trainyard
