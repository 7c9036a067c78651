// Batch normalisation in training: statistics over batch and image, then scale and shift; running statistics
// are left out, they are a few values per channel. Traffic: forward reads x twice and writes y (3 passes),
// backward reads x and dy twice and writes dx (5). Of tensors smaller than the L2 cache the second reads are
// served by it, in frameworks as here. Reference: a few channels, whose statistics the host computes whole;
// one of them where a channel has millions of values.

#include "batch_norm_nchw.cuh"
#include "batch_norm_nhwc.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"

#include <cmath>
#include <memory>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t x_seed = 0;
constexpr std::uint64_t dy_seed = 1;
constexpr std::uint64_t gamma_seed = 2;
constexpr std::uint64_t beta_seed = 3;

struct Geometry {
  bool is_nchw = true;
  std::int64_t channels = 1;
  std::int64_t per_channel = 1;
  std::int64_t plane = 1;  ///< values of an image, per channel
};

/// Images of 56 x 56 where they divide a channel's values; else the largest number from 64 to 4096 that does;
/// else one image.
std::int64_t plane_of(std::int64_t per_channel) {
  if (per_channel % (56 * 56) == 0) return 56 * 56;
  for (std::int64_t plane = std::min<std::int64_t>(4096, per_channel); plane >= 64; --plane) {
    if (per_channel % plane == 0) return plane;
  }
  return per_channel;
}

Geometry geometry_of(const VectorWork& work) {
  if (work.size < 1 || work.elements < work.size || work.elements % work.size != 0) {
    throw MeasurementFailed("batch_norm: " + std::to_string(work.elements) + " values cannot be shared by " +
                            std::to_string(work.size) + " channels");
  }
  if (work.variant != "nchw" && work.variant != "nhwc") {
    throw MeasurementFailed("batch_norm has no layout '" + work.variant + "'");
  }
  const std::int64_t per_channel = work.elements / work.size;
  return {work.variant == "nchw", work.size, per_channel, plane_of(per_channel)};
}

/// Where value `i` of a channel is.
std::uint64_t index_of(const Geometry& geometry, std::int64_t channel, std::int64_t i) {
  if (!geometry.is_nchw) return static_cast<std::uint64_t>(i * geometry.channels + channel);
  const std::int64_t image = i / geometry.plane;
  return static_cast<std::uint64_t>((image * geometry.channels + channel) * geometry.plane +
                                    i % geometry.plane);
}

struct Operands {
  ColdBuffers x;
  ColdBuffers dy;
  ColdBuffers out;
  DeviceBuffer gamma;
  DeviceBuffer beta;
  DeviceBuffer mean;
  DeviceBuffer inv_std;
  DeviceBuffer dgamma;
  DeviceBuffer dbeta;
  DeviceBuffer coefficients;
};

std::shared_ptr<const Operands> make_operands(const VectorWork& work, bool is_backward) {
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  const int copies = cold_copies((is_backward ? 3 : 2) * bytes);
  auto made = std::make_shared<Operands>();
  made->x = ColdBuffers(bytes, copies);
  fill_random(made->x, work.dtype, x_seed);
  if (is_backward) {
    made->dy = ColdBuffers(bytes, copies);
    fill_random(made->dy, work.dtype, dy_seed);
  }
  made->out = ColdBuffers(bytes, copies);
  const auto channels = static_cast<std::size_t>(work.size);
  for (DeviceBuffer* buffer :
       {&made->gamma, &made->beta, &made->mean, &made->inv_std, &made->dgamma, &made->dbeta}) {
    *buffer = DeviceBuffer(channels * sizeof(float));
  }
  fill_random(made->gamma, Dtype::fp32, gamma_seed);
  fill_random(made->beta, Dtype::fp32, beta_seed);
  made->coefficients = DeviceBuffer(channels * sizeof(float4));
  return made;
}

struct Scratch {
  Scratch(std::size_t sums, std::size_t channels)
      : partials(sums * sizeof(float2)), counters(channels * sizeof(unsigned)) {
    fill_zero(counters.data(), counters.bytes());
  }
  DeviceBuffer partials;
  DeviceBuffer counters;
};

template <typename T>
BatchNormData<T> data_of(const Geometry& geometry, const Operands& operands, const Scratch& scratch,
                         int repetition) {
  const ChannelData channel{operands.gamma.as<float>(),        operands.beta.as<float>(),
                            operands.mean.as<float>(),         operands.inv_std.as<float>(),
                            operands.dgamma.as<float>(),       operands.dbeta.as<float>(),
                            operands.coefficients.as<float4>()};
  return {operands.x.as<T>(repetition),
          operands.dy.as<T>(repetition),
          operands.out.as<T>(repetition),
          channel,
          scratch.partials.as<float2>(),
          scratch.counters.as<unsigned>(),
          geometry.per_channel};
}

/// `size` values are loaded at a time.
template <typename Direction, int size, typename T>
Launch launch_packed(const Geometry& geometry, const std::shared_ptr<const Operands>& operands) {
  const auto channels = static_cast<int>(geometry.channels);
  const auto scratch_for = [&](int splits) {
    const auto sums = static_cast<std::size_t>(geometry.channels * splits);
    return std::make_shared<const Scratch>(sums, static_cast<std::size_t>(channels));
  };
  if (geometry.is_nchw) {
    const auto layout = nchw_layout<Direction, size, T>(channels, geometry.plane, geometry.per_channel);
    return [=, scratch = scratch_for(layout.splits)](int repetition, cudaStream_t stream) {
      launch_nchw<Direction, size>(data_of<T>(geometry, *operands, *scratch, repetition), layout, stream);
    };
  }
  const auto layout = nhwc_layout<Direction, size, T>(channels, geometry.per_channel);
  return [=, scratch = scratch_for(layout.splits)](int repetition, cudaStream_t stream) {
    launch_nhwc<Direction, size>(data_of<T>(geometry, *operands, *scratch, repetition), layout, stream);
  };
}

template <typename Direction>
Launch launch_of(Dtype dtype, const Geometry& geometry, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t contiguous = geometry.is_nchw ? geometry.plane : geometry.channels;
    return contiguous % pack_size<T> == 0 ? launch_packed<Direction, pack_size<T>, T>(geometry, operands)
                                          : launch_packed<Direction, 1, T>(geometry, operands);
  });
}

/// What the reference knows of a channel.
struct Reference {
  double mean = 0, inv_std = 0, gamma = 0, beta = 0;
  double dbeta = 0, dbeta_magnitude = 0, dgamma = 0, dgamma_magnitude = 0;
};

Reference reference_of(const Geometry& geometry, Dtype dtype, std::int64_t channel, bool is_backward) {
  const auto count = static_cast<double>(geometry.per_channel);
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < geometry.per_channel; ++i) {
    const double x = stored_value(dtype, x_seed, index_of(geometry, channel, i));
    sum += x;
    squares += x * x;
  }
  Reference of;
  of.mean = sum / count;
  const double variance =
      std::max(squares / count - of.mean * of.mean, 0.0);  // values of about 1: exact enough
  of.inv_std = 1 / std::sqrt(variance + batch_norm_epsilon);
  of.gamma = stored_value(Dtype::fp32, gamma_seed, static_cast<std::uint64_t>(channel));
  of.beta = stored_value(Dtype::fp32, beta_seed, static_cast<std::uint64_t>(channel));
  for (std::int64_t i = 0; is_backward && i < geometry.per_channel; ++i) {
    const std::uint64_t index = index_of(geometry, channel, i);
    const double dy = stored_value(dtype, dy_seed, index);
    const double product = dy * (stored_value(dtype, x_seed, index) - of.mean) * of.inv_std;
    of.dbeta += dy;
    of.dbeta_magnitude += std::abs(dy);
    of.dgamma += product;
    of.dgamma_magnitude += std::abs(product);
  }
  return of;
}

double largest_error(const VectorWork& work, const Geometry& geometry, const Operands& operands,
                     bool is_backward) {
  const std::string name = "batch_norm " + work.variant + (is_backward ? " backward" : " forward");
  ReferenceCheck values(name, Dtype::fp32, work.dtype);
  ReferenceCheck gradients(name + ", dgamma and dbeta", Dtype::fp32);
  constexpr std::int64_t most_values = 1 << 20;
  const auto channels = static_cast<int>(std::clamp<std::int64_t>(most_values / geometry.per_channel, 1, 8));
  const auto count = static_cast<double>(geometry.per_channel);
  for (const std::uint64_t c : sample_positions(static_cast<std::uint64_t>(geometry.channels), channels)) {
    const auto channel = static_cast<std::int64_t>(c);
    const Reference of = reference_of(geometry, work.dtype, channel, is_backward);
    for (const std::uint64_t i : sample_positions(static_cast<std::uint64_t>(geometry.per_channel), 16)) {
      const std::uint64_t index = index_of(geometry, channel, static_cast<std::int64_t>(i));
      const double got = value_at(operands.out[0], index, work.dtype);
      const double hat = (stored_value(work.dtype, x_seed, index) - of.mean) * of.inv_std;
      if (!is_backward) {
        values.compare(index, got, hat * of.gamma + of.beta, std::abs(hat * of.gamma) + std::abs(of.beta));
        continue;
      }
      const double dy = stored_value(work.dtype, dy_seed, index);
      const double scale = of.gamma * of.inv_std;
      values.compare(index, got, scale * (dy - of.dbeta / count - hat * of.dgamma / count),
                     std::abs(scale) * (std::abs(dy) + of.dbeta_magnitude / count +
                                        std::abs(hat) * of.dgamma_magnitude / count));
    }
    if (!is_backward) continue;
    gradients.compare(c, value_at(operands.dbeta.data(), c, Dtype::fp32), of.dbeta, of.dbeta_magnitude);
    gradients.compare(c, value_at(operands.dgamma.data(), c, Dtype::fp32), of.dgamma, of.dgamma_magnitude);
  }
  return std::max(values.error(), gradients.error());
}

}  // namespace

PreparedKernel prepare_batch_norm_forward(const VectorWork& work) {
  const Geometry geometry = geometry_of(work);
  const auto operands = make_operands(work, false);
  return {launch_of<BatchNormForward>(work.dtype, geometry, operands),
          [=] { return largest_error(work, geometry, *operands, false); }};
}

PreparedKernel prepare_batch_norm_backward(const VectorWork& work) {
  const Geometry geometry = geometry_of(work);
  const auto operands = make_operands(work, true);
  // mean and deviation, which are the same in every copy; y goes where dx will be
  launch_of<BatchNormForward>(work.dtype, geometry, operands)(0, nullptr);
  CHECK_CUDA(cudaDeviceSynchronize());
  return {launch_of<BatchNormBackward>(work.dtype, geometry, operands),
          [=] { return largest_error(work, geometry, *operands, true); }};
}

}  // namespace trainyard::cuda
