#include "published/linear_scaling.hpp"

#include "published/training_rows.hpp"
#include "units/statistics.hpp"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

/// The speed that a row reports, in a unit that only rows of the same kind share.
struct Speed {
  double value = 0;
  std::string unit;
};

std::optional<Speed> speed_of(const PublishedRow& row) {
  const auto read = training_measurement(row);
  if (const auto* measured = std::get_if<TrainingMeasurement>(&read)) {
    if (measured->throughput) return Speed{*measured->throughput, "samples"};
    return Speed{1 / *measured->epoch_time, "epochs"};
  }
  if (row.metric == "throughput" && row.value > 0 && !counts_contradict(row))
    return Speed{row.value, row.unit};
  return std::nullopt;
}

/// Rows of a series in one unit.
using SpeedKey = std::pair<SeriesKey, std::string>;

struct BaseSpeed {
  int gpus_per_node = 0;
  bool is_one_gpu = false;
  double per_gpu = 0;
};
using BaseSpeeds = std::map<SpeedKey, std::vector<BaseSpeed>>;

BaseSpeeds base_speeds(const std::vector<PublishedRow>& rows, const SeriesWords& words) {
  BaseSpeeds all;
  for (const PublishedRow& row : rows) {
    const bool is_full_node = row.gpus_total == row.gpus_per_node;
    if (row.clean == "no" || row.split == "context" || row.nodes != 1) continue;
    if (row.gpus_total != 1 && !is_full_node) continue;
    const auto speed = speed_of(row);
    if (!speed) continue;
    all[{series_of(row, words), speed->unit}].push_back(
        {.gpus_per_node = is_full_node ? row.gpus_per_node : 0,
         .is_one_gpu = row.gpus_total == 1,
         .per_gpu = speed->value / row.gpus_total});
  }
  return all;
}

/// The geometric mean of a series' rows that pass the test; nothing if none does.
template <class Test>
std::optional<double> mean_speed(const BaseSpeeds& speeds, const SpeedKey& key, const Test& passes) {
  const auto series = speeds.find(key);
  if (series == speeds.end()) return std::nullopt;
  std::vector<double> passing;
  for (const BaseSpeed& base : series->second) {
    if (passes(base)) passing.push_back(base.per_gpu);
  }
  return passing.empty() ? std::nullopt : std::optional(geometric_mean(passing));
}

}  // namespace

std::vector<LinearErrors> linear_errors(const std::vector<const PublishedRow*>& targets,
                                        const PublishedData& data) {
  std::vector<LinearErrors> errors(targets.size());
  if (targets.empty()) return errors;
  const SeriesWords& words = data.run_rules.series;
  const BaseSpeeds given = base_speeds(data.rows, words);
  const BaseSpeeds lookup = base_speeds(data.lookup, words);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const PublishedRow& row = *targets[i];
    const auto speed = speed_of(row);
    if (!speed) continue;
    const SpeedKey key{series_of(row, words), speed->unit};
    const auto error_from = [&](const auto& passes) -> std::optional<double> {
      auto per_gpu = mean_speed(given, key, passes);
      if (!per_gpu) per_gpu = mean_speed(lookup, key, passes);
      if (!per_gpu) return std::nullopt;
      return std::abs(*per_gpu * row.gpus_total / speed->value - 1);
    };
    if (row.gpus_total > 1) {
      errors[i][Fit::one_gpu] = error_from([](const BaseSpeed& base) { return base.is_one_gpu; });
      errors[i][Fit::nothing] = errors[i][Fit::software] = errors[i][Fit::one_gpu];
    }
    if (row.nodes > 1) {
      errors[i][Fit::one_node] =
          error_from([&](const BaseSpeed& base) { return base.gpus_per_node == row.gpus_per_node; });
    }
  }
  return errors;
}

}  // namespace trainyard
