#include "plan/plan_draws.hpp"

#include "random/functions.hpp"
#include "random/generator.hpp"
#include "random/order_statistics.hpp"
#include "units/fnv1a.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {

namespace {

/// Purposes of the streams of random numbers.
enum Stream : std::uint64_t { slowest_stream = 0x706c616e01, common_stream, own_stream };

/// Kernel times of the slowest GPU relative to the mean one, which a share of draws stays below.
double slowest_below(const WaitedGpus& waited, double share) {
  constexpr double fastest = 0.01;  // as random::draw() cuts normal factors off
  return std::max(fastest, 1 + random::maximum_quantile(waited.gpus, waited.variation, share));
}

double figure_at(const DrawnFigure& figure, const GroupSpeeds& speeds, double slowest) {
  const double range = speeds.slow() - speeds.nominal;
  if (range <= 0) return figure.nominal;
  const double slope = std::max(0.0, figure.slow - figure.nominal) / range;
  const double least = figure.nominal * std::min(1.0, slowest / speeds.nominal);
  return std::max(least, figure.nominal + slope * (slowest - speeds.nominal));
}

std::uint64_t hash_of(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

}  // namespace

double GroupSpeeds::slow() const {
  constexpr double share = 0.99;
  return waited.variation == 0 ? nominal : slowest_below(waited, share);
}

PlanDraws::PlanDraws(double quantile, int draws, std::uint64_t seed, std::vector<GroupSpeeds> groups)
    : quantile_(quantile), seed_(seed), groups_(std::move(groups)), slowest_(groups_.size()) {
  for (std::uint64_t draw = 0; draw < static_cast<std::uint64_t>(draws); ++draw) {
    errors_.push_back(random::normal_quantile(random::Generator(seed, {common_stream, draw}).uniform()));
    const double share = random::Generator(seed, {slowest_stream, draw}).uniform();
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const GroupSpeeds& gpus = groups_[group];
      slowest_[group].push_back(gpus.waited.variation == 0 ? gpus.nominal
                                                           : slowest_below(gpus.waited, share));
    }
  }
}

double PlanDraws::at_quantile(std::vector<double>& values) const {
  constexpr double rounding = 1e-9;
  const auto rank =
      static_cast<std::size_t>(std::ceil(quantile_ * static_cast<double>(values.size()) - rounding));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, nth);
  return *nth;
}

double PlanDraws::quantile_of(std::size_t group, const DrawnFigure& figure) const {
  std::vector<double> values = this->values(group, figure, 1, {});
  return at_quantile(values);
}

double PlanDraws::least_factor(std::size_t group, const ErrorSpread& error) const {
  const double nominal = groups_[group].nominal;
  std::vector<double> factors(errors_.size());
  for (std::size_t draw = 0; draw < factors.size(); ++draw)
    factors[draw] = std::min(1.0, slowest_[group][draw] / nominal) *
                    random::exp(-(error.centre + error.sd * errors_[draw]));
  return at_quantile(factors);
}

std::vector<double> PlanDraws::values(std::size_t group, const DrawnFigure& figure, double common,
                                      std::string_view key) const {
  const double own = std::sqrt(1 - common);
  const random::Generator generator(seed_, {own_stream, hash_of(key)});
  std::vector<double> values(errors_.size());
  for (std::size_t draw = 0; draw < values.size(); ++draw) {
    double error = std::sqrt(common) * errors_[draw];
    if (own > 0) error += own * random::normal_quantile(generator.of(draw).uniform());
    values[draw] = figure_at(figure, groups_[group], slowest_[group][draw]) *
                   random::exp(-(figure.error.centre + figure.error.sd * error));
  }
  return values;
}

}  // namespace trainyard
