#include "compute/nearest.hpp"

#include "compute/curves.hpp"

#include <cmath>
#include <limits>

namespace trainyard {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double squared_step(double a, double b) {
  const double step = rough_log2(a) - rough_log2(b);
  return step * step;
}

double output_pixels(const ConvShape& shape) {
  const ImageSize out = output_size(shape);
  return 1.0 * shape.batch * out.height * out.width;
}

}  // namespace

double rough_log2(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // x = fraction * 2^exponent, 1/2 <= fraction < 1
  return exponent - 2 + 2 * fraction;
}

double squared_distance(const GemmShape& a, const GemmShape& b) {
  return squared_step(a.batch, b.batch) + squared_step(a.m, b.m) + squared_step(a.n, b.n) +
         squared_step(a.k, b.k);
}

double squared_distance(const ConvShape& a, const ConvShape& b) {
  if (class_of(a) != class_of(b)) return infinite;
  constexpr double weight_of_pixels = 0.25;  // half the distance, squared
  return squared_step(a.in_channels, b.in_channels) + squared_step(a.out_channels, b.out_channels) +
         squared_step(a.kernel_h * a.kernel_w, b.kernel_h * b.kernel_w) + squared_step(a.groups, b.groups) +
         weight_of_pixels * squared_step(output_pixels(a), output_pixels(b));
}

double squared_distance(Bytes a, Bytes b) { return squared_step(a.si(), b.si()); }

void Correction::add(double squared_distance, double ratio) {
  const double nearness = 1 / (1 + squared_distance);
  const double weight = nearness * nearness * nearness;
  weights_ += weight;
  ratios_ += weight * ratio;
}

}  // namespace trainyard
