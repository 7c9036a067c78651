#pragma once
// Predictions of published measurements with every fit: the cases of one series after another, each series in
// a child process.

#include "accuracy/circumstances.hpp"
#include "accuracy/error_bounds.hpp"
#include "config/catalogue.hpp"
#include "published/case.hpp"
#include "published/fit.hpp"
#include "published/software_fit.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// A case to predict and, by fit, the references that its kernel times may be scaled to.
struct AskedCase {
  const Case* of = nullptr;
  ByFit<std::vector<const Case*>> references = {};
};

struct Prediction {
  std::optional<double> value = {};  ///< in the unit of the case's figure; nothing: see `reason`
  double compute_scale = 1;          ///< fitted to the references
  std::string reason = {};
};

/// The memory of the fullest GPU.
struct CaseMemory {
  Bytes state = {};  ///< parameters, gradients and optimizer state
  Bytes activations = {};
  Bytes allocated = {};  ///< memory that the framework's allocator hands out
  Bytes in_use = {};     ///< with the context, NCCL's buffers and free memory that the allocator holds
  Bytes available = {};
  std::string gpu = {};  ///< name of the profile
  bool fits = true;
};

/// At one end of the ranges of a row with an experiment.
struct PredictedEnd {
  double value = 0;  ///< as much above or below `measured` as this experiment's prediction is
  std::optional<ErrorBounds> bounds = {};
};

struct PredictedCase {
  std::optional<double> measured = {};  ///< nothing if no experiment could be made
  ByFit<Prediction> by_fit = {};
  /// The bounds that `run` or `collective` prints with the figure: for a row with an experiment, and for a
  /// time, energy or cost to a target.
  std::optional<ErrorBounds> bounds = {};
  /// Predictions at the ends of the ranges of a row with an experiment, or why they are impossible.
  std::vector<PredictedEnd> ends = {};
  std::string without_ends = {};
  std::optional<Circumstances> of = {};      ///< of a row without an experiment
  ByFit<std::optional<double>> linear = {};  ///< the references' throughput per GPU times the number of GPUs
  std::optional<CaseMemory> memory = {};     ///< if it can be computed; of throughputs and figures of memory
};

/// Another value for a key of a file.
struct FileChange {
  config::Kind kind{};  ///< platform, gpu, model or stack
  std::string name;     ///< of the file, without .yaml
  std::string key;      ///< "fabric.latency"
  std::string value;
};

/// Changes that apply to every prediction.
struct PredictionOptions {
  std::vector<FileChange> changes = {};  ///< in the experiments that use the files
  bool equal_gpus = false;     ///< a step does not wait for the slowest of its GPUs (slowest_gpu.hpp)
  std::vector<Fit> fits = {};  ///< those to compute; a reference only where a case has some
  GroupLeftOut left_out =
      GroupLeftOut::series;               ///< runs with a case's property have no part in Fit::software of it
  const SoftwareFit* software = nullptr;  ///< for Fit::software of training; null: no run to fit to
};

/// `software` is fitted without the runs that have the case's property `left_out`. A reference's factor is
/// the stack's compute_scale for which its prediction (on the case's machine, with the shipped software)
/// equals the measurement; of several factors the median of the logarithms counts. Runs with servers are
/// simulated, the others take their closed form (engine.hpp). `parallel` children at once.
std::vector<PredictedCase> predict_cases(const config::Catalogue& catalogue,
                                         const std::vector<AskedCase>& asked, int parallel,
                                         const PredictionOptions& options);

/// One run by itself.
struct OneRun {
  double measured = 0;          ///< samples per second
  double predicted = 0;         ///< samples per second, with the shipped software
  std::optional<double> scale;  ///< the compute_scale that reproduces the measured value
};

/// The parts of runs on one GPU that software slows down; nothing where a run cannot be simulated. Files that
/// the runs share are read once.
std::vector<std::optional<KernelTimes>> kernel_times_of(const config::Catalogue& catalogue,
                                                        std::span<const Case> runs);

/// Throws InputError or JobImpossible if the run cannot be simulated.
OneRun solve_one_run(const config::Catalogue& catalogue, const Case& run);

}  // namespace trainyard
