#pragma once
// Published runs whose ranks share a model, and their predictions with three fits. Nothing is tuned to them:
// `1layout` scales all kernel times by one factor of the series, from the runs on its fewest GPUs, never from
// the run that is predicted. workloads/published/README.md has the rules.

#include "accuracy/published_errors.hpp"
#include "config/catalogue.hpp"
#include "config/keys.hpp"
#include "published/layout_memory.hpp"
#include "published/layout_run.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class LayoutFit { nothing, software, one_layout };
inline constexpr std::array layout_fits{LayoutFit::nothing, LayoutFit::software, LayoutFit::one_layout};

struct LayoutPrediction {
  std::optional<double> throughput;  ///< samples per second; nothing: see `reason`
  std::string reason;
};

struct ScoredLayout {
  LayoutRun run;
  const FamilyRule* family = nullptr;  ///< null: no rule matches
  std::array<LayoutPrediction, layout_fits.size()> predictions = {};
  double scale = 1;                         ///< of the fit `1layout`
  bool is_fitted = false;                   ///< the only run that the series' scale could be fitted to
  bool is_repeated = false;                 ///< an earlier run is the same experiment
  Circumstances of = {};                    ///< all defaults if the run cannot be predicted
  std::optional<LayoutMemory> memory = {};  ///< nothing if the memory of the run cannot be computed

  [[nodiscard]] const LayoutPrediction& prediction(LayoutFit fit) const {
    return predictions[static_cast<std::size_t>(fit)];
  }
  /// Predicted / measured - 1, for throughputs; nothing without a prediction.
  [[nodiscard]] std::optional<double> error(LayoutFit fit) const;
};

struct LayoutValidation {
  std::shared_ptr<const PublishedData> data;
  std::vector<ScoredLayout> runs;       ///< in the order of the rows
  std::vector<ScoredMemory> memory;     ///< figures of memory, likewise
  std::map<std::string, int> excluded;  ///< the other rows, by reason
  std::map<std::string, int> missed;    ///< by family, those of them that state the speed of a run
  /// The errors from which `run` takes its intervals; null for `1layout`, and where none are installed.
  std::array<std::shared_ptr<const PublishedErrors>, layout_fits.size()> shipped_errors = {};
};

/// Errors of several runs, as ratios.
struct LayoutErrors {
  int runs = 0;
  std::optional<double> mape = {}, median = {}, p90 = {}, worst = {}, bias = {};
};

/// Each series is predicted in a child process, `parallel` of them at once. The rows need layout columns.
/// equal_gpus: a step does not wait for the slowest of its GPUs.
LayoutValidation validate_layouts(const config::Catalogue& catalogue,
                                  std::shared_ptr<const PublishedData> data, int parallel,
                                  bool equal_gpus = false);

/// Verdicts on runs: those that ran, each experiment once, and those that ran out of memory.
struct LayoutVerdicts {
  int ran = 0, accepted = 0;    ///< and those of them that are predicted to fit
  int failed = 0, refused = 0;  ///< and those of them that are predicted not to fit
};

LayoutVerdicts verdicts_of(const LayoutValidation& validation);

/// Errors of the predictions of a figure of memory, predicted / published - 1.
LayoutErrors errors_of(const LayoutValidation& validation, MemoryFigure figure);

/// The share of a family's runs, or of all families that count in the totals, that is predicted. Runs are the
/// rows that state a speed; rows left out for their own contradictions do not count. Nothing without runs.
std::optional<double> coverage_of(const LayoutValidation& validation,
                                  const std::optional<std::string>& family = {});

/// Errors of a family, or of all families that count in the totals.
LayoutErrors errors_of(const LayoutValidation& validation, LayoutFit fit,
                       const std::optional<std::string>& family = {});

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<LayoutFit> {
  static constexpr std::string_view what = "fit of layouts";
  static constexpr std::array table{
      Name{"nothing", LayoutFit::nothing, "nothing is fitted"},
      Name{"software", LayoutFit::software,
           "kernel times multiplied by factors fitted to published one-GPU runs of other series"},
      Name{"1layout", LayoutFit::one_layout,
           "in addition all kernel times scaled by one factor of the series: the median of those with which "
           "the "
           "other published runs on its fewest GPUs are matched"}};
};

}  // namespace trainyard::config
