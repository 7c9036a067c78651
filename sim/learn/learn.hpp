#pragma once
// The progress of learning over time: replays the order logs of its repeats with real gradients (replay.hpp)
// and evaluates the parameters along the way. Evaluating takes no simulated time.

#include "learn/learn_settings.hpp"
#include "learn/samples.hpp"
#include "strategy/order_log.hpp"
#include "strategy/update_rule.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// The state at a simulated time. Means are over the gradients applied since the previous point; empty if
/// there were none.
struct LearningPoint {
  Seconds at;
  long long updates = 0;              ///< of the whole model
  long long samples = 0;              ///< whose gradients are in the parameters
  std::optional<double> epochs = {};  ///< samples over training samples; empty for a quadratic
  double train_loss = 0;              ///< without the L2 penalty
  std::optional<double> train_error = {};
  std::optional<double> test_loss = {};
  std::optional<double> test_error = {};
  std::optional<double> staleness_mean = {};  ///< 1: fresh
  /// Factor of a mini-batch's gradient in the update: of K averaged gradients the rate over K. For adagrad,
  /// the mean over parameters.
  std::optional<double> rate_mean = {};
  std::optional<double> gradients_per_update = {};  ///< mean
  /// Gradient noise scale tr(Cov)/|G|^2 in samples, from all updates so far; empty if no update had several
  /// gradients, all fresh, or if their noise hides the mean gradient.
  std::optional<double> noise_scale = {};
};

/// When a target was first met, at an evaluation.
struct TargetReached {
  Seconds at;
  long long updates = 0;
  long long samples = 0;
};

/// Mean over the last quarter of the points, with the standard error of that mean by batch means: the quarter
/// is cut into five, whose means vary independently if each is long against the correlation time.
struct Floor {
  double mean = 0;
  double standard_error = 0;
};

enum class LearningEnd { run, time, updates, loss, test_error, diverged };

/// How a replay went. target_missed: with a target only, which a loss that fell did not reach. not_learnt:
/// the loss ended above its start, and no target was met. diverged: the loss was not a number, or far above
/// its start.
enum class LearningVerdict { learnt, target_missed, not_learnt, diverged };

struct LearningRun {
  std::vector<LearningPoint> curve;  ///< the first at time 0
  LearningEnd end = LearningEnd::run;
  std::optional<TargetReached> target = {};  ///< when all targets were first met at once
  std::optional<Floor> loss_floor = {};      ///< empty if nothing was learnt or there are too few points
  std::optional<Floor> error_floor = {};  ///< of the test error, or the training error without test samples
  LearningVerdict verdict = LearningVerdict::learnt;
  std::string reason;  ///< for not_learnt and diverged: "the loss was above 1e6 at 12.3 s"
};

/// Median and quartiles over the repeats; a repeat that did not get there counts as later than all others, so
/// that a quartile may be empty.
struct Quartiles {
  std::optional<double> low, median, high;
};

/// A missing value counts as later, or worse, than all others.
Quartiles quartiles(const std::vector<std::optional<double>>& values);

struct Learning {
  std::vector<LearningRun> repeats;
  int diverged = 0, not_learnt = 0;  ///< numbers of repeats
  bool has_target = false;
  Quartiles time_to_target_s, updates_to_target, samples_to_target;
  Quartiles time;                             ///< simulated time at which the replay ended
  Quartiles final_loss;                       ///< the floor's mean
  Quartiles error_floor;                      ///< empty without an error
  Quartiles end_loss, end_accuracy;           ///< of training and of testing, at the last point
  std::optional<double> staleness_mean = {};  ///< over all repeats
  std::optional<double> rate_mean = {};
  std::optional<double> noise_scale = {};  ///< median of the repeats at their ends
  long long parameters = 0;
  std::optional<int> train_samples = {}, test_samples = {};
  std::optional<double> least_error = {};
};

/// Replays one log of a run with `rule`. `end`: of the grid of evaluations, if earlier than the last update.
LearningRun learn_once(const OrderLog& log, UpdateRule rule, const LearnSettings& settings,
                       const LearningSets* sets, std::uint64_t seed, std::uint64_t repeat,
                       std::optional<Seconds> end = {});

/// Replays all repeats up to the same time, the end of the shortest; with `until.updates` each up to its own.
/// `repeats`: by default one for each log; a single log may serve several, which differ in their batches and
/// starts. Logs have all updates up to `until.time`. `sets`: null for a quadratic. Throws InputError for
/// settings that the data or the number of workers exclude.
Learning learn(std::span<const OrderLog> logs, UpdateRule rule, const LearnSettings& settings,
               const LearningSets* sets, std::uint64_t seed, std::optional<int> repeats = {});

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<LearningEnd> {
  static constexpr std::string_view what = "end of a replay";
  static constexpr std::array table{
      Name{"run", LearningEnd::run, "the simulated run ended"},
      Name{"time", LearningEnd::time, "learn.until.time"},
      Name{"updates", LearningEnd::updates, "learn.until.updates"},
      Name{"loss", LearningEnd::loss, "learn.until.loss was reached"},
      Name{"test_error", LearningEnd::test_error, "learn.until.test_error was reached"},
      Name{"diverged", LearningEnd::diverged, "it diverged"}};
};

template <>
struct Names<LearningVerdict> {
  static constexpr std::string_view what = "verdict of a replay";
  static constexpr std::array table{
      Name{"learnt", LearningVerdict::learnt, "the loss fell, to the target if there is one"},
      Name{"target_missed", LearningVerdict::target_missed, "the loss fell, but not to the target"},
      Name{"not_learnt", LearningVerdict::not_learnt, "the loss ended above its start"},
      Name{"diverged", LearningVerdict::diverged, "the loss was not a number, or far above its start"}};
};

}  // namespace trainyard::config
