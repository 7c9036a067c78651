#pragma once
// What the simulator says of published training runs of one series under the three protocols: with nothing
// fitted, with one compute scale from the series' run on one GPU, and with one from its run on one node.

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

enum class FitProtocol { spec, one_gpu, one_node };
inline constexpr int protocol_count = 3;

/// A run to predict and the runs of its series that a protocol may fit to.
struct SeriesTarget {
  const PublishedRun* run = nullptr;
  std::vector<const PublishedRun*> one_gpu;
  std::vector<const PublishedRun*> one_node;
};

struct Prediction {
  std::optional<double> throughput;  ///< samples per second; nothing: `reason` says why
  double compute_scale = 1;          ///< that was fitted
  std::string reason;
};

struct PredictedRun {
  std::optional<double>
      measured;  ///< samples per second; nothing where no experiment could be made of the row
  std::array<Prediction, protocol_count> by_protocol;               ///< by FitProtocol
  std::optional<double> linear_from_one_gpu, linear_from_one_node;  ///< samples per second
};

/// Another value for a key of a file.
struct FileChange {
  config::Kind kind{};  ///< platform, gpu, model or stack
  std::string name;     ///< of the file, without .yaml
  std::string key;      ///< "fabric.latency"
  std::string value;
};

/// What is changed in every prediction.
struct PredictionOptions {
  std::vector<FileChange> changes = {};  ///< in the runs that use the files
  /// GPUs differ as their profiles say, and a step takes what the slowest of its ranks is expected to take.
  bool has_spread = false;
  std::optional<FitProtocol> only = {};  ///< the others are left out
};

/// Predicts all targets of a series. The fitted number is the stack's compute_scale with which the prediction
/// for the fitting row (on the target's machine) equals that row; of several fitting rows the geometric mean.
/// Runs with servers are simulated in child processes, the others by their closed form (engine.hpp).
std::vector<PredictedRun> predict_series(const config::Catalogue& catalogue,
                                         const std::vector<SeriesTarget>& targets,
                                         const PredictionOptions& options = {});

/// One run by itself.
struct OneRun {
  double measured = 0;          ///< samples per second
  double predicted = 0;         ///< the same, with nothing fitted
  std::optional<double> scale;  ///< the compute_scale with which it is as measured
};

/// Throws InputError or JobImpossible where the run cannot be simulated.
OneRun solve_one_run(const config::Catalogue& catalogue, const PublishedRun& run);

/// The factor x >= 0 with which `value_of(x)`, which grows with x and is made of straight pieces, is
/// `wanted`, to 1e-9 of it; nothing if it is not within 1/20 and 20.
std::optional<double> solve_scale(double wanted, const std::function<double(double)>& value_of);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<FitProtocol> {
  static constexpr std::string_view what = "protocol";
  static constexpr std::array table{
      Name{"spec", FitProtocol::spec, "nothing is fitted"},
      Name{"1gpu", FitProtocol::one_gpu, "one compute scale, from the series' run on one GPU"},
      Name{"1node", FitProtocol::one_node, "one compute scale, from the series' run on one node"}};
};

}  // namespace trainyard::config
