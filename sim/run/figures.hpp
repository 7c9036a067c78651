#pragma once
// The table of figures: every number and name by which a run is described, declared once. summary.json, the
// columns of sweeps, `compare`, "not modelled", the tiles of report.html and the table of docs/json.md are
// loops over it, so a new figure is one entry in the group of its subject (figure_groups.hpp).

#include "run/run.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

enum class FigureUnit {
  text,
  count,
  samples,
  gpus,
  number,
  time,
  samples_per_s,
  tokens_per_s,
  per_second,
  times,
  share,
  bytes,
  flops,
  flop_rate,
  energy,
  power,
  usd,
  usd_per_h,
  batch_range  ///< the name of a BatchRange
};

/// Where a figure is shown in addition to summary.json.
struct Shown {
  bool in_sweeps = true;         ///< a column of sweep.csv; never true for texts
  bool in_comparison = true;     ///< a row of `compare`; never true for texts
  bool as_tile = true;           ///< a key figure: on the first screen of report.html, first in `compare`
  bool is_always_there = false;  ///< identifies the job: never null
  bool is_of_jobs = false;       ///< in sweeps only if their points are whole jobs
  bool is_of_targets = false;    ///< in sweeps only if these train until a target is reached ...
  bool is_of_learning = false;   ///< ... or if their points learn
  bool is_of_accuracy = false;   ///< in sweeps only if published accuracies of fixed epochs are known
  bool is_of_launches = false;   ///< only of runs whose stack has a lowering
};
inline constexpr Shown everywhere{};
inline constexpr Shown in_tables{.as_tile = false};
inline constexpr Shown in_sweeps{.in_comparison = false, .as_tile = false};
inline constexpr Shown key_in_sweeps{.in_comparison = false};
inline constexpr Shown of_launches{.in_sweeps = false, .as_tile = false, .is_of_launches = true};
inline constexpr Shown summary_only{.in_sweeps = false, .in_comparison = false, .as_tile = false};
inline constexpr Shown tile_only{.in_sweeps = false, .in_comparison = false};
inline constexpr Shown job_itself{
    .in_sweeps = false, .in_comparison = false, .as_tile = false, .is_always_there = true};
inline constexpr Shown size_of_job{.as_tile = false, .is_always_there = true};

inline constexpr Shown of_whole_job{.is_of_jobs = true};
inline constexpr Shown of_job_in_sweeps{.in_comparison = false, .as_tile = false, .is_of_jobs = true};
inline constexpr Shown of_target{.is_of_targets = true};
inline constexpr Shown of_target_in_tables{.as_tile = false, .is_of_targets = true};
inline constexpr Shown of_target_in_sweeps{.in_comparison = false, .as_tile = false, .is_of_targets = true};
inline constexpr Shown of_accuracy{.is_of_accuracy = true};
inline constexpr Shown of_accuracy_in_sweeps{
    .in_comparison = false, .as_tile = false, .is_of_accuracy = true};
inline constexpr Shown of_learning{.is_of_learning = true};
inline constexpr Shown of_learning_in_tables{.as_tile = false, .is_of_learning = true};
inline constexpr Shown of_learning_in_sweeps{
    .in_comparison = false, .as_tile = false, .is_of_learning = true};
inline constexpr Shown of_reached_in_sweeps{
    .in_comparison = false, .as_tile = false, .is_of_targets = true, .is_of_learning = true};
inline constexpr Shown of_reached{.is_of_targets = true, .is_of_learning = true};
inline constexpr Shown of_reached_in_tables{.as_tile = false, .is_of_targets = true, .is_of_learning = true};

/// Numbers are in SI base units.
using FigureValue = std::variant<double, std::string>;

struct Figure {
  std::string_view field;  ///< in summary.json, with its unit
  std::string_view label;  ///< for people
  FigureUnit unit{};
  std::string_view doc;    ///< its definition
  std::string_view topic;  ///< for "not modelled"; empty: not important enough to be named there
  Shown shown;
  /// The value, or why there is none. If the reason is empty, this kind of run has no such figure, not even
  /// as null.
  std::function<Known<FigureValue>(const Run&)> of;
};

/// A rent that is assumed: reports say so next to each price.
inline constexpr std::string_view assumed_rent_figure = "assumed_rent_usd_per_h";

/// All figures, in the order in which they are written.
std::span<const Figure> figures();

/// Values of a table's figures, in the same order.
using Figures = std::vector<std::optional<FigureValue>>;

/// Whether the points of a sweep have a `job`, whether it ends at a target, whether they `learn`, and whether
/// a model has published accuracies for the epochs of its job.
struct SweepOf {
  bool has_jobs = false;
  bool has_targets = false;
  bool has_learning = false;
  bool has_accuracy = false;
};
inline constexpr SweepOf everything{
    .has_jobs = true, .has_targets = true, .has_learning = true, .has_accuracy = true};

/// The columns of a sweep, which are the numbers shown there; and one row. A name (unit batch_range) is its
/// place in config::Names: sweep_name turns it back.
std::vector<std::string> sweep_columns(SweepOf points = {}, std::span<const Figure> table = figures());
std::vector<std::optional<double>> sweep_row(const Run& run, SweepOf points = {},
                                             std::span<const Figure> table = figures());

/// The name that a number in such a column stands for; empty for a column of numbers.
std::string_view sweep_name(std::string_view field, double value, std::span<const Figure> table = figures());

/// Maps field to the reason why it is null, for every figure that has a reason.
std::map<std::string, std::string> unmodelled(const Run& run, std::span<const Figure> table = figures());

/// The topics of these figures, each once.
std::vector<std::string> unmodelled_topics(const Run& run, std::span<const Figure> table = figures());

/// The index of a field. Throws std::out_of_range if the table does not have it.
std::size_t index_of(std::string_view field, std::span<const Figure> table = figures());

}  // namespace trainyard
