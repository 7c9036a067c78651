#pragma once
// Predictions for published training runs of one series under the three protocols: without a fit, with one
// compute scale fitted to the series' run on one GPU, and with one fitted to its run on one node.

#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "published/published_run.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FitKind { nothing, one_gpu, one_node };
inline constexpr int fit_count = 3;

/// A run to predict and the runs of its series to which a protocol may fit.
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
  std::array<Prediction, fit_count> by_fit;                         ///< by FitKind
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
  /// GPUs differ according to their profiles, and a step takes the expected time of the slowest of its ranks.
  bool has_spread = false;
  std::optional<FitKind> only = {};  ///< the others are left out
};

/// Predicts all targets of a series. The fitted number is the stack's compute_scale for which the prediction
/// of the fitting row (on the target's machine) equals that row; for several fitting rows, the geometric
/// mean. Runs with servers are simulated in child processes, the others by their closed form (engine.hpp).
std::vector<PredictedRun> predict_series(const config::Catalogue& catalogue,
                                         const std::vector<SeriesTarget>& targets,
                                         const PredictionOptions& options = {});

/// One run by itself.
struct OneRun {
  double measured = 0;          ///< samples per second
  double predicted = 0;         ///< samples per second, without a fit
  std::optional<double> scale;  ///< the compute_scale that reproduces the measured value
};

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
      Name{"1gpu", FitKind::one_gpu,
           "all kernel times scaled by one factor, so that the published one-GPU run is matched"},
      Name{"1node", FitKind::one_node,
           "all kernel times scaled by one factor, so that the published one-node run is matched"},
      Name{"spec", FitKind::nothing, "the former name of nothing"}};
};

}  // namespace trainyard::config
