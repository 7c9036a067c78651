#pragma once
// Samples that a training needs to reach a target: published points of (batch, samples), and the functions
// that read them. Part of a model file, key `convergence`. A curve belongs to a recipe: optimizer, learning
// rates and target together.

#include "config/keys.hpp"
#include "config/problems.hpp"
#include "units/known.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Runs of one recipe at one batch.
struct ConvergencePoint {
  double batch = 0;    ///< samples of an update
  double samples = 0;  ///< until the target was reached, mean of the runs
  int runs = 1;
  std::optional<double> deviation = {};  ///< standard deviation of `samples` from run to run
};

/// How often the target is looked for: every `every_epochs`, or every `every_samples` samples, which may grow
/// with the batch: floor((every_samples + per_batch x batch) / multiple) x multiple, or the next whole number
/// of updates. The first floor(skip + skip_per_batch x batch) evaluations may be left out.
struct TargetEvaluation {
  std::optional<double> every_epochs = {};
  std::optional<double> every_samples = {};
  double per_batch = 0;
  double multiple = 1;
  bool whole_updates = false;
  double skip = 0, skip_per_batch = 0;
  int samples = 0;  ///< of an evaluation
};

struct Convergence {
  std::string target;  ///< "75.9 % top-1"
  std::string recipe;  ///< name of the recipe, for people
  std::string optimizer;
  std::vector<std::string> rounds = {};       ///< of MLPerf Training, whose submissions the points are for
  std::optional<int> sequence_length = {};    ///< tokens of a sample in these runs
  std::vector<ConvergencePoint> points = {};  ///< sorted by batch
  std::optional<TargetEvaluation> evaluate = {};
  std::string source;
};

/// S(B) = fewest (1 + B / critical): McCandlish et al. 2018, arXiv 1812.06162.
struct ConvergenceLaw {
  double fewest = 0;                          ///< samples at a small batch
  std::optional<double> critical = {};        ///< batch; nothing: the points show no dependence on the batch
  double mean_error = 0, worst_error = 0;     ///< of the points it was fitted to, relative
  std::optional<double> left_out_error = {};  ///< mean error of a point left out of the fit; needs 3 points
};

/// Logarithms of the errors at points that are left out: predicted / measured.
using LogErrors = std::vector<double>;

double samples_at(const ConvergenceLaw& law, double batch);

/// Least squares of relative errors. Requires at least two points of different batches.
ConvergenceLaw law_of(const std::vector<ConvergencePoint>& points);

/// Where a batch lies relative to the measured ones.
enum class BatchRange { measured, below, beyond };

struct SamplesToTarget {
  double samples = 0;        ///< expected mean
  double low = 0, high = 0;  ///< 80 % of single runs are expected between these
  BatchRange range = BatchRange::measured;
};

/// Beyond this multiple of the largest measured batch nothing is predicted.
inline constexpr double most_extrapolation = 2;

/// Between measured batches the samples are interpolated linearly in the batch, as in MLPerf's check of
/// reference convergence points; below them they are those of the smallest one. Above them they follow the
/// law, scaled to meet the last point, up to most_extrapolation times the largest batch. Otherwise the reason
/// why nothing is predicted.
///
/// `low` and `high`: the logarithm of the mean of `runs` runs is within half a width, whose parts (the first
/// two) are taken as independent and so add up in squares:
/// - run to run: z d sqrt(1/runs + 1/n), d the points' relative deviation, interpolated (a point without one
///   has that of all), n their number of runs, z the normal quantile for 80 %;
/// - the curve: t e, e the root mean square of the log errors at points left out (of the interpolation within
///   the points, of the law outside), t Student's quantile for 80 %. Outside, e grows by sqrt(1 + x/g), x the
///   distance to the points and g the mean gap between them, in the logarithm of the batch. Two points: the
///   log of the ratio of their samples in place of t e; one: nothing is known;
/// - settings that the recipe leaves open: 2 % beyond both ends;
/// - evaluations every so many samples from the start: an end can be at them only, and a small difference
///   moves it to the next. So there is at least one such interval on both sides.
/// Below the points, the lower half has a third part: the log of the saving by the law (with one point: a
/// batch of b/n of the point's needs at least b/n of its samples).
Known<SamplesToTarget> samples_to_target(const Convergence& convergence, double batch, int runs = 1);

/// Errors of the interpolation, at every point but the first and the last.
LogErrors left_out_errors_of_interpolation(const std::vector<ConvergencePoint>& points);
/// Errors of the law, at every point; empty with fewer than three.
LogErrors left_out_errors_of_law(const std::vector<ConvergencePoint>& points);

/// Mean relative error of the interpolation at points that are left out, without the first and last one;
/// nothing with fewer than three points.
std::optional<double> left_out_error(const std::vector<ConvergencePoint>& points);

/// Samples from one evaluation to the next. Nothing if it is in epochs and their size is not known.
std::optional<double> samples_between(const TargetEvaluation& evaluation, double batch,
                                      const std::optional<double>& samples_per_epoch);

/// Evaluations until `samples`, without those that are left out; at least one.
double evaluations_until(const TargetEvaluation& evaluation, double samples, double between, double batch);

/// The first evaluation at or after `samples`: training ends there.
double at_evaluation(double samples, double between);

/// Samples at which training ends if it is evaluated every `between` samples, in place of every
/// `published_between`, at whose multiples the points' runs ended: half an interval more than they needed on
/// average.
double on_other_grid(double samples, double published_between, double between);

/// The curve for a target: of those with this optimizer if there are any, the last in the list. Null if there
/// is none.
const Convergence* convergence_for(const std::vector<Convergence>& curves, std::string_view target,
                                   std::string_view optimizer);

/// The curve for submissions of an MLPerf round with this optimizer; if none is stated (empty), the round's
/// only one. Null if there is none.
const Convergence* convergence_of_round(const std::vector<Convergence>& curves, std::string_view round,
                                        std::string_view optimizer);

/// All targets of the curves, each once, in their order.
std::vector<std::string> targets_of(const std::vector<Convergence>& curves);

/// Whether two texts name one target: case and blanks do not matter.
bool is_same_target(std::string_view one, std::string_view other);

/// Reports points that are not sorted, intervals that are given twice and names that are missing.
void check_convergence(const std::vector<Convergence>& curves, config::Problems& problems);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<BatchRange> {
  static constexpr std::string_view what = "range of a batch";
  static constexpr std::array table{
      Name{"below", BatchRange::below, "the batch is smaller than the published ones"},
      Name{"measured", BatchRange::measured, "the batch is a published one or between two of them"},
      Name{"beyond", BatchRange::beyond, "the batch is larger than the published ones"}};
};

template <>
struct Keys<ConvergencePoint> {
  static auto table() {
    return keys(required("batch", &ConvergencePoint::batch, "samples of an update").at_least(1).at_most(1e9),
                required("samples", &ConvergencePoint::samples,
                         "samples after which the target was reached, mean of the runs")
                    .at_least(1)
                    .at_most(1e15),
                optional("runs", &ConvergencePoint::runs, "number of runs").between(1, 1e6),
                optional("deviation", &ConvergencePoint::deviation,
                         "standard deviation of the samples from run to run")
                    .at_least(0)
                    .at_most(1e15));
  }
};

template <>
struct Keys<TargetEvaluation> {
  static auto table() {
    return keys(
        optional("every_epochs", &TargetEvaluation::every_epochs, "epochs from one evaluation to the next")
            .positive(1e6),
        optional("every_samples", &TargetEvaluation::every_samples,
                 "samples from one evaluation to the next, instead of every_epochs: every_samples + "
                 "per_batch x batch, rounded down to a multiple of 'multiple'")
            .positive(1e15),
        optional("per_batch", &TargetEvaluation::per_batch,
                 "with every_samples: further samples per sample of the batch")
            .between(0, 1e9),
        optional("multiple", &TargetEvaluation::multiple,
                 "with every_samples: the sum is rounded down to a multiple of this")
            .between(1, 1e15),
        optional("whole_updates", &TargetEvaluation::whole_updates,
                 "with every_samples: the interval is rounded up to whole updates"),
        optional("skip", &TargetEvaluation::skip,
                 "number of first evaluations that are left out: skip + skip_per_batch x batch, rounded down")
            .between(0, 1e6),
        optional("skip_per_batch", &TargetEvaluation::skip_per_batch,
                 "further ones per sample of the batch; the sum is rounded down")
            .between(0, 1e6),
        required("samples", &TargetEvaluation::samples, "samples of an evaluation").between(1, 2e9));
  }
};

template <>
struct Keys<Convergence> {
  static auto table() {
    return keys(
        required("target", &Convergence::target, "what is reached: 75.9 % top-1; --target names it"),
        optional("recipe", &Convergence::recipe, "name of the recipe, for people"),
        required("optimizer", &Convergence::optimizer, "optimizer of these runs: lars, lamb, momentum"),
        optional("rounds", &Convergence::rounds,
                 "rounds of MLPerf Training for whose submissions these points are the reference"),
        optional("sequence_length", &Convergence::sequence_length,
                 "tokens of a sample in these runs; a model with others is refused")
            .between(1, 1e7),
        required("points", &Convergence::points, "samples to target by batch, sorted by batch"),
        optional("evaluate", &Convergence::evaluate,
                 "evaluations in these runs; a training to the target has the same"),
        required("source", &Convergence::source, "publication, and place in it"));
  }
};

}  // namespace trainyard::config
