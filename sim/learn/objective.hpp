#pragma once
// The objective of a replay: the gradients of workers' mini-batches, and the loss on all samples.

#include "learn/learn_settings.hpp"
#include "learn/samples.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace trainyard {

/// Losses without the L2 penalty; errors are fractions of wrong samples.
struct LossEvaluation {
  double train_loss = 0;
  std::optional<double> train_error = {};  ///< of the labels as learnt, random ones included
  std::optional<double> test_loss = {};
  std::optional<double> test_error = {};
};

class Objective {
public:
  Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  virtual ~Objective() = default;

  [[nodiscard]] virtual int parameters() const = 0;
  /// Values of all layers for one sample; 0 for a quadratic.
  [[nodiscard]] virtual double values_per_sample() const = 0;
  /// The parameters at version 0: of worker 0, or of one that draws its own.
  virtual void start(int worker, std::span<double> parameters) const = 0;
  /// Writes the gradient of the mini-batch of a worker's step, L2 penalty included; returns the batch's loss
  /// with the penalty.
  virtual double gradient(int worker, int step, std::span<const double> parameters,
                          std::span<double> gradient) = 0;
  /// On the training samples (at most the first `most_evaluated`, in the order after shuffling) and on the
  /// test samples.
  virtual LossEvaluation evaluate(std::span<const double> parameters) = 0;
  /// Samples in an epoch; empty for a quadratic.
  [[nodiscard]] virtual std::optional<int> train_samples() const = 0;
  /// True if the loss may be above its start without the run having failed: where there is noise alone.
  [[nodiscard]] virtual bool may_start_below_floor() const = 0;
};

inline constexpr int most_evaluated = 10000;

/// The objective of `settings` for one repeat of a run with `workers` workers. `sets` must outlive it; null
/// for a quadratic. Start and batches follow from `seed` and `repeat`.
std::unique_ptr<Objective> make_objective(const LearnSettings& settings, const LearningSets* sets,
                                          int workers, std::uint64_t seed, std::uint64_t repeat);

}  // namespace trainyard
