#pragma once
// Scaling studies: a sweep's rows relative to the smallest run of their series, and up to which size a series
// scales well. The figures of each row already contain speedup and scaling efficiency relative to one GPU
// with the same batch per GPU; those here are relative to an actual run, as in tables of published runs, and
// so also suit strong scaling (a fixed global batch).

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Rows that differ only in the number of GPUs, by their indices in the result, fewest GPUs first. Contains
/// no failed rows.
struct Series {
  std::string name;  ///< "model=resnet50, precision=amp"; empty if no other key is varied
  std::vector<std::size_t> rows;
};

/// Whether rows of one series may differ in this key: nodes, gpus, gpus_per_node and ranks.
bool is_scale_key(std::string_view key);

/// Two rows belong to one series if they agree in every varied key except nodes, gpus, gpus_per_node and
/// ranks; series are in the order of their first rows. A sweep that varies none of these four has no series.
std::vector<Series> series_of(const SweepResult& result);

/// The scaling of each row; nothing for rows without a series. In a group of points it is relative to the
/// smallest run of the whole result.
std::vector<std::optional<RelativeScaling>> relative_scaling(const SweepResult& result);

/// Whether the sweep fixes the global batch (strong scaling), so that more ranks have less work each. One GPU
/// with the same batch per GPU is then not a useful reference.
bool is_strong_scaling(const Sweep& sweep);

/// Whether efficiencies are relative to the smallest run of their series: under strong scaling, and if the
/// ranks of a run share a model, which then has no step on one GPU.
bool is_relative_to_smallest(const SweepResult& result);

/// By row; nothing for failed rows.
using Efficiencies = std::vector<std::optional<double>>;

/// For each row, the fraction of linear scaling that it reaches: its scaling efficiency, or, if
/// is_relative_to_smallest(), its efficiency relative to the smallest run of its series.
Efficiencies efficiencies(const SweepResult& result);

/// The row of a series with the most ranks such that every run up to it has at least efficiency `least`;
/// nothing if not even the smallest run has. `reached`: efficiencies(result).
std::optional<std::size_t> efficient_up_to(const Efficiencies& reached, const Series& series, double least);

/// efficient_up_to() with every efficiency at the lower, and at the upper end of its expected error.
struct EfficientRange {
  std::optional<std::size_t> low = {}, high = {};
  bool is_open = false;  ///< `high` is the largest run: more might do
};

/// The range of a series; nothing if the error of one of its runs is unknown.
std::optional<EfficientRange> efficient_range(const SweepResult& result, const Efficiencies& reached,
                                              const Series& series, double least);

}  // namespace trainyard
