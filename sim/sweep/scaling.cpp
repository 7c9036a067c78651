#include "sweep/scaling.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 4> scale_keys{"nodes", "gpus", "gpus_per_node", ranks_key};

/// The name without keys left at their defaults, unless all are.
std::string name_of_series(const Sweep& sweep, const PointValues& values) {
  std::string name;
  std::string of_defaults;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    if (is_scale_key(sweep.keys[i])) continue;
    std::string& text = values[i] == default_value ? of_defaults : name;
    text += (text.empty() ? "" : ", ") + sweep.keys[i] + "=" + values[i];
  }
  return name.empty() ? of_defaults : name;
}

/// efficient_up_to, of other efficiencies.
template <class Efficiency>
std::optional<std::size_t> last_above(const Series& series, double least, const Efficiency& efficiency) {
  std::optional<std::size_t> last;
  for (const std::size_t row : series.rows) {
    if (efficiency(row) < least) break;
    last = row;
  }
  return last;
}

}  // namespace

bool is_scale_key(std::string_view key) { return std::ranges::find(scale_keys, key) != scale_keys.end(); }

std::vector<Series> series_of(const SweepResult& result) {
  std::vector<Series> all;
  std::map<std::string, std::size_t> places;
  if (std::ranges::none_of(result.sweep.keys, is_scale_key)) return all;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    if (row.status != PointStatus::done) continue;
    const std::string name = name_of_series(result.sweep, result.sweep.points[row.point]);
    const auto [place, is_new] = places.emplace(name, all.size());
    if (is_new) all.push_back({name, {}});
    all[place->second].rows.push_back(i);
  }
  const auto ranks = [&](std::size_t row) { return figure(result, result.rows[row], "ranks").value(); };
  for (Series& series : all) std::ranges::stable_sort(series.rows, {}, ranks);
  return all;
}

std::vector<std::optional<RelativeScaling>> relative_scaling(const SweepResult& result) {
  if (!result.scaling_of_whole.empty()) return result.scaling_of_whole;
  std::vector<std::optional<RelativeScaling>> scaling(result.rows.size());
  const auto value = [&](std::size_t row, std::string_view name) {
    return figure(result, result.rows[row], name).value();
  };
  for (const Series& series : series_of(result)) {
    const std::size_t smallest = series.rows.front();
    for (const std::size_t row : series.rows) {
      RelativeScaling& of_row = scaling[row].emplace();
      of_row.baseline_ranks = value(smallest, "ranks");
      of_row.speedup = value(row, "throughput_samples_per_s") / value(smallest, "throughput_samples_per_s");
      of_row.efficiency = of_row.speedup * of_row.baseline_ranks / value(row, "ranks");
    }
  }
  return scaling;
}

bool is_strong_scaling(const Sweep& sweep) {
  const auto is_set = [](const auto& entry) { return entry.first == global_batch_key; };
  return std::ranges::find(sweep.keys, global_batch_key) != sweep.keys.end() ||
         std::ranges::any_of(sweep.set, is_set);
}

bool is_relative_to_smallest(const SweepResult& result) {
  if (is_strong_scaling(result.sweep)) return true;
  if (std::ranges::none_of(result.sweep.keys, is_scale_key)) return false;
  return std::ranges::any_of(result.rows, [&](const SweepRow& row) {
    return row.status == PointStatus::done && !figure(result, row, "scaling_efficiency");
  });
}

Efficiencies efficiencies(const SweepResult& result) {
  const bool is_relative = is_relative_to_smallest(result);
  const auto relative = relative_scaling(result);
  Efficiencies all(result.rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_relative)
      all[i] = figure(result, result.rows[i], "scaling_efficiency");
    else if (relative[i])
      all[i] = relative[i]->efficiency;
  }
  return all;
}

std::optional<std::size_t> efficient_up_to(const Efficiencies& reached, const Series& series, double least) {
  return last_above(series, least, [&](std::size_t row) { return reached[row].value(); });
}

std::optional<EfficientRange> efficient_range(const SweepResult& result, const Efficiencies& reached,
                                              const Series& series, double least) {
  const auto is_known = [&](std::size_t row) {
    return row < result.efficiency_errors.size() && result.efficiency_errors[row].has_value();
  };
  if (!std::ranges::all_of(series.rows, is_known)) return std::nullopt;
  const auto last_at = [&](double ErrorBounds::*end) {
    return last_above(series, least, [&](std::size_t row) {
      return reached[row].value() * (1 + (*result.efficiency_errors[row]).*end);
    });
  };
  EfficientRange range{.low = last_at(&ErrorBounds::low), .high = last_at(&ErrorBounds::high)};
  range.is_open = range.high == series.rows.back();
  return range;
}

}  // namespace trainyard
