#pragma once
// Published trainings to a target (MLPerf Training, DAWNBench) and their predictions: samples to the target
// from the reference points of the model's `convergence`, time and energy from these samples and the
// simulated step, cost from the time and the platform's price. Rows of DAWNBench state their epochs, which
// are taken. Nothing is fitted to them, but for `1system`: one factor on all kernel times of a system, from
// one of its rows, which is then not scored.

#include "accuracy/expected_error.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "published/published_data.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class TargetFigure { samples, time, energy, cost };

enum class TargetFit { nothing, software, one_system };
inline constexpr std::array target_fits{TargetFit::nothing, TargetFit::software, TargetFit::one_system};

/// One figure of a row.
struct ScoredTarget {
  const PublishedRow* row = nullptr;
  TargetFigure figure{};
  std::string family;
  double measured = 0;  ///< in samples, s, J or USD
  std::array<std::optional<double>, target_fits.size()> predicted = {};
  double low = 0, high = 0;  ///< of samples: 80 % of means of as many runs are expected between these
  double scale = 1;          ///< of the fit `1system`
  bool is_fitted = false;    ///< of the result to whose time its system's factor is fitted
  std::string excluded;      ///< why it has no prediction; empty: it has one
  std::string unfitted;      ///< why it has none with the fit `1system` only
  std::string platform;      ///< of times and energies

  [[nodiscard]] std::optional<double> prediction(TargetFit fit) const {
    return predicted[static_cast<std::size_t>(fit)];
  }
  /// Predicted / measured - 1; nothing without a prediction, or if the row is fitted to.
  [[nodiscard]] std::optional<double> error(TargetFit fit) const;
};

struct TargetValidation {
  std::shared_ptr<const PublishedData> data;
  std::vector<ScoredTarget> rows;       ///< in the order of the rows, those without a prediction too
  std::map<std::string, int> excluded;  ///< rows with nothing to predict, by reason
};

/// As ratios.
struct TargetErrors {
  int rows = 0;
  std::optional<double> mape = {}, median = {}, p90 = {}, worst = {}, bias = {};
  double coverage = 0;                ///< share of the family's figures that have a prediction
  std::optional<double> inside = {};  ///< of samples: share between `low` and `high`
};

/// `parallel` systems at once, each in a child process. equal_gpus: a step does not wait for the slowest of
/// its GPUs.
TargetValidation validate_targets(const config::Catalogue& catalogue,
                                  std::shared_ptr<const PublishedData> data, int parallel,
                                  bool equal_gpus = false);

/// The families of the rows, in the order of the figures and the rules.
std::vector<std::string> target_families(const TargetValidation& validation);

TargetErrors errors_of(const TargetValidation& validation, TargetFit fit, std::string_view family);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<TargetFigure> {
  static constexpr std::string_view what = "figure of a training to a target";
  static constexpr std::array table{Name{"samples to target", TargetFigure::samples, "samples"},
                                    Name{"time to train", TargetFigure::time, "seconds"},
                                    Name{"energy to train", TargetFigure::energy, "joules"},
                                    Name{"cost to train", TargetFigure::cost, "US dollars"}};
};

template <>
struct Names<TargetFit> {
  static constexpr std::string_view what = "fit of trainings to a target";
  static constexpr std::array table{
      Name{"nothing", TargetFit::nothing, "nothing is fitted"},
      Name{"software", TargetFit::software,
           "kernel times multiplied by factors fitted to published one-GPU runs"},
      Name{"1system", TargetFit::one_system,
           "in addition all kernel times of a system scaled by one factor, from one of its rows"}};
};

}  // namespace trainyard::config
