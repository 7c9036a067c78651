#pragma once
// A classifier made of layers, with its gradient by back-propagation: softmax regression, multilayer
// perceptrons and one-dimensional convolutions. Parameters are one vector, layer by layer: the weights, the
// inputs of an output together, then the biases.

#include "learn/learn_settings.hpp"
#include "learn/samples.hpp"
#include "random/generator.hpp"

#include <memory>
#include <span>
#include <vector>

namespace trainyard {

/// Sums over samples.
struct Score {
  double loss = 0;  ///< cross-entropy, in nats
  int wrong = 0;
};

class Network {
public:
  /// Throws InputError if the convolutions and pools leave nothing of `features` values, and if there are
  /// more than `most_learner_values` parameters.
  Network(const LearnerSettings& settings, int features, int classes);
  ~Network();
  Network(Network&&) noexcept;
  Network& operator=(Network&&) = delete;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] int parameters() const;
  /// Inputs and outputs of all layers.
  [[nodiscard]] double values_per_sample() const;
  /// Zero for softmax regression. Otherwise weights are normal with variance 2/inputs before a relu (He et
  /// al., arXiv 1502.01852) and 1/inputs elsewhere, times the square of `initial_scale`; biases are zero.
  void start(random::Generator generator, std::span<double> parameters) const;
  /// Mean cross-entropy of the given samples; writes its gradient.
  double gradient(std::span<const double> parameters, const Samples& samples, std::span<const int> batch,
                  std::span<double> gradient);
  /// The score of samples `from` to `to` - 1.
  Score score(std::span<const double> parameters, const Samples& samples, int from, int to);

private:
  struct Layers;
  std::unique_ptr<Layers> layers_;
};

}  // namespace trainyard
