#pragma once
// Scaling studies: a sweep's rows against the smallest run of their series, and how far a series scales well.
// Speedup and scaling efficiency against one GPU with the same batch per GPU are figures of each row already;
// these are against a run that was made, as tables of published runs have them, and so also tell strong
// scaling (a fixed global batch).

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Rows that differ in the number of GPUs only, by their indices in the result, fewest GPUs first. Failed
/// rows are in none.
struct Series {
  std::string name;  ///< "model=resnet50, precision=amp"; empty where nothing else is varied
  std::vector<std::size_t> rows;
};

/// Whether rows of one series may differ in this key: nodes, gpus, gpus_per_node and ranks.
bool is_scale_key(std::string_view key);

/// Two rows are of one series if they agree in every varied key but nodes, gpus, gpus_per_node and ranks; in
/// the order of their first rows. A sweep that varies none of these four has none.
std::vector<Series> series_of(const SweepResult& result);

struct RelativeScaling {
  double baseline_ranks = 0;  ///< of the series' smallest run
  double speedup = 0;         ///< throughput over that run's
  double efficiency = 0;      ///< speedup over the ratio of ranks
};

/// Of each row; nothing for rows of no series.
std::vector<std::optional<RelativeScaling>> relative_scaling(const SweepResult& result);

/// Whether the sweep fixes the global batch (strong scaling), so that more ranks have less to do each. One
/// GPU with the same batch per GPU is then no yardstick.
bool is_strong_scaling(const Sweep& sweep);

/// Of each row, how much of linear scaling it reaches: its scaling efficiency, or under strong scaling its
/// efficiency over the smallest run of its series. Nothing for rows that failed.
std::vector<std::optional<double>> efficiencies(const SweepResult& result);

/// The row of a series with the most ranks up to which every run's efficiency is at least `least`; nothing if
/// not even the smallest's is.
std::optional<std::size_t> efficient_up_to(const SweepResult& result, const Series& series, double least);

}  // namespace trainyard
