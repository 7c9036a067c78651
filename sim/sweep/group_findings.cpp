#include "sweep/group_findings.hpp"

#include "sweep/scaling.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <utility>

namespace trainyard {
namespace {

std::optional<Spread> spread_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(values);
  return Spread{.median = quantile(values, 0.5), .low = low, .high = high};
}

/// The different values of a key at these points, in the order of its list, or of the points without one.
std::vector<std::string> values_of(const SweepResult& result, std::size_t key) {
  std::vector<std::string> values;
  const auto add = [&](const std::string& value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  if (!result.sweep.lists.empty()) std::ranges::for_each(result.sweep.lists[key], add);
  for (const SweepRow& row : result.rows) add(result.sweep.points[row.point][key]);
  return values;
}

/// Two points, by their rows; both ran.
struct Pair {
  std::size_t first = 0, other = 0;
};

/// Pairs that differ in this key alone, the largest of each series.
class Pairs {
public:
  Pairs(const SweepResult& result, std::size_t key) : result_(result), key_(key) {
    for (std::size_t row = 0; row < result.rows.size(); ++row)
      if (result.rows[row].status == PointStatus::done) rows_[values_without(row, false)][value(row)] = row;
  }

  [[nodiscard]] bool has(const std::string& value) const {
    return std::ranges::any_of(rows_, [&](const auto& one) { return one.second.contains(value); });
  }

  [[nodiscard]] std::vector<Pair> between(const std::string& first, const std::string& other) const {
    std::map<PointValues, Pair> largest;  // by the values without those that count GPUs
    for (const auto& [same, row_of] : rows_) {
      const auto one = row_of.find(first);
      const auto two = row_of.find(other);
      if (one == row_of.end() || two == row_of.end()) continue;
      const Pair pair{.first = one->second, .other = two->second};
      const auto [place, is_new] = largest.try_emplace(values_without(pair.first, true), pair);
      if (!is_new && ranks(pair.other) > ranks(place->second.other)) place->second = pair;
    }
    std::vector<Pair> pairs;
    for (const auto& [values, pair] : largest) pairs.push_back(pair);
    return pairs;
  }

private:
  [[nodiscard]] const std::string& value(std::size_t row) const {
    return result_.sweep.points[result_.rows[row].point][key_];
  }
  [[nodiscard]] double ranks(std::size_t row) const {
    return figure(result_, result_.rows[row], "ranks").value_or(0);
  }
  [[nodiscard]] PointValues values_without(std::size_t row, bool without_scale) const {
    PointValues values;
    for (std::size_t key = 0; key < result_.sweep.keys.size(); ++key)
      if (key != key_ && !(without_scale && is_scale_key(result_.sweep.keys[key])))
        values.push_back(result_.sweep.points[result_.rows[row].point][key]);
    return values;
  }

  const SweepResult& result_;
  std::size_t key_;
  std::map<PointValues, std::map<std::string, std::size_t>> rows_;
};

/// `change(first, other)` of each pair in which both are known.
template <class ValueOf, class Change>
std::optional<Spread> spread_over(const std::vector<Pair>& pairs, const ValueOf& value,
                                  const Change& change) {
  std::vector<double> changes;
  for (const Pair& pair : pairs) {
    const std::optional<double> first = value(pair.first);
    const std::optional<double> other = value(pair.other);
    if (first && other) changes.push_back(change(*first, *other));
  }
  return spread_of(changes);
}

void add_effects(const SweepResult& group, std::size_t key, const Efficiencies& reached,
                 std::vector<GroupEffect>& effects) {
  const Pairs pairs(group, key);
  std::vector<std::string> values = values_of(group, key);
  std::erase_if(values, [&](const std::string& value) { return !pairs.has(value); });
  const auto ratio = [](double first, double other) { return other / first; };
  const auto difference = [](double first, double other) { return other - first; };
  const auto of_row = [&](const char* name) {
    return [&group, name](std::size_t row) { return figure_if_stored(group, group.rows[row], name); };
  };
  for (std::size_t i = 1; i < values.size(); ++i) {
    const std::vector<Pair> these = pairs.between(values.front(), values[i]);
    const auto throughput = spread_over(these, of_row("throughput_samples_per_s"), ratio);
    if (!throughput) continue;
    effects.push_back({.key = group.sweep.keys[key],
                       .value = values[i],
                       .first = values.front(),
                       .pairs = these.size(),
                       .throughput = *throughput,
                       .efficiency = spread_over(
                           these, [&](std::size_t row) { return reached[row]; }, difference),
                       .memory = spread_over(these, of_row("memory_peak_bytes"), ratio)});
  }
}

GroupFinding finding_of(const SweepGroup& group) {
  const SweepResult& result = group.result;
  GroupFinding finding;
  finding.group = group.value;
  finding.points = result.rows.size() - failures(result);
  const Efficiencies reached = efficiencies(result);
  std::vector<double> on_most;
  for (const Series& series : series_of(result))
    if (const auto& largest = reached[series.rows.back()]) on_most.push_back(*largest);
  finding.efficiency = spread_of(on_most);
  std::vector<double> utilizations;
  for (const SweepRow& row : result.rows)
    if (const auto used = figure_if_stored(result, row, "memory_utilization")) utilizations.push_back(*used);
  finding.utilization = spread_of(utilizations);
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key)
    if (!is_scale_key(result.sweep.keys[key])) add_effects(result, key, reached, finding.effects);
  return finding;
}

/// The values of a key at the rows of each group; empty if two groups have one.
std::vector<std::vector<std::string>> members_by(const std::vector<SweepGroup>& groups, std::size_t key) {
  std::vector<std::vector<std::string>> members;
  std::map<std::string, std::size_t> group_of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::string>& mine = members.emplace_back();
    for (const SweepRow& row : groups[i].result.rows) {
      const std::string& value = groups[i].result.sweep.points[row.point][key];
      const auto [place, is_new] = group_of.emplace(value, i);
      if (place->second != i) return {};
      if (is_new) mine.push_back(value);
    }
  }
  return members;
}

}  // namespace

std::vector<GroupFinding> group_findings(const SweepResult& result) {
  std::vector<GroupFinding> findings;
  if (std::ranges::find(result.sweep.keys, group_key) == result.sweep.keys.end()) return findings;
  const std::vector<SweepGroup> groups = groups_of(result, group_key);
  for (const SweepGroup& group : groups) findings.push_back(finding_of(group));
  if (groups.empty()) return findings;
  const std::vector<std::string>& keys = groups.front().result.sweep.keys;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    const auto members = members_by(groups, key);
    if (members.empty()) continue;
    for (std::size_t i = 0; i < findings.size(); ++i)
      findings[i].members = fmt::format("{}={}", keys[key], fmt::join(members[i], ", "));
    break;
  }
  return findings;
}

const GroupEffect* strongest_effect(const GroupFinding& finding, bool is_gain) {
  const GroupEffect* strongest = nullptr;
  for (const GroupEffect& effect : finding.effects) {
    const double ratio = effect.throughput.median;
    if (is_gain ? ratio <= 1 : ratio >= 1) continue;
    const bool is_stronger = strongest == nullptr || (is_gain ? ratio > strongest->throughput.median
                                                              : ratio < strongest->throughput.median);
    if (is_stronger) strongest = &effect;
  }
  return strongest;
}

}  // namespace trainyard
