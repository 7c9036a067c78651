#pragma once
// Content of a published row about a training run, whatever the machine and the model: its speed, batch,
// precision, and the series of runs to which it belongs.

#include "published/published_rows.hpp"
#include "rules/run_rules.hpp"
#include "workload/trace.hpp"

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

inline constexpr std::string_view not_a_throughput = "not a training throughput or a time per iteration";

struct TrainingMeasurement {
  std::optional<double> throughput;  ///< samples per second of all GPUs
  std::optional<double> epoch_time;  ///< seconds, if given instead; the model provides the number of samples
  double rounding = 0;               ///< half a unit of the value's last printed digit, relative to the value
  int batch_per_gpu = 0;             ///< samples per GPU in one micro-batch
  int accumulation = 1;              ///< micro-batches per step
  std::optional<int> sequence_length;
  Precision precision{};
};

/// Whether the number of GPUs is unclear: gpus_total is not nodes x gpus_per_node, nor a part of one node.
bool counts_contradict(const PublishedRow& row);

/// The row's measurement, or why it has none. `timed`: it must be a speed; otherwise the figure is left
/// aside. Accumulation is "grad_accum=4" in the notes, otherwise global_batch / (batch_per_gpu x GPUs).
std::variant<TrainingMeasurement, std::string> training_measurement(const PublishedRow& row,
                                                                    bool timed = true);

/// Whether the row states a speed, even if that cannot be read: without a case it lowers coverage.
bool may_be_a_speed(const PublishedRow& row);

/// Rows of one series differ only in the number of GPUs and in accumulation.
struct SeriesKey {
  std::string system;     ///< without its number of nodes or GPUs, and without words that the rules name
  std::string framework;  ///< with its version
  std::string gpu, model, precision, batch_per_gpu, seq_len;
  std::vector<std::string> options;  ///< the value of each word that distinguishes series

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

SeriesKey series_of(const PublishedRow& row, const SeriesWords& words);

/// All parts of a key, as one text that no other key has.
std::string series_text(const SeriesKey& key);

}  // namespace trainyard
