#pragma once
// A finished sweep: its rows, and their figures by name.

#include "accuracy/error_bounds.hpp"
#include "sweep/sweep.hpp"
#include "sweep/sweep_row.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

inline constexpr const char* throughput_figure = "throughput_samples_per_s";
inline constexpr const char* efficiency_figure = "scaling_efficiency";

struct RelativeScaling {
  double baseline_ranks = 0;  ///< of the series' smallest run
  double speedup = 0;         ///< relative to that run's throughput
  double efficiency = 0;      ///< speedup / ratio of ranks
};

struct SweepResult {
  Sweep sweep;
  std::vector<std::string> figures;  ///< names of the rows' figures
  std::vector<SweepRow> rows;        ///< by point; without points that did not run
  /// By row, of the scaling efficiency; nothing where unknown; empty without add_efficiency_errors
  /// (efficiency_error.hpp).
  std::vector<std::optional<ErrorBounds>> efficiency_errors = {};
  /// By published value, of the throughput relative to that of the value's reference; nothing where unknown
  /// or without one; empty without add_efficiency_errors.
  std::vector<std::optional<ErrorBounds>> relative_errors = {};
  /// By row, of a group of points (sweep_groups.hpp): relative_scaling() of the result it was taken from,
  /// whose smallest runs may be in other groups. Empty: the rows are the whole result.
  std::vector<std::optional<RelativeScaling>> scaling_of_whole = {};
};

/// Nothing if the row failed, or the figure is unknown. Throws std::out_of_range if there is no such figure.
std::optional<double> figure(const SweepResult& result, const SweepRow& row, std::string_view name);

/// figure(); nothing where a store of an older version has no such figure.
std::optional<double> figure_if_stored(const SweepResult& result, const SweepRow& row, std::string_view name);

/// Whether the rows have a figure of this name.
bool has_figure(const SweepResult& result, std::string_view name);

/// Number of failed rows.
std::size_t failures(const SweepResult& result);

}  // namespace trainyard
