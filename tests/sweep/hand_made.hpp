#pragma once
// Sweeps and results made by hand: what becomes of figures can be told without a simulation.

#include "sweep/sweep_result.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// What one point did.
struct MadeRow {
  PointValues values;
  double ranks = 1;
  double throughput = 0;                 ///< samples a second
  std::optional<double> efficiency = 1;  ///< nothing: ranks share a model
  std::optional<double> epoch = {};      ///< seconds
  std::optional<double> rent = {};       ///< USD an hour
  std::optional<double> power = {};      ///< watts
  PointStatus status = PointStatus::done;
  std::string reason = {};
};

inline const std::vector<std::string> made_figures{"ranks",
                                                   "step_time_s",
                                                   "throughput_samples_per_s",
                                                   "speedup",
                                                   "scaling_efficiency",
                                                   "exposed_communication_s",
                                                   "model_flops_utilization",
                                                   "memory_utilization",
                                                   "average_power_w",
                                                   "rent_usd_per_h",
                                                   "epoch_time_s",
                                                   "cost_per_epoch_usd",
                                                   "goodput_samples_per_s"};

inline SweepResult made_result(std::vector<std::string> keys, const std::vector<MadeRow>& rows) {
  SweepResult result;
  result.sweep.name = "made";
  result.sweep.experiment = "none";
  result.sweep.keys = std::move(keys);
  result.figures = made_figures;
  for (const MadeRow& made : rows) {
    SweepRow row{.point = result.rows.size(), .status = made.status, .reason = made.reason, .figures = {}};
    if (made.status == PointStatus::done) {
      const auto speedup =
          made.efficiency ? std::optional(made.ranks * *made.efficiency) : std::optional<double>();
      row.figures = {made.ranks,   2 / made.throughput, made.throughput, speedup,    made.efficiency,
                     std::nullopt, std::nullopt,        std::nullopt,    made.power, made.rent,
                     made.epoch,   std::nullopt,        std::nullopt};
    }
    result.sweep.points.push_back(made.values);
    result.rows.push_back(std::move(row));
  }
  return result;
}

/// Two series of which one does not fit; the cheapest point is not the fastest.
inline SweepResult sample_sweep() {
  SweepResult result = made_result(
      {"model", "nodes"},
      {{.values = {"a", "1"}, .ranks = 4, .throughput = 100, .epoch = 7200, .rent = 10, .power = 500},
       {.values = {"a", "2"},
        .ranks = 8,
        .throughput = 150,
        .efficiency = 0.75,
        .epoch = 4800,
        .rent = 20,
        .power = 1000},
       {.values = {"b, large", "1"},
        .status = PointStatus::impossible,
        .reason = "does not fit: \"room\" for 1"},
       {.values = {"b, large", "2"}, .status = PointStatus::wrong, .reason = "no such model"}});
  result.sweep.title = "made by hand";
  return result;
}

}  // namespace trainyard
