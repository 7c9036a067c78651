#pragma once
// Common parts of a sweep's table and its page: the columns of a row, and choices in words.

#include "document/document.hpp"
#include "sweep/choice.hpp"
#include "sweep/gains.hpp"
#include "sweep/scaling.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The smallest scaling efficiency that counts as good, a usual limit in studies of scaling.
inline constexpr double scales_well = 0.8;

/// A column of the table and the format of its figure.
struct SweepColumn {
  const char* head;
  const char* figure;
  std::string (*text)(double number, double largest);  ///< `largest` of the column
  int dropped;  ///< order in which a narrow page leaves out columns; 0: never
};

/// " (assumed)" where the figure of a row rests on an assumed one.
std::string assumed_mark_of(const SweepResult& result, const SweepRow& row, std::string_view figure);

/// Throughput over the number of GPUs: a column that is derived from two figures.
inline constexpr const char* per_gpu_figure = "throughput_per_gpu_samples_per_s";
std::optional<double> throughput_per_gpu(const SweepResult& result, const SweepRow& row);

/// The figures that some row has and that are no keys, as columns; `is_page`: with the throughput per GPU,
/// the times per sample and the shares in which parts are busy, which else only a sweep with a report has.
/// Under strong scaling the speedup and the efficiency are relative to the smallest run of a row's series, as
/// in the text on the limits of scaling. Keeps a reference to the result.
class SweepColumns {
public:
  explicit SweepColumns(const SweepResult& result, bool is_page = false);

  /// Those that the sweep is about are never left out.
  [[nodiscard]] std::vector<doc::Column> columns() const;
  /// Of a finished row and the column with this index: "-" if there is none.
  [[nodiscard]] doc::Value value(const SweepRow& row, std::size_t index) const;

private:
  [[nodiscard]] std::optional<double> number(const SweepRow& row, const SweepColumn& column) const;

  const SweepResult& result_;
  std::map<std::size_t, RelativeScaling> relative_;  ///< by point; empty unless scaling is strong
  std::vector<SweepColumn> columns_;
  std::vector<double> largest_;  ///< of each column
};

/// A point in one cell, for tables without the room for a column per key: values by the last words of their
/// keys, those that speak for themselves alone: "resnet50, overlap=true". Keys at their default are left out.
std::string point_in_a_cell(const Sweep& sweep, const PointValues& values);

/// A row in words, or why it failed: for watching a sweep.
std::string sweep_line(const SweepResult& result, const SweepRow& row);

/// "one GPU measured: 803 samples/s; kernels x 1.23", or several factors: "kernels x 0.9 to 1.23"; empty
/// without measurement.
std::string one_gpu_in_words(const SweepResult& result);

/// Why points have an MFU above 100 %: "MFU above 100 %: ..."; empty if none has.
std::string above_peak_in_words(const SweepResult& result);

/// "90 epochs"; "the job" if the points say how long it is; "the learner's target".
std::string training_in_words(const SweepResult& result);

/// "90 epochs in 25 min (22 min to 29 min), 82.75 USD"; "(9 s to never)" of a learner. The time must be
/// known.
std::string needs_in_words(const SweepResult& result, const Needs& needs);

/// The quantities that a Pareto front compares: "time, cost and energy", also accuracy if it is known.
std::string needs_compared(const std::vector<Needs>& needs);

/// A sentence that explains the intervals of needs_in_words(); empty if none is known.
std::string intervals_in_words(const SweepResult& result, const std::vector<Needs>& needs);

/// "within 8 h 00 min, on at most 64 GPUs"; empty without limits.
std::string limits_in_words(const Goal& goal);

/// The points to choose, with the names of the choices: "fastest".
std::vector<std::pair<const char*, std::size_t>> best_rows(const Choice& choice);

/// "no price" and "energy unknown", each with the machines, or else the points, whose cost or energy is
/// unknown though the time is known; and "assumed price".
std::vector<std::pair<const char*, std::string>> unknown_needs_in_words(const SweepResult& result,
                                                                        const std::vector<Needs>& needs);

/// Up to which size a series scales: "8 GPUs (97.6 %), 8 to at least 64 within the expected error; 76.0 % on
/// 64 GPUs". `reached`: efficiencies(result).
std::string scaling_in_words(const SweepResult& result, const Efficiencies& reached, const Series& series);

/// The widest expected error of the points, relative to their throughputs; empty if none has one. `of_each`:
/// what has the interval of each point.
std::string expected_errors_in_words(const SweepResult& result, std::string_view of_each = "sweep.csv");

/// "32 to 128 within the expected error", "fewer than 8 to at least 64 within the expected error"; empty if
/// the error is unknown.
std::string scaling_range_in_words(const SweepResult& result, const Efficiencies& reached,
                                   const Series& series);

/// "platform.fabric.nic with platform.node.nics=1".
std::string name_in_words(const GainSeries& series);

/// "100 Gbps to 200 Gbps +57.3 %, to 400 Gbps +0.4 %: less than 1 % from 200 Gbps on".
std::string gain_in_words(const GainSeries& series);

/// The meaning of efficient_up_to(reached, series, scales_well) for a sweep.
std::string scaling_rule_in_words(const SweepResult& result);

}  // namespace trainyard
