#include "sweep/scaling.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 4> scale_keys{"nodes", "gpus", "gpus_per_node", ranks_key};

bool is_scale_key(std::string_view key) { return std::ranges::find(scale_keys, key) != scale_keys.end(); }

std::string name_of_series(const Sweep& sweep, const PointValues& values) {
  std::string name;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    if (!is_scale_key(sweep.keys[i])) name += (name.empty() ? "" : ", ") + sweep.keys[i] + "=" + values[i];
  }
  return name;
}

}  // namespace

std::vector<Series> series_of(const SweepResult& result) {
  std::vector<Series> all;
  if (std::ranges::none_of(result.sweep.keys, is_scale_key)) return all;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    if (row.status != PointStatus::done) continue;
    std::string name = name_of_series(result.sweep, result.sweep.points[row.point]);
    auto found = std::ranges::find(all, name, &Series::name);
    if (found == all.end()) found = all.insert(all.end(), {std::move(name), {}});
    found->rows.push_back(i);
  }
  const auto ranks = [&](std::size_t row) { return figure(result, result.rows[row], "ranks").value(); };
  for (Series& series : all) std::ranges::stable_sort(series.rows, {}, ranks);
  return all;
}

std::vector<std::optional<RelativeScaling>> relative_scaling(const SweepResult& result) {
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

std::optional<std::size_t> efficient_up_to(const SweepResult& result, const Series& series, double least) {
  std::optional<std::size_t> last;
  for (const std::size_t row : series.rows) {
    if (figure(result, result.rows[row], "scaling_efficiency").value() < least) break;
    last = row;
  }
  return last;
}

}  // namespace trainyard
