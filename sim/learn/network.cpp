#include "learn/network.hpp"

#include "config/diagnostic.hpp"
#include "learn/exponential.hpp"
#include "learn/streams.hpp"
#include "units/text.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Weights = Eigen::Map<const MatrixXd>;
using Biases = Eigen::Map<const VectorXd>;
using WeightGradient = Eigen::Map<MatrixXd>;
using BiasGradient = Eigen::Map<VectorXd>;
/// The windows of a convolution over one sample, side by side without a copy: they overlap in memory, because
/// the channels of a position stand together.
using Windows = Eigen::Map<const MatrixXd, 0, Eigen::OuterStride<>>;

/// Dense: one window that is as long as the input. Convolution, stride 1, without padding: several.
struct Layer {
  Index inputs = 0;    ///< values of a sample before it
  Index channels = 1;  ///< values per position before it
  Index kernel = 0;    ///< positions in a window
  Index outputs = 0;   ///< values per position after it: filters, units or classes
  Index windows = 1;   ///< positions after it
  Index pool = 1;      ///< positions of which the maximum is kept after the activation
  bool is_activated = true;
  Index offset = 0;  ///< of its parameters

  [[nodiscard]] Index fan_in() const { return kernel * channels; }
  [[nodiscard]] Index parameters() const { return (fan_in() + 1) * outputs; }
  [[nodiscard]] Index pooled() const { return windows / pool; }
};

/// Values of the forward pass that a layer keeps for the backward pass; samples side by side.
struct Values {
  MatrixXd activated;       ///< outputs * windows values per sample
  MatrixXd after;           ///< those kept by the pool; empty without one
  std::vector<Index> kept;  ///< by value of `after`: its place in `activated`
  MatrixXd slope;           ///< the gradient at the layer's output, before the activation

  [[nodiscard]] const MatrixXd& output(const Layer& layer) const {
    return layer.pool > 1 ? after : activated;
  }
};

std::vector<Layer> layers_of(const LearnerSettings& settings, int features, int classes) {
  std::vector<Layer> layers;
  Index positions = features;
  Index channels = 1;
  const auto add = [&](Index kernel, Index outputs, Index pool, bool is_activated) {
    Layer layer{.inputs = positions * channels,
                .channels = channels,
                .kernel = kernel,
                .outputs = outputs,
                .windows = positions - kernel + 1,
                .pool = pool,
                .is_activated = is_activated};
    if (!layers.empty()) layer.offset = layers.back().offset + layers.back().parameters();
    layers.push_back(layer);
    positions = layer.pooled();
    channels = outputs;
  };
  if (settings.kind == LearnerKind::conv1d) {
    for (std::size_t i = 0; i < settings.filters->size(); ++i) {
      const int kernel = (*settings.kernels)[i];
      const int pool = settings.pools ? (*settings.pools)[i] : 1;
      if (positions - kernel + 1 < pool)
        throw InputError(
            fmt::format("convolution {} of the conv1d model leaves nothing: kernel {} and pool {} "
                        "on {} positions",
                        i, kernel, pool, positions),
            "smaller kernels and pools, or more features");
      add(kernel, (*settings.filters)[i], pool, true);
    }
  }
  if (settings.kind != LearnerKind::softmax) {
    const std::vector<int> usual{64};
    for (const int units : settings.hidden.value_or(usual)) add(positions, units, 1, true);
  }
  add(positions, classes, 1, false);
  double parameters = 0;
  for (const Layer& layer : layers) parameters += static_cast<double>(layer.parameters());
  if (parameters > most_learner_values)
    throw InputError(fmt::format("the model has {} parameters, more than {}", digits12(parameters),
                                 digits12(most_learner_values)),
                     "smaller hidden layers, fewer filters, or fewer features");
  return layers;
}

/// Eigen cuts products into blocks by the sizes of the processor's caches, and with them the order of sums:
/// the same sizes everywhere give the same bytes everywhere. Its vector instructions are those of every
/// x86-64 processor, two doubles at a time, because nothing is compiled with -march.
void fix_blocks() {
  constexpr std::ptrdiff_t first = 32 << 10;
  constexpr std::ptrdiff_t second = 256 << 10;
  constexpr std::ptrdiff_t third = 2 << 20;
  Eigen::setCpuCacheSizes(first, second, third);
}

void activate(LearnerActivation activation, MatrixXd& values) {
  if (activation == LearnerActivation::relu) {
    values = values.cwiseMax(0.0);
    return;
  }
  values *= 2;
  learning::exponentials(values.data(), static_cast<std::size_t>(values.size()));
  values = 1 - 2 / (values.array() + 1);
}

/// Multiplies the gradient at the activations by the activation's derivative, a function of its value.
void through_activation(LearnerActivation activation, const MatrixXd& activated, MatrixXd& slope) {
  if (activation == LearnerActivation::relu)
    slope = (activated.array() > 0).select(slope, 0.0);
  else
    slope.array() *= 1 - activated.array().square();
}

void pool_maxima(const Layer& layer, Values& values) {
  const Index samples = values.activated.cols();
  values.after.resize(layer.pooled() * layer.outputs, samples);
  values.kept.resize(static_cast<std::size_t>(values.after.size()));
  std::size_t next = 0;
  for (Index sample = 0; sample < samples; ++sample) {
    const auto before = values.activated.col(sample);
    for (Index position = 0; position < layer.pooled(); ++position) {
      for (Index channel = 0; channel < layer.outputs; ++channel, ++next) {
        Index best = position * layer.pool * layer.outputs + channel;
        for (Index i = 1; i < layer.pool; ++i) {
          const Index other = (position * layer.pool + i) * layer.outputs + channel;
          if (before[other] > before[best]) best = other;
        }
        values.kept[next] = best;
        values.after(position * layer.outputs + channel, sample) = before[best];
      }
    }
  }
}

void forward(const Layer& layer, LearnerActivation activation, const double* parameters,
             const MatrixXd& input, Values& values) {
  const Weights weights(parameters + layer.offset, layer.fan_in(), layer.outputs);
  const Biases biases(parameters + layer.offset + layer.fan_in() * layer.outputs, layer.outputs);
  values.activated.resize(layer.outputs * layer.windows, input.cols());
  if (layer.windows == 1) {
    values.activated.noalias() = weights.transpose() * input;
    values.activated.colwise() += biases;
  } else {
    for (Index sample = 0; sample < input.cols(); ++sample) {
      const Windows windows(input.col(sample).data(), layer.fan_in(), layer.windows,
                            Eigen::OuterStride<>(layer.channels));
      Eigen::Map<MatrixXd> out(values.activated.col(sample).data(), layer.outputs, layer.windows);
      out.noalias() = weights.transpose() * windows;
      out.colwise() += biases;
    }
  }
  if (layer.is_activated) activate(activation, values.activated);
  if (layer.pool > 1) pool_maxima(layer, values);
}

/// Replaces `slope` at the pooled values by that at the values before the pool.
void through_pool(const Layer& layer, Values& values, MatrixXd& slope) {
  MatrixXd before = MatrixXd::Zero(values.activated.rows(), values.activated.cols());
  std::size_t next = 0;
  for (Index sample = 0; sample < slope.cols(); ++sample)
    for (Index i = 0; i < slope.rows(); ++i) before(values.kept[next++], sample) = slope(i, sample);
  slope.swap(before);
  static_cast<void>(layer);
}

/// Writes the gradient of the layer's parameters, and unless `below` is null that of its input.
void backward(const Layer& layer, const double* parameters, const MatrixXd& input, const MatrixXd& slope,
              double* gradient, MatrixXd* below) {
  const Weights weights(parameters + layer.offset, layer.fan_in(), layer.outputs);
  WeightGradient of_weights(gradient + layer.offset, layer.fan_in(), layer.outputs);
  BiasGradient of_biases(gradient + layer.offset + layer.fan_in() * layer.outputs, layer.outputs);
  if (layer.windows == 1) {
    of_weights.noalias() = input * slope.transpose();
    of_biases.noalias() = slope.rowwise().sum();
    if (below != nullptr) below->noalias() = weights * slope;
    return;
  }
  of_weights.setZero();
  of_biases.setZero();
  if (below != nullptr) below->setZero(input.rows(), input.cols());
  MatrixXd of_windows;
  for (Index sample = 0; sample < input.cols(); ++sample) {
    const Windows windows(input.col(sample).data(), layer.fan_in(), layer.windows,
                          Eigen::OuterStride<>(layer.channels));
    const Eigen::Map<const MatrixXd> out(slope.col(sample).data(), layer.outputs, layer.windows);
    of_weights.noalias() += windows * out.transpose();
    of_biases.noalias() += out.rowwise().sum();
    if (below == nullptr) continue;
    of_windows.noalias() = weights * out;
    for (Index i = 0; i < layer.windows; ++i)
      below->col(sample).segment(i * layer.channels, layer.fan_in()) += of_windows.col(i);
  }
}

/// Replaces each column of scores by the probabilities of the classes; returns the sum of the losses and the
/// number of columns whose largest score is another class's.
Score to_probabilities(MatrixXd& scores, std::span<const int> labels) {
  Score score;
  VectorXd own(scores.cols());
  for (Index i = 0; i < scores.cols(); ++i) {
    const Index label = labels[static_cast<std::size_t>(i)];
    Index largest = 0;
    const double top = scores.col(i).maxCoeff(&largest);
    if (largest != label || !std::isfinite(top)) ++score.wrong;
    scores.col(i).array() -= top;
    own[i] = scores(label, i);
  }
  learning::exponentials(scores.data(), static_cast<std::size_t>(scores.size()));
  for (Index i = 0; i < scores.cols(); ++i) {
    const double sum = scores.col(i).sum();
    score.loss += std::isfinite(sum) ? random::log(sum) - own[i] : sum;
    scores.col(i) /= sum;
  }
  return score;
}

}  // namespace

struct Network::Layers {
  LearnerActivation activation = LearnerActivation::relu;
  double initial_scale = 1;
  std::vector<Layer> layers;
  std::vector<Values> values;  ///< by layer
  MatrixXd input;              ///< samples side by side
  std::vector<int> labels;
  MatrixXd below;

  void take(const Samples& samples, std::size_t column, std::size_t sample) {
    const auto features = static_cast<std::size_t>(samples.features);
    const float* from = samples.values.data() + sample * features;
    std::copy(from, from + features, input.col(static_cast<Index>(column)).data());
    labels[column] = samples.labels[sample];
  }
  void resize(const Samples& samples, std::size_t count) {
    input.resize(samples.features, static_cast<Index>(count));
    labels.resize(count);
  }
  void run(const double* parameters) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      forward(layers[i], activation, parameters, i == 0 ? input : values[i - 1].output(layers[i - 1]),
              values[i]);
  }
};

Network::Network(const LearnerSettings& settings, int features, int classes)
    : layers_(std::make_unique<Layers>()) {
  fix_blocks();
  layers_->activation = settings.activation.value_or(LearnerActivation::relu);
  layers_->initial_scale = settings.initial_scale.value_or(1);
  layers_->layers = layers_of(settings, features, classes);
  layers_->values.resize(layers_->layers.size());
}

Network::~Network() = default;
Network::Network(Network&&) noexcept = default;

int Network::parameters() const {
  const Layer& last = layers_->layers.back();
  return static_cast<int>(last.offset + last.parameters());
}

double Network::values_per_sample() const {
  double values = 0;
  for (const Layer& layer : layers_->layers)
    values += static_cast<double>(layer.inputs) + static_cast<double>(layer.outputs * layer.windows);
  return values;
}

void Network::start(random::Generator generator, std::span<double> parameters) const {
  std::ranges::fill(parameters, 0.0);
  if (layers_->layers.size() == 1) return;
  for (const Layer& layer : layers_->layers) {
    const bool is_before_relu = layer.is_activated && layers_->activation == LearnerActivation::relu;
    const double sd = layers_->initial_scale *
                      std::sqrt((is_before_relu ? 2.0 : 1.0) / static_cast<double>(layer.fan_in()));
    for (Index i = 0; i < layer.fan_in() * layer.outputs; ++i)
      parameters[static_cast<std::size_t>(layer.offset + i)] = sd * learning::normal(generator);
  }
}

double Network::gradient(std::span<const double> parameters, const Samples& samples,
                         std::span<const int> batch, std::span<double> gradient) {
  Layers& own = *layers_;
  own.resize(samples, batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) own.take(samples, i, static_cast<std::size_t>(batch[i]));
  own.run(parameters.data());
  MatrixXd& slope = own.values.back().activated;
  const double loss = to_probabilities(slope, own.labels).loss;
  for (std::size_t i = 0; i < own.labels.size(); ++i) slope(own.labels[i], static_cast<Index>(i)) -= 1;
  slope /= static_cast<double>(batch.size());
  for (std::size_t i = own.layers.size(); i-- > 0;) {
    const Layer& layer = own.layers[i];
    MatrixXd& at = own.values[i].slope;
    if (i + 1 == own.layers.size()) {
      at = slope;
    } else {
      at.swap(own.below);
      if (layer.pool > 1) through_pool(layer, own.values[i], at);
      through_activation(own.activation, own.values[i].activated, at);
    }
    backward(layer, parameters.data(), i == 0 ? own.input : own.values[i - 1].output(own.layers[i - 1]), at,
             gradient.data(), i == 0 ? nullptr : &own.below);
  }
  return loss / static_cast<double>(batch.size());
}

Score Network::score(std::span<const double> parameters, const Samples& samples, int from, int to) {
  Layers& own = *layers_;
  Score total;
  constexpr int block = 256;
  for (int begin = from; begin < to; begin += block) {
    const auto count = static_cast<std::size_t>(std::min(block, to - begin));
    own.resize(samples, count);
    for (std::size_t i = 0; i < count; ++i) own.take(samples, i, static_cast<std::size_t>(begin) + i);
    own.run(parameters.data());
    const Score score = to_probabilities(own.values.back().activated, own.labels);
    total.loss += score.loss;
    total.wrong += score.wrong;
  }
  return total;
}

}  // namespace trainyard
