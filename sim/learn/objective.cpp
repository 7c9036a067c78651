#include "learn/objective.hpp"

#include "learn/batches.hpp"
#include "learn/network.hpp"
#include "learn/streams.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainyard {

namespace {

/// Adds the penalty to a gradient; returns it.
double penalty(double l2, std::span<const double> parameters, std::span<double> gradient) {
  if (l2 == 0) return 0;
  double squares = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    gradient[i] += l2 * parameters[i];
    squares += parameters[i] * parameters[i];
  }
  return l2 / 2 * squares;
}

/// Loss curvature/2 |w|^2, whose gradients have independent normal noise in each dimension.
class Quadratic final : public Objective {
public:
  Quadratic(const LearnSettings& settings, random::Generator stream)
      : curvature_(settings.model.curvature.value_or(1)),
        noise_(settings.model.noise.value_or(1) / std::sqrt(static_cast<double>(batch_of(settings)))),
        start_(settings.model.start.value_or(1)),
        dimensions_(settings.model.dimensions.value_or(1)),
        l2_(settings.l2),
        stream_(stream) {}

  [[nodiscard]] int parameters() const override { return dimensions_; }
  [[nodiscard]] double values_per_sample() const override { return 0; }
  void start(int, std::span<double> parameters) const override { std::ranges::fill(parameters, start_); }
  double gradient(int worker, int step, std::span<const double> parameters,
                  std::span<double> gradient) override {
    random::Generator generator =
        stream_.of(static_cast<std::uint64_t>(worker)).of(static_cast<std::uint64_t>(step));
    for (std::size_t i = 0; i < parameters.size(); ++i)
      gradient[i] = curvature_ * parameters[i] + (noise_ > 0 ? noise_ * learning::normal(generator) : 0);
    return evaluate(parameters).train_loss + penalty(l2_, parameters, gradient);
  }
  LossEvaluation evaluate(std::span<const double> parameters) override {
    double squares = 0;
    for (const double value : parameters) squares += value * value;
    return {.train_loss = curvature_ / 2 * squares};
  }
  [[nodiscard]] std::optional<int> train_samples() const override { return std::nullopt; }
  [[nodiscard]] bool may_start_below_floor() const override { return true; }

private:
  double curvature_, noise_, start_;
  int dimensions_;
  double l2_;
  random::Generator stream_;
};

class Classifier final : public Objective {
public:
  Classifier(const LearnSettings& settings, const LearningSets& sets, Batches batches,
             random::Generator start)
      : network_(settings.model, sets.train.features, sets.train.classes),
        sets_(sets),
        batches_(std::move(batches)),
        start_(start),
        l2_(settings.l2) {}

  [[nodiscard]] int parameters() const override { return network_.parameters(); }
  [[nodiscard]] double values_per_sample() const override { return network_.values_per_sample(); }
  void start(int worker, std::span<double> parameters) const override {
    network_.start(worker == 0 ? start_ : start_.of(static_cast<std::uint64_t>(worker)), parameters);
  }
  double gradient(int worker, int step, std::span<const double> parameters,
                  std::span<double> gradient) override {
    const double loss = network_.gradient(parameters, sets_.train, batches_.at(worker, step), gradient);
    return loss + penalty(l2_, parameters, gradient);
  }
  LossEvaluation evaluate(std::span<const double> parameters) override {
    const int count = std::min(sets_.train.count(), most_evaluated);
    const Score train = network_.score(parameters, sets_.train, 0, count);
    LossEvaluation evaluation{.train_loss = train.loss / count,
                              .train_error = static_cast<double>(train.wrong) / count};
    const int tested = sets_.test.count();
    if (tested > 0) {
      const Score test = network_.score(parameters, sets_.test, 0, tested);
      evaluation.test_loss = test.loss / tested;
      evaluation.test_error = static_cast<double>(test.wrong) / tested;
    }
    return evaluation;
  }
  [[nodiscard]] std::optional<int> train_samples() const override { return sets_.train.count(); }
  [[nodiscard]] bool may_start_below_floor() const override { return false; }

private:
  Network network_;
  const LearningSets& sets_;
  Batches batches_;
  random::Generator start_;
  double l2_;
};

}  // namespace

std::unique_ptr<Objective> make_objective(const LearnSettings& settings, const LearningSets* sets,
                                          int workers, std::uint64_t seed, std::uint64_t repeat) {
  const random::Generator batches(seed, {learning::batch, repeat});
  if (settings.model.kind == LearnerKind::quadratic) return std::make_unique<Quadratic>(settings, batches);
  assert(sets != nullptr);
  return std::make_unique<Classifier>(
      settings, *sets,
      Batches(settings.data_per_worker, sets->train.count(), workers, batch_of(settings), batches),
      random::Generator(seed, {learning::start, repeat}));
}

}  // namespace trainyard
