#pragma once
// What a published row says of a training run, whatever the machine and the model: how fast, at which batch,
// in which precision, and to which series of runs it belongs.

#include "published/published_rows.hpp"
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
  std::optional<double> epoch_time;  ///< seconds, in its place: the model says how many samples that is
  double rounding = 0;               ///< half a unit of the value's last printed digit, as a part of it
  int batch_per_gpu = 0;             ///< of one micro-batch
  int accumulation = 1;              ///< micro-batches of a step
  std::optional<int> sequence_length;
  Precision precision{};
};

/// Whether it is not known on how many GPUs a row was measured: gpus_total is not nodes x gpus_per_node, nor
/// a part of one node.
bool counts_contradict(const PublishedRow& row);

/// The row's measurement, or in words why it is none. Accumulation is "grad_accum=4" in the notes, otherwise
/// what global_batch leaves over batch_per_gpu x GPUs.
std::variant<TrainingMeasurement, std::string> training_measurement(const PublishedRow& row);

/// Which words tell series apart (run_rules.hpp) and which do not.
struct SeriesWords {
  /// Of framework, model and notes: "xla", which "without xla" denies; with '=' at its end what stands behind
  /// it counts: "worker=".
  std::vector<std::string> options;
  std::vector<std::string> not_of_systems;  ///< words of a system's name that say nothing of a GPU by itself
};

/// Rows of one series differ in the number of GPUs and in accumulation alone.
struct SeriesKey {
  std::string system;     ///< without its number of nodes or GPUs, and without words that the rules name
  std::string framework;  ///< and version
  std::string gpu, model, precision, batch_per_gpu, seq_len;
  std::vector<std::string> options;  ///< what is said of each word that tells series apart

  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

SeriesKey series_of(const PublishedRow& row, const SeriesWords& words);

}  // namespace trainyard
