#pragma once
// The accuracy after a fixed number of epochs: published points of (batch, accuracy). Part of a model
// file, key `fixed_epochs`. The other form of convergence.hpp, in which the target is fixed.

#include "config/keys.hpp"
#include "config/problems.hpp"
#include "units/known.hpp"
#include "workload/convergence.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Runs of one recipe at one batch.
struct AccuracyPoint {
  double batch = 0;     ///< samples of an update
  double accuracy = 0;  ///< at the end, as a share; mean of the runs
  int runs = 1;
  std::optional<double> deviation = {};  ///< standard deviation of `accuracy` from run to run
};

struct FixedEpochs {
  double epochs = 0;
  std::string metric = {};  ///< "top-1"
  std::string recipe = {};  ///< name of the recipe, for people
  std::string optimizer = {};
  std::vector<AccuracyPoint> points = {};  ///< sorted by batch
  std::string source = {};
};

struct AccuracyAtEnd {
  double accuracy = 0;
  double low = 0, high = 0;  ///< 80 % of single runs are expected between these
  BatchRange range = BatchRange::measured;
  std::optional<double> published = {};  ///< the batch, if it is one of the points
};

/// Between the points the accuracy is interpolated linearly in the logarithm of the batch; below them it is
/// that of the smallest batch. Above them the last two points' line goes on, up to most_extrapolation times
/// the largest batch: where the accuracy falls ever faster, that is too high. Otherwise the reason why
/// nothing is predicted. The interval has the parts of convergence.hpp, but of accuracies, not of logarithms:
/// the points' deviation from run to run, and the root mean square of the interpolation's errors at points
/// that are left out, with Student's t. Beyond the points: of the line through the two points before, at
/// each. Without a deviation at any point, the second part counts at points as well.
Known<AccuracyAtEnd> accuracy_at_end(const FixedEpochs& table, double batch);

/// The table for a training of so many epochs with this optimizer, the last in the list. Null if there is
/// none.
const FixedEpochs* fixed_epochs_for(const std::vector<FixedEpochs>& tables, double epochs,
                                    std::string_view optimizer);

/// Reports points that are missing or not sorted.
void check_fixed_epochs(const std::vector<FixedEpochs>& tables, config::Problems& problems);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<AccuracyPoint> {
  static auto table() {
    return keys(
        required("batch", &AccuracyPoint::batch, "samples of an update").at_least(1).at_most(1e9),
        required("accuracy", &AccuracyPoint::accuracy,
                 "accuracy at the end, as a share: 0.764; mean of the runs")
            .between(0, 1),
        optional("runs", &AccuracyPoint::runs, "number of runs").between(1, 1e6),
        optional("deviation", &AccuracyPoint::deviation, "standard deviation of the accuracy from run to run")
            .between(0, 1));
  }
};

template <>
struct Keys<FixedEpochs> {
  static auto table() {
    return keys(required("epochs", &FixedEpochs::epochs,
                         "length of these runs; only jobs of the same length have their accuracy")
                    .above(0)
                    .at_most(1e6),
                required("metric", &FixedEpochs::metric, "kind of accuracy: top-1"),
                optional("recipe", &FixedEpochs::recipe, "name of the recipe, for people"),
                required("optimizer", &FixedEpochs::optimizer,
                         "optimizer of these runs; only experiments with the same have their accuracy"),
                required("points", &FixedEpochs::points, "accuracy by batch, sorted by batch"),
                required("source", &FixedEpochs::source, "publication, and place in it"));
  }
};

}  // namespace trainyard::config
