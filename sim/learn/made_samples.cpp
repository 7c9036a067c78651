#include "learn/samples.hpp"
#include "learn/streams.hpp"
#include "random/functions.hpp"

#include <cmath>

namespace trainyard {

namespace {

constexpr double widest = 9;     // less than 1e-18 of a normal distribution lies beyond
constexpr int intervals = 4608;  // the error of Simpson's rule is below 1e-10

double density(double x) {
  constexpr double one_by_root_of_two_pi = 0.39894228040143267794;
  return one_by_root_of_two_pi * random::exp(-x * x / 2);
}

/// Simpson's rule; `intervals` is even.
template <class Function>
double integral(double from, double to, const Function& function) {
  const double step = (to - from) / intervals;
  double sum = function(from) + function(to);
  for (int i = 1; i < intervals; ++i) sum += (i % 2 == 1 ? 4 : 2) * function(from + i * step);
  return sum * step / 3;
}

/// The normal distribution function at all ends and middles of equal steps from -widest on.
std::vector<double> distribution_at(int count, double step) {
  std::vector<double> values{0};
  for (int i = 1; i < count; ++i) {
    const double x = -widest + (i - 1) * step;
    values.push_back(values.back() + step / 6 * (density(x) + 4 * density(x + step / 2) + density(x + step)));
  }
  return values;
}

Samples sized(int count, int features, int classes) {
  Samples samples{.features = features, .classes = classes, .values = {}, .labels = {}};
  samples.values.reserve(static_cast<std::size_t>(count) * static_cast<std::size_t>(features));
  samples.labels.reserve(static_cast<std::size_t>(count));
  return samples;
}

}  // namespace

Samples gaussian_samples(int count, int features, int classes, double separation, std::uint64_t seed) {
  Samples samples = sized(count, features, classes);
  for (int i = 0; i < count; ++i) {
    random::Generator generator(seed, {learning::made, static_cast<std::uint64_t>(i)});
    const int label = i % classes;
    for (int j = 0; j < features; ++j)
      samples.values.push_back(
          static_cast<float>(learning::normal(generator) + (j == label ? separation : 0)));
    samples.labels.push_back(label);
  }
  return samples;
}

double gaussian_least_error(int classes, double separation) {
  // Both functions on one grid: the distribution function is needed `separation` further on.
  constexpr double step = 2 * widest / intervals;
  const auto shift = static_cast<int>(std::floor(separation / step));
  const double rest = separation - shift * step;
  const std::vector<double> below = distribution_at(intervals + 1, step);
  double sum = 0;
  for (int i = 0; i <= intervals; ++i) {
    const double z = -widest + i * step - rest;  // so that z + separation lies on the grid
    const int at = i + shift;
    const double below_sample = at > intervals ? 1 : below[static_cast<std::size_t>(at)];
    if (below_sample <= 0) continue;
    const double weight = i == 0 || i == intervals ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * density(z) * random::exp(std::max(-700.0, (classes - 1) * random::log(below_sample)));
  }
  return std::max(0.0, 1 - sum * step / 3);
}

Samples nt3_like_samples(int count, int features, int informative, double separation, std::uint64_t seed) {
  Samples samples = sized(count, features, 2);
  const std::vector<int> order = learning::shuffled(features, random::Generator(seed, {learning::made}));
  std::vector<float> shift(static_cast<std::size_t>(features), 0.0F);
  for (int i = 0; i < informative; ++i)  // as many genes are more active in tumours as are less
    shift[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] =
        static_cast<float>(i % 2 == 0 ? separation / 2 : -separation / 2);
  for (int i = 0; i < count; ++i) {
    random::Generator generator(seed, {learning::made, static_cast<std::uint64_t>(i)});
    const int label = i % 2;
    for (const float by : shift)
      samples.values.push_back(static_cast<float>(learning::normal(generator)) + (label == 1 ? by : -by));
    samples.labels.push_back(label);
  }
  return samples;
}

double nt3_like_least_error(int informative, double separation) {
  const double distance = separation * std::sqrt(static_cast<double>(informative)) / 2;
  if (distance >= widest) return 0;
  return integral(distance, widest, density);
}

}  // namespace trainyard
