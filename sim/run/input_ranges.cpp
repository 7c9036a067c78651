#include "run/input_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

/// The lowest and the highest of results relative to the run's.
struct Effects {
  double low = 1, high = 1;
};

/// The speeds at the ends of a range and between them.
std::vector<StepSpeed> speeds_of(const InputRange& input) {
  std::vector<StepSpeed> speeds{input.at_low, input.at_high};
  for (const ValueSpeed& one : input.between) speeds.push_back(one.speed);
  return speeds;
}

template <class Get>
Effects effects_of(const StepSpeed& base, const std::vector<StepSpeed>& speeds, Get get) {
  Effects effects;
  for (const StepSpeed& speed : speeds) {
    effects.low = std::min(effects.low, get(speed) / get(base));
    effects.high = std::max(effects.high, get(speed) / get(base));
  }
  return effects;
}

/// Combines the effects of independent inputs.
Effects in_quadrature(const std::vector<Effects>& all) {
  double low = 0, high = 0;
  for (const Effects& one : all) {
    low += std::pow(std::log(one.low), 2);
    high += std::pow(std::log(one.high), 2);
  }
  return {std::exp(-std::sqrt(low)), std::exp(std::sqrt(high))};
}

}  // namespace

InputRanges combined(std::vector<InputRange> inputs, const StepSpeed& base,
                     const std::vector<StepSpeed>& together) {
  InputRanges all{.are_simulated = inputs.size() == 1 || !together.empty(), .slowest = base, .fastest = base};
  std::vector<Effects> times, throughputs;
  double most = -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<StepSpeed> speeds = speeds_of(inputs[i]);
    times.push_back(effects_of(base, speeds, [](const StepSpeed& speed) { return speed.time.si(); }));
    throughputs.push_back(effects_of(base, speeds, [](const StepSpeed& speed) { return speed.throughput; }));
    const double effect = std::log(throughputs.back().high / throughputs.back().low);
    if (effect > most) all.decisive = i;
    most = std::max(most, effect);
  }
  if (!all.are_simulated) {
    const Effects of_times = in_quadrature(times);
    const Effects of_throughputs = in_quadrature(throughputs);
    all.slowest = {of_times.high * base.time, of_throughputs.low * base.throughput};
    all.fastest = {of_times.low * base.time, of_throughputs.high * base.throughput};
  }
  const auto take_in = [&](const StepSpeed& speed) {
    all.slowest = {std::max(all.slowest.time, speed.time),
                   std::min(all.slowest.throughput, speed.throughput)};
    all.fastest = {std::min(all.fastest.time, speed.time),
                   std::max(all.fastest.throughput, speed.throughput)};
  };
  if (all.are_simulated) {
    for (const InputRange& input : inputs) {
      for (const StepSpeed& speed : speeds_of(input)) take_in(speed);
    }
    for (const StepSpeed& speed : together) take_in(speed);
  }
  all.inputs = std::move(inputs);
  return all;
}

}  // namespace trainyard
