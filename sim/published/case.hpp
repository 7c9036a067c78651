#pragma once
// A published measurement of training and the experiment that reproduces it: the one form in which steps of
// one GPU, data-parallel runs, runs whose ranks share a model, trainings to a target and figures of memory
// are predicted and scored. Curves of collectives: collective_curves.hpp.

#include "config/keys.hpp"
#include "experiment/resolve.hpp"
#include "published/published_rows.hpp"
#include "strategy/parallelism.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

/// The measured quantity.
enum class CaseFigure {
  throughput,
  bus_bandwidth,  ///< of the only collective of a step, as nccl-tests counts it
  samples_to_target,
  time_to_train,
  energy_to_train,
  cost_to_train,
  out_of_memory,  ///< the run failed
  within_memory,  ///< the run ran, and no more is known
  memory_in_use,
  memory_allocated,
  memory_of_activations,
  memory_of_state
};

constexpr bool is_memory(CaseFigure figure) { return figure >= CaseFigure::out_of_memory; }
constexpr bool is_to_target(CaseFigure figure) {
  return figure >= CaseFigure::samples_to_target && figure <= CaseFigure::cost_to_train;
}

/// A verdict is no figure that a prediction could be off by some percent.
constexpr bool is_verdict(CaseFigure figure) {
  return figure == CaseFigure::out_of_memory || figure == CaseFigure::within_memory;
}

/// How a source states a speed. The experiment says how many samples per second that is.
enum class StatedSpeed {
  samples,      ///< per second, of all GPUs
  tokens,       ///< likewise
  gpu_tokens,   ///< of one GPU
  step_time,    ///< in seconds
  epoch_time,   ///< likewise
  gpu_flops,    ///< FLOP/s of the model's matrix products on one GPU
  utilization,  ///< the same relative to the GPU's peak
};

/// How the ranks share the model.
struct CaseLayout {
  Parallelism parallelism = {};
  int replicas = 1;
};

/// A training until its target.
struct CaseTarget {
  double samples = 0;        ///< predicted
  double low = 0, high = 0;  ///< 80 % of means of as many runs are expected between these
  double evaluations = 0;    ///< until then
  double trained = 0;        ///< samples as published; 0: not stated
  int evaluated = 0;         ///< samples of an evaluation
};

/// The experiment of a row that names one, and its files as that names them.
struct CaseExperiment {
  std::string file = {};  ///< path
  std::string platform = {}, model = {}, stack = {};
  Overrides set = {};  ///< further keys, as users say them (keys_meant.hpp)
  /// Keys that the source omits, all at one end of the row's ranges: none, or those of both ends.
  std::vector<Overrides> ends = {};
};

struct Case {
  std::shared_ptr<const PublishedData> data = {};  ///< holds the row and the rules
  const PublishedRow* row = nullptr;
  /// The rules that make the experiment from the row's columns; null if the row names an experiment.
  const MachineRule* machine = nullptr;
  const ModelRule* model = nullptr;
  const StackRule* stack = nullptr;
  std::optional<CaseExperiment> experiment = {};
  CaseFigure figure = CaseFigure::throughput;
  double measured = 0;  ///< in the figure's unit; a throughput as `stated`
  StatedSpeed stated = StatedSpeed::samples;
  double rounding = 0;        ///< half a unit of the last printed digit, relative to the value
  std::string series = {};    ///< cases of a series differ only in the number of GPUs, layout and batch
  RowSettings settings = {};  ///< of the rules of model and stack, with the row's numbers filled in
  Precision precision = Precision::fp32;
  int batch_per_gpu = 1;                    ///< samples of a micro-batch of one replica
  int micro_batches = 1;                    ///< of a step, for each replica
  std::optional<int> sequence_length = {};  ///< in the row's column
  std::optional<CaseLayout> layout = {};    ///< if ranks share the model
  std::optional<CaseTarget> target = {};    ///< of figures about a training to a target

  /// Samples of a step of all replicas.
  [[nodiscard]] double batch() const;
  /// The names of its files; empty where the figure needs none.
  [[nodiscard]] std::string platform_name() const;
  [[nodiscard]] std::string model_name() const;
  [[nodiscard]] std::string stack_name() const;
};

/// The case of a row about a run, or why it cannot be predicted. `timed`: the row must state a speed;
/// otherwise whatever it measures is left aside. Rows with layout columns: settings of the rules for
/// batch_per_gpu, accumulation, precision and keys of `parallelism` take the place of the row's columns.
std::variant<Case, std::string> case_of(const std::shared_ptr<const PublishedData>& data,
                                        const PublishedRow& row, bool timed = true);

/// A row about memory that states a ratio, or a size in an unknown unit.
inline constexpr std::string_view no_size = "a figure of memory that is no size";

/// Whether the row's figure is a size or a verdict of memory.
bool is_about_memory(const PublishedRow& row);

/// Whether it only says that a batch fitted into memory, or did not.
bool is_memory_verdict(const PublishedRow& row);

/// Fills in the figure; returns the reason if that is impossible, or an empty text. "whole GPU" in the notes:
/// the size is all memory in use, otherwise the memory that the framework's allocator has handed out.
std::string read_memory_figure(Case& run);

/// Fills in the settings of both rules with the row's numbers; returns the reason if one is missing.
std::string read_settings(Case& run);

/// The experiment of a case on the given machine, which may differ from that of its own row: a series' run on
/// one GPU is simulated on the machine of the runs for which it is the reference. Null: the row names an
/// experiment, which has a machine. `files`: files already read. `further`: keys to set after all others.
/// Throws InputError.
ResolvedExperiment inputs_of(const config::Catalogue& catalogue, const Case& of, const MachineRule* machine,
                             InputFiles& files, const Overrides& further = {});

/// Everything that the experiment depends on: cases with the same text are predicted alike.
std::string identity_of(const Case& of, const MachineRule* machine);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<CaseFigure> {
  static constexpr std::string_view what = "figure";
  static constexpr std::array table{
      Name{"throughput", CaseFigure::throughput, "samples/s"},
      Name{"bus bandwidth", CaseFigure::bus_bandwidth, "B/s"},
      Name{"samples to target", CaseFigure::samples_to_target, "samples"},
      Name{"time to train", CaseFigure::time_to_train, "s"},
      Name{"energy to train", CaseFigure::energy_to_train, "J"},
      Name{"cost to train", CaseFigure::cost_to_train, "USD"},
      Name{"out of memory", CaseFigure::out_of_memory, ""},
      Name{"within memory", CaseFigure::within_memory, ""},
      Name{"memory in use", CaseFigure::memory_in_use, "B"},
      Name{"memory allocated", CaseFigure::memory_allocated, "B"},
      Name{"memory of activations", CaseFigure::memory_of_activations, "B"},
      Name{"memory of parameters, gradients and optimizer state", CaseFigure::memory_of_state, "B"}};
};

}  // namespace trainyard::config
