// Gradients against finite differences of the loss.
#include "config/diagnostic.hpp"
#include "learn/exponential.hpp"
#include "learn/network.hpp"
#include "learn/objective.hpp"
#include "learn/streams.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Samples some_samples(int count, int features, int classes) {
  return gaussian_samples(count, features, classes, 1, 5);
}

/// Largest difference of the gradient and central differences, relative to the gradient's largest element.
double gradient_error(const LearnSettings& settings, const LearningSets* sets) {
  const auto objective = make_objective(settings, sets, 2, 3, 0);
  const auto count = static_cast<std::size_t>(objective->parameters());
  std::vector<double> parameters(count);
  objective->start(0, parameters);
  random::Generator generator(11, {1});
  for (double& value : parameters) value += 0.3 * learning::normal(generator);
  std::vector<double> gradient(count);
  std::vector<double> ignored(count);
  objective->gradient(1, 4, parameters, gradient);
  double largest = 0;
  for (const double value : gradient) largest = std::max(largest, std::abs(value));
  CHECK(largest > 0.01);
  double error = 0;
  constexpr double step = 1e-6;
  for (std::size_t i = 0; i < count; ++i) {
    const double middle = parameters[i];
    parameters[i] = middle + step;
    const double above = objective->gradient(1, 4, parameters, ignored);
    parameters[i] = middle - step;
    const double below = objective->gradient(1, 4, parameters, ignored);
    parameters[i] = middle;
    error = std::max(error, std::abs((above - below) / (2 * step) - gradient[i]));
  }
  return error / largest;
}

double gradient_error(LearnerSettings model, int features, double l2 = 0) {
  const LearningSets sets{
      .train = some_samples(40, features, 3), .test = some_samples(9, features, 3), .source = {}};
  LearnSettings settings;
  settings.model = std::move(model);
  settings.batch = 7;
  settings.l2 = l2;
  return gradient_error(settings, &sets);
}

}  // namespace

TEST_CASE("gradients of all models agree with finite differences") {
  CHECK(gradient_error({.kind = LearnerKind::softmax}, 5) < 1e-7);
  CHECK(gradient_error({.kind = LearnerKind::softmax}, 5, 0.1) < 1e-7);
  CHECK(gradient_error({.kind = LearnerKind::mlp, .hidden = std::vector{6}}, 5) < 1e-7);
  CHECK(gradient_error(
            {.kind = LearnerKind::mlp, .hidden = std::vector{6, 4}, .activation = LearnerActivation::tanh}, 5,
            0.01) < 1e-7);
  CHECK(gradient_error({.kind = LearnerKind::conv1d,
                        .hidden = std::vector{5},
                        .activation = LearnerActivation::tanh,
                        .filters = std::vector{3},
                        .kernels = std::vector{4}},
                       12) < 1e-7);
  CHECK(gradient_error({.kind = LearnerKind::conv1d,
                        .hidden = std::vector<int>{},
                        .filters = std::vector{3, 2},
                        .kernels = std::vector{4, 3},
                        .pools = std::vector{2, 3}},
                       25) < 1e-7);
}

TEST_CASE("the quadratic's gradient without noise is that of its loss") {
  LearnSettings settings;
  settings.model = {.kind = LearnerKind::quadratic, .curvature = 2.5, .noise = 0.0, .dimensions = 3};
  CHECK(gradient_error(settings, nullptr) < 1e-7);
}

TEST_CASE("parameters are counted as layers define them") {
  CHECK(Network({.kind = LearnerKind::softmax}, 64, 10).parameters() == 650);
  CHECK(Network({.kind = LearnerKind::mlp, .hidden = std::vector{32}}, 64, 10).parameters() ==
        64 * 32 + 32 + 32 * 10 + 10);
  // NT3 with its 60,483 features: CANDLE's count
  CHECK(Network({.kind = LearnerKind::conv1d,
                 .hidden = std::vector{200, 20},
                 .filters = std::vector{128, 128},
                 .kernels = std::vector{20, 10},
                 .pools = std::vector{1, 10}},
                60483, 2)
            .parameters() == 154922918);
}

TEST_CASE("exponentials of many values are those of the C library to 1e-15") {
  std::vector<double> values;
  for (int i = -7000; i <= 7000; ++i) values.push_back(0.0999 * i);
  std::vector<double> found = values;
  learning::exponentials(found.data(), found.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(found[i] == doctest::Approx(std::exp(values[i])).epsilon(1e-15));
  double far[] = {-1e300, -701, 0};
  learning::exponentials(far, 3);
  CHECK(far[0] < 1e-303);
  CHECK(far[0] == far[1]);
  CHECK(far[2] == 1);
}

TEST_CASE("softmax regression starts at the logarithm of the number of classes, whatever the samples") {
  const Samples samples = some_samples(20, 5, 4);
  Network network({.kind = LearnerKind::softmax}, 5, 4);
  std::vector<double> parameters(static_cast<std::size_t>(network.parameters()), 1.0);
  network.start(random::Generator(1, {}), parameters);
  CHECK(network.score(parameters, samples, 0, 20).loss / 20 == doctest::Approx(std::log(4.0)).epsilon(1e-14));
}

TEST_CASE("hidden layers start with different weights and with outputs of about unit size") {
  const Samples samples = some_samples(200, 50, 3);
  Network network({.kind = LearnerKind::mlp, .hidden = std::vector{40, 40}}, 50, 3);
  std::vector<double> one(static_cast<std::size_t>(network.parameters()));
  std::vector<double> other = one;
  network.start(random::Generator(1, {}), one);
  network.start(random::Generator(2, {}), other);
  std::vector<double> small = one;
  Network({.kind = LearnerKind::mlp, .hidden = std::vector{40, 40}, .initial_scale = 0.3}, 50, 3)
      .start(random::Generator(1, {}), small);
  for (std::size_t i = 0; i < one.size(); ++i)
    CHECK(small[i] == doctest::Approx(0.3 * one[i]).epsilon(1e-12));
  CHECK(one != other);
  const double loss = network.score(one, samples, 0, 200).loss / 200;
  CHECK(loss > 0.8);
  CHECK(loss < 3);
}

TEST_CASE("a convolution that leaves nothing is an error") {
  CHECK_THROWS_WITH_AS(
      Network({.kind = LearnerKind::conv1d, .filters = std::vector{2}, .kernels = std::vector{9}}, 8, 2),
      doctest::Contains("kernel 9"), InputError);
}

TEST_CASE(
    "a network whose parameters fill the memory is an error, also where their number overflows an int") {
  for (const int units : {50000, 65536})
    CHECK_THROWS_WITH_AS(Network({.kind = LearnerKind::mlp, .hidden = std::vector{units, units}}, 64, 10),
                         doctest::Contains("parameters, more than 250000000"), InputError);
  CHECK_THROWS_WITH_AS(Network({.kind = LearnerKind::conv1d,
                                .hidden = std::vector{65536},
                                .filters = std::vector{4096},
                                .kernels = std::vector{1}},
                               64, 10),
                       doctest::Contains("parameters, more than"), InputError);
}
