#pragma once
// Predictions for published training runs of one series with four fits: nothing; software fitted to runs of
// other series on one GPU; in addition one compute scale fitted to the series' run on one GPU, or to its run
// on one node.

#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "published/published_run.hpp"
#include "published/software_fit.hpp"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FitKind { nothing, software, one_gpu, one_node };
inline constexpr std::size_t fit_count = 4;

/// One value for each fit.
template <class T>
struct ByFit {
  std::array<T, fit_count> values{};
  [[nodiscard]] const T& operator[](FitKind fit) const { return values[static_cast<std::size_t>(fit)]; }
  [[nodiscard]] T& operator[](FitKind fit) { return values[static_cast<std::size_t>(fit)]; }
};

/// A run to predict and the runs of its series that a fit may use.
struct SeriesTarget {
  const PublishedRun* run = nullptr;
  std::vector<const PublishedRun*> one_gpu;
  std::vector<const PublishedRun*> one_node;
};

struct Prediction {
  std::optional<double> throughput;  ///< samples per second; nothing: see `reason`
  double compute_scale = 1;          ///< the fitted value
  std::string reason;
};

struct PredictedRun {
  std::optional<double>
      measured;  ///< samples per second; nothing if no experiment could be made from the row
  ByFit<Prediction> by_fit;
  SoftwareUse use = {};                                             ///< empty if no experiment could be made
  bool divides_layers = false;                                      ///< Circumstances::divides_layers
  std::optional<double> linear_from_one_gpu, linear_from_one_node;  ///< samples per second
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
  std::vector<FileChange> changes = {};  ///< in the runs that use the files
  bool equal_gpus = false;  ///< a step does not wait for the slowest of its GPUs (slowest_gpu.hpp)
  std::vector<FitKind> fits = {FitKind::nothing, FitKind::software, FitKind::one_gpu, FitKind::one_node};
  const SoftwareFit* software = nullptr;  ///< for FitKind::software; null: there is no run to fit to
};

/// Predicts all targets of a series. The fitted number is the stack's compute_scale for which the prediction
/// of the fitting row (on the target's machine) equals that row; for several fitting rows, the geometric
/// mean. These two fits begin with the shipped software; `software` is fitted without the runs of the series.
/// Runs with servers are simulated in child processes, the others by their closed form (engine.hpp).
std::vector<PredictedRun> predict_series(const config::Catalogue& catalogue,
                                         const std::vector<SeriesTarget>& targets,
                                         const PredictionOptions& options = {});

/// One run by itself.
struct OneRun {
  double measured = 0;          ///< samples per second
  double predicted = 0;         ///< samples per second, with the shipped software
  std::optional<double> scale;  ///< the compute_scale that reproduces the measured value
};

/// The parts of runs on one GPU that software slows down; nothing where a run cannot be simulated. Files that
/// the runs share are read once.
std::vector<std::optional<KernelTimes>> kernel_times_of(const config::Catalogue& catalogue,
                                                        std::span<const PublishedRun> runs);

/// Throws InputError or JobImpossible if the run cannot be simulated.
OneRun solve_one_run(const config::Catalogue& catalogue, const PublishedRun& run);

/// The factor x >= 0 at which `value_of(x)`, an increasing piecewise linear function, is `wanted`, to 1e-9 of
/// it; nothing if it is not within 1/20 and 20.
std::optional<double> solve_scale(double wanted, const std::function<double(double)>& value_of);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<FitKind> {
  static constexpr std::string_view what = "fit";
  static constexpr std::array table{
      Name{"nothing", FitKind::nothing, "nothing is fitted"},
      Name{"software", FitKind::software,
           "kernel times multiplied by factors fitted to published one-GPU runs of other series"},
      Name{"1gpu", FitKind::one_gpu,
           "all kernel times scaled by one factor, so that the published one-GPU run is matched"},
      Name{"1node", FitKind::one_node,
           "all kernel times scaled by one factor, so that the published one-node run is matched"},
      Name{"spec", FitKind::nothing, "the former name of nothing"}};
};

}  // namespace trainyard::config
