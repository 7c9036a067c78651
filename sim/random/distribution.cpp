#include "random/distribution.hpp"

#include "random/functions.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainyard::random {

namespace {

constexpr double least_part = 0.01;  // of the mean: times must be positive

double exponential(double mean, Generator& generator) { return -mean * log(generator.uniform()); }

double normal(Generator& generator) { return normal_quantile(generator.uniform()); }

/// Scale with mean 1; Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26
/// (2000), with their step for shapes below 1.
double gamma(double shape, Generator& generator) {
  if (shape < 1) {
    const double power = exp(log(generator.uniform()) / shape);
    return gamma(shape + 1, generator) * power;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(generator);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (log(generator.uniform()) < 0.5 * x * x + d - d * cube + d * log(cube)) return d * cube;
  }
}

double mean_of(const Distribution& distribution) { return distribution.mean.value_or(1); }

struct LogScale {
  double mean, sd;  ///< of the logarithm
};

LogScale log_scale(const Distribution& distribution) {
  const double mean = mean_of(distribution);
  const double ratio = *distribution.sd / mean;
  const double variance = log(1 + ratio * ratio);
  return {log(mean) - variance / 2, std::sqrt(variance)};
}

/// The least value of a Pareto distribution with this mean; the mean value itself if the distribution has no
/// mean.
double pareto_least(const Distribution& distribution) {
  const double shape = *distribution.shape;
  return shape > 1 ? mean_of(distribution) * (shape - 1) / shape : mean_of(distribution);
}

}  // namespace

bool has_mean(Kind kind) { return kind != Kind::uniform && kind != Kind::empirical; }

double draw(const Distribution& distribution, Generator& generator) {
  const double mean = mean_of(distribution);
  switch (distribution.kind) {
    case Kind::constant:
      break;
    case Kind::uniform:
      return *distribution.low + (*distribution.high - *distribution.low) * generator.uniform();
    case Kind::normal:
      while (true) {
        const double value = mean + *distribution.sd * normal(generator);
        if (value >= least_part * mean) return value;
      }
    case Kind::log_normal: {
      const LogScale scale = log_scale(distribution);
      return exp(scale.mean + scale.sd * normal(generator));
    }
    case Kind::exponential:
      return exponential(mean, generator);
    case Kind::shifted_exponential:
      return *distribution.shift + exponential(mean, generator);
    case Kind::gamma:
      return mean / *distribution.shape * gamma(*distribution.shape, generator);
    case Kind::pareto:
      return pareto_least(distribution) * exp(-log(generator.uniform()) / *distribution.shape);
    case Kind::empirical: {
      const auto count = distribution.seen.size();
      assert(count > 0);  // whoever reads the key `file` reads the file
      const auto index = static_cast<std::size_t>(generator.uniform() * static_cast<double>(count));
      return distribution.seen[std::min(index, count - 1)];
    }
  }
  return mean;
}

void check(const Distribution& distribution, const std::string& path, config::Problems& problems) {
  const Kind kind = distribution.kind;
  const auto belongs = [&](std::string_view key, bool is_given, bool is_needed) {
    if (is_given == is_needed) return;
    const std::string name = "'" + std::string(key) + "'";
    const std::string what = "a distribution of kind " + std::string(config::name_of(kind));
    if (is_needed)
      problems.error(path, what + " needs " + name);
    else
      problems.error(path + "." + std::string(key), name + " does not apply to " + what);
  };
  const bool is_uniform = kind == Kind::uniform;
  belongs("mean", distribution.mean.has_value(), has_mean(kind) && distribution.mean.has_value());
  belongs("low", distribution.low.has_value(), is_uniform);
  belongs("high", distribution.high.has_value(), is_uniform);
  if (distribution.low && distribution.high && *distribution.low >= *distribution.high)
    problems.error(path + ".low", "'low' is not below 'high'", "low: 0.9, high: 1.1");
  belongs("sd", distribution.sd.has_value(), kind == Kind::normal || kind == Kind::log_normal);
  belongs("shift", distribution.shift.has_value(), kind == Kind::shifted_exponential);
  belongs("shape", distribution.shape.has_value(), kind == Kind::gamma || kind == Kind::pareto);
  belongs("file", distribution.file.has_value(), kind == Kind::empirical);
  if (kind == Kind::normal && distribution.sd && *distribution.sd > mean_of(distribution))
    problems.error(path + ".sd", "a normal distribution with this standard deviation is often below 0",
                   "at most its mean, or kind: log_normal or gamma");
  constexpr double widest = 10;
  if (kind == Kind::log_normal && distribution.sd && *distribution.sd > widest * mean_of(distribution))
    problems.error(path + ".sd", "the standard deviation is more than 10 times the mean",
                   "at most 10 times its mean");
}

}  // namespace trainyard::random
