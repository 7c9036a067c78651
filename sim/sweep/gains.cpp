#include "sweep/gains.hpp"

#include "sweep/scaling.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

/// "100 Gbps" as 100 and " Gbps"; nothing for a text that begins with no number.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return std::pair(number, text.substr(static_cast<std::size_t>(end - text.data())));
}

/// Whether all values of a key, but those left at the default, are numbers with the same unit.
bool is_measure(const SweepResult& result, std::size_t key) {
  std::optional<std::string_view> unit;
  for (const SweepRow& row : result.rows) {
    const std::string& value = result.sweep.points[row.point][key];
    if (value == default_value) continue;
    const auto parsed = number_and_unit(value);
    if (!parsed || (unit && *unit != parsed->second)) return false;
    unit = parsed->second;
  }
  return unit.has_value();
}

std::string without_key(const Sweep& sweep, const PointValues& values, std::size_t key) {
  std::string text;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    if (i == key || values[i] == default_value) continue;
    text += (text.empty() ? "" : ", ") + sweep.keys[i] + "=" + values[i];
  }
  return text;
}

void add_gains_of(const SweepResult& result, std::size_t key, std::vector<GainSeries>& all) {
  std::map<std::string, std::size_t> places;
  const std::size_t first = all.size();
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    const PointValues& values = result.sweep.points[row.point];
    if (row.status != PointStatus::done || values[key] == default_value) continue;
    std::string other_keys = without_key(result.sweep, values, key);
    const auto [place, is_new] = places.emplace(other_keys, all.size());
    if (is_new) all.push_back({result.sweep.keys[key], std::move(other_keys), {}, {}, {}});
    all[place->second].rows.push_back(i);
  }
  const auto value = [&](std::size_t row) -> const std::string& {
    return result.sweep.points[result.rows[row].point][key];
  };
  const auto throughput = [&](std::size_t row) {
    const std::optional<double> useful = figure(result, result.rows[row], "goodput_samples_per_s");
    return useful ? *useful : figure(result, result.rows[row], throughput_figure).value();
  };
  for (std::size_t i = first; i < all.size(); ++i) {
    GainSeries& series = all[i];
    std::ranges::stable_sort(series.rows, {},
                             [&](std::size_t row) { return number_and_unit(value(row))->first; });
    for (const std::size_t row : series.rows) series.values.push_back(value(row));
    for (std::size_t k = 1; k < series.rows.size(); ++k)
      series.gains.push_back(throughput(series.rows[k]) / throughput(series.rows[k - 1]) - 1);
  }
}

}  // namespace

std::vector<GainSeries> gains_of(const SweepResult& result) {
  std::vector<GainSeries> all;
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    if (!is_scale_key(result.sweep.keys[key]) && is_measure(result, key)) add_gains_of(result, key, all);
  }
  std::erase_if(all, [](const GainSeries& series) { return series.rows.size() < 2; });
  return all;
}

std::optional<std::size_t> gain_ends_at(const GainSeries& series) {
  std::size_t end = series.gains.size();
  while (end > 0 && series.gains[end - 1] < little_gain) --end;
  return end < series.gains.size() ? std::optional(end) : std::nullopt;
}

}  // namespace trainyard
