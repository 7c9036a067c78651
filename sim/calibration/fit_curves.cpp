#include "calibration/fit_curves.hpp"

#include "calibration/least_squares.hpp"
#include "calibration/minimise.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard {
namespace {

constexpr double largest_t0_us = 2000;
constexpr double largest_conv_fraction = 0.93;
constexpr double winograd_limit = 4;
constexpr double usual_tokens = 500;
constexpr double longest_key_ns = 1000;
constexpr double outlier = 0.1;  // a miss above it counts less
constexpr double usual_fill = 100;
constexpr double largest_overlap = 100;
constexpr double largest_fill = 1e4;
constexpr std::size_t fewest_of_class = 3;
constexpr std::array conv_classes{ConvClass::first_layer, ConvClass::pointwise, ConvClass::pointwise_strided,
                                  ConvClass::spatial_3x3, ConvClass::other};

/// `ratio`: predicted over measured.
double miss(double ratio) { return std::abs(ratio - 1 / ratio) / 2; }
double miss(Seconds predicted, Seconds measured) { return miss(predicted / measured); }

Seconds microseconds(double number) { return Seconds(number * 1e-6); }
/// Rounded to the accuracy of a profile; the last bits of a search reach no file.
Seconds rounded_us(double number) { return Seconds(four_digits(number * 1e-6)); }

std::size_t index_of(ConvClass conv_class) { return static_cast<std::size_t>(conv_class); }

/// Index of the fitted efficiency of each class: its own, that of `other`, or that of all classes.
std::array<std::size_t, conv_classes.size()> slots(const std::vector<ConvSample>& samples) {
  std::array<std::size_t, conv_classes.size()> counts{};
  for (const ConvSample& sample : samples) ++counts.at(index_of(sample.conv_class));
  const auto has_own = [&](ConvClass c) { return counts.at(index_of(c)) >= fewest_of_class; };
  const std::size_t shared = index_of(ConvClass::other);
  std::array<std::size_t, conv_classes.size()> slot{};
  for (const ConvClass c : conv_classes) slot.at(index_of(c)) = has_own(c) ? index_of(c) : shared;
  return slot;
}

}  // namespace

Roofline fit_roofline(const std::vector<Sample>& samples, const Limits& limits) {
  const auto curve = [](const std::vector<double>& x) { return Roofline{x[0], x[1], microseconds(x[2])}; };
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const Sample& sample : samples) {
      sum += miss(roofline_time(curve(x), limits.peak, limits.bandwidth, sample.work), sample.time);
    }
    return sum / static_cast<double>(samples.size());
  };
  const auto x = minimise(loss, {0.8, 0.7, 10}, {{0.001, 1}, {0.001, 1}, {0, largest_t0_us}});
  return {four_digits(x[0]), four_digits(x[1]), rounded_us(x[2])};
}

GemmCurve fit_product(const std::vector<ProductSample>& samples, const Limits& limits) {
  // all coordinates are of the order of 1 and at least 0: both limits as what is lost of them
  const auto curve = [](const std::vector<double>& x) {
    return GemmCurve{.efficiency = 1 / (1 + x[0]),
                     .bandwidth_fraction = 1 / (1 + x[1]),
                     .t0 = microseconds(std::min(x[2], largest_t0_us)),
                     .overlap = std::min(1 + x[3], largest_overlap),
                     .fill = std::min(usual_fill * x[4], largest_fill),
                     .t_sum = microseconds(std::min(x[5], largest_t0_us))};
  };
  const auto misses = [&](const std::vector<double>& x) {
    const GemmCurve now = curve(x);
    std::vector<double> all;
    all.reserve(samples.size());
    for (const auto& [sample, k] : samples) {
      const double ratio = product_time(now, limits.peak, limits.bandwidth, sample.work, k) / sample.time;
      all.push_back(softened((ratio - 1 / ratio) / 2, outlier));
    }
    return all;
  };
  const GemmCurve best = curve(least_squares(misses, {0.25, 0.25, 3, 1.5, 0.7, 2}, 0));
  return {.efficiency = four_digits(best.efficiency),
          .bandwidth_fraction = four_digits(best.bandwidth_fraction),
          .t0 = Seconds(four_digits(best.t0.si())),
          .overlap = four_digits(*best.overlap),
          .fill = four_digits(*best.fill),
          .t_sum = Seconds(four_digits(best.t_sum->si()))};
}

Seconds cast_time(const CastFit& cast, const GemmShape& shape) {
  constexpr Bytes moved{3};  // of each value: 2 read, 1 written
  const double values = static_cast<double>(shape.m) * shape.k;
  return cast.fixed + values * moved / cast.rate + shape.m * cast.per_row + shape.k * cast.per_column;
}

CastingFit fit_casting(const std::vector<CastingSample>& samples, const Limits& limits,
                       const GemmCurve& other) {
  constexpr double fastest = 1e-4;  // us for 1 MB: no memory is near it
  const auto nanoseconds = [](double number) { return Seconds(number * 1e-9); };
  const auto fit = [&](const std::vector<double>& x) {
    CastingFit both{other, {}};
    both.product.efficiency = 1 / (1 + x[0]);
    both.product.bandwidth_fraction = 1 / (1 + x[1]);
    both.product.overlap = std::min(1 + x[2], largest_overlap);
    both.product.fill = std::min(usual_fill * x[3], largest_fill);
    both.cast = {microseconds(x[4]), Bandwidth(1e12 / std::max(x[5], fastest)), nanoseconds(x[6]),
                 nanoseconds(x[7])};
    return both;
  };
  std::vector<Work> works;
  for (const CastingSample& sample : samples) works.push_back(work_of(sample.shape, Dtype::fp8));
  const auto misses = [&](const std::vector<double>& x) {
    const CastingFit now = fit(x);
    std::vector<double> all;
    all.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto& [shape, time] = samples[i];
      const Seconds product = product_time(now.product, limits.peak, limits.bandwidth, works[i], shape.k);
      const double ratio = (product + cast_time(now.cast, shape)) / time;
      all.push_back(softened((ratio - 1 / ratio) / 2, outlier));
    }
    return all;
  };
  CastingFit best = fit(least_squares(misses, {0.25, 0.25, 1.5, 0.7, 3, 0.5, 2, 0.5}, 0));
  best.product.efficiency = four_digits(best.product.efficiency);
  best.product.bandwidth_fraction = four_digits(best.product.bandwidth_fraction);
  best.product.overlap = four_digits(*best.product.overlap);
  best.product.fill = four_digits(*best.product.fill);
  best.cast = {Seconds(four_digits(best.cast.fixed.si())), Bandwidth(four_digits(best.cast.rate.si())),
               Seconds(four_digits(best.cast.per_row.si())), Seconds(four_digits(best.cast.per_column.si()))};
  return best;
}

AttentionFit fit_attention(const std::vector<AttentionSample>& samples, const Limits& limits) {
  const auto fit = [](const std::vector<double>& x) {
    return AttentionFit{1 / (1 + x[0]), usual_tokens * x[1], microseconds(10 * std::min(x[2], largest_t0_us)),
                        Seconds(std::min(x[3], longest_key_ns) * 1e-9)};
  };
  const auto misses = [&](const std::vector<double>& x) {
    const AttentionFit now = fit(x);
    const Roofline curve{now.efficiency, 1, now.t0};
    std::vector<double> all;
    for (const auto& [sample, n] : samples) {
      const Work work{(1 + now.tokens / n) * sample.work.flops, sample.work.bytes};
      const Seconds time = roofline_time(curve, limits.peak, limits.bandwidth, work) + n * now.key_time;
      const double ratio = time / sample.time;
      all.push_back(softened((ratio - 1 / ratio) / 2, outlier));
    }
    return all;
  };
  const AttentionFit best = fit(least_squares(misses, {0.6, 1, 1, 3}, 0));
  return {four_digits(best.efficiency), four_digits(best.tokens), Seconds(four_digits(best.t0.si())),
          Seconds(four_digits(best.key_time.si()))};
}

ConvFit fit_conv(const std::vector<ConvSample>& samples, const Limits& limits) {
  constexpr std::size_t fraction = conv_classes.size();
  constexpr std::size_t t0 = fraction + 1;
  const auto slot = slots(samples);
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const auto& [sample, conv_class] : samples) {
      const Roofline curve{x[slot.at(index_of(conv_class))], x[fraction], microseconds(x[t0])};
      sum += miss(roofline_time(curve, limits.peak, limits.bandwidth, sample.work), sample.time);
    }
    // If all samples of a class are limited by memory, its efficiency follows that of `other`.
    double apart = 0;
    for (std::size_t c = 0; c < conv_classes.size(); ++c) apart += miss(x[c] / x[index_of(ConvClass::other)]);
    constexpr double weight_of_apart = 1e-4;
    return sum / static_cast<double>(samples.size()) + weight_of_apart * apart;
  };
  auto x = minimise(loss, {0.5, 0.6, 0.4, 1.0, 0.6, 0.7, 20},
                    {{0.001, 1},
                     {0.001, 1},
                     {0.001, 1},
                     {0.001, winograd_limit},
                     {0.001, winograd_limit},
                     {0.01, largest_conv_fraction},
                     {0, largest_t0_us}});
  const std::size_t other = index_of(ConvClass::other);
  const auto slot_of = [&](const ConvSample& sample) { return slot.at(index_of(sample.conv_class)); };
  if (std::ranges::none_of(samples, [&](const ConvSample& sample) { return slot_of(sample) == other; })) {
    double sum = 0;
    for (const ConvSample& sample : samples) sum += x[slot_of(sample)];
    x[other] = sum / static_cast<double>(samples.size());
  }
  const auto efficiency = [&](ConvClass c) { return four_digits(x[slot.at(index_of(c))]); };
  const auto at_most_1 = [&](ConvClass c) { return std::min(1.0, efficiency(c)); };
  ConvFit fit;
  if (slot.at(index_of(ConvClass::first_layer)) == index_of(ConvClass::first_layer)) {
    fit.first_layer = efficiency(ConvClass::first_layer);
  }
  fit.pointwise = at_most_1(ConvClass::pointwise);
  fit.pointwise_strided = at_most_1(ConvClass::pointwise_strided);
  fit.spatial_3x3 = efficiency(ConvClass::spatial_3x3);
  fit.other = efficiency(ConvClass::other);
  fit.bandwidth_fraction = four_digits(x[fraction]);
  fit.t0 = rounded_us(x[t0]);
  return fit;
}

VectorFit fit_vector(const std::vector<Sample>& samples, Bandwidth bandwidth) {
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const Sample& sample : samples) {
      sum += miss(sample.work.bytes / (x[0] * bandwidth) + microseconds(x[1]), sample.time);
    }
    return sum / static_cast<double>(samples.size());
  };
  const auto x = minimise(loss, {0.8, 10}, {{0.001, 1}, {0, largest_t0_us}});
  return {four_digits(x[0]), rounded_us(x[1])};
}

Seconds dispatched_time(const DispatchFit& fit, const std::string& call, Bytes bytes, Bandwidth bandwidth) {
  const Seconds kernel = bytes / (fit.vector.bandwidth_fraction * bandwidth) + fit.vector.t0;
  const auto dispatch = fit.dispatch.find(call);
  return dispatch == fit.dispatch.end() ? kernel : std::max(kernel, dispatch->second);
}

DispatchFit fit_dispatched(const std::vector<DispatchedSample>& samples, Bandwidth bandwidth) {
  DispatchFit fit;
  for (const DispatchedSample& sample : samples) fit.dispatch[sample.call] = Seconds();
  const auto set = [&](const std::vector<double>& x) {
    fit.vector = {x[0], microseconds(x[1])};
    std::size_t next = 2;
    for (auto& [call, dispatch] : fit.dispatch) dispatch = microseconds(x[next++]);
  };
  const auto loss = [&](const std::vector<double>& x) {
    set(x);
    double sum = 0;
    for (const auto& [sample, call] : samples) {
      sum += miss(dispatched_time(fit, call, sample.work.bytes, bandwidth), sample.time);
    }
    return sum / static_cast<double>(samples.size());
  };
  std::vector<double> start{0.8, 10};
  std::vector<Bounds> bounds{{0.001, 1}, {0, largest_t0_us}};
  start.resize(2 + fit.dispatch.size(), 30);
  bounds.resize(start.size(), {0, largest_t0_us});
  set(minimise(loss, start, bounds));
  fit.vector.bandwidth_fraction = four_digits(fit.vector.bandwidth_fraction);
  return fit;
}

}  // namespace trainyard
