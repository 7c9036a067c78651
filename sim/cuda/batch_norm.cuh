#pragma once
// What batch normalisation does to a value, whatever the layout. Either direction is two kernels: one sums
// two quantities per channel, its last block for a channel turns the sums into the results per channel and
// into coefficients, and one computes out = a (x - centre) + b dy + c. The mathematics: Ioffe and Szegedy,
// "Batch normalization", ICML 2015, section 3.

#include "vector_types.cuh"

#include <cstdint>

namespace trainyard::cuda {

inline constexpr float batch_norm_epsilon = 1e-5F;

/// Arrays with a value per channel.
struct ChannelData {
  const float* gamma;
  const float* beta;
  float* mean;     ///< written by forward, read by backward
  float* inv_std;  ///< likewise: 1 / sqrt(variance + epsilon)
  float* dgamma;
  float* dbeta;
  float4* coefficients;  ///< a, b, c, centre
};

/// The values, and scratch memory of the first kernel.
template <typename T>
struct BatchNormData {
  const T* x;
  const T* dy;  ///< backward only
  T* out;       ///< y, or dx
  ChannelData channel;
  float2* partials;    ///< two sums per channel and split
  unsigned* counters;  ///< 0 before and after, one per channel
  std::int64_t per_channel;
};

/// Variance as the mean square of what is left after taking a value of the channel away: no cancellation
/// where the mean is far from 0, and still only one read.
struct BatchNormForward {
  static constexpr bool reads_gradient = false;

  template <typename T>
  __device__ static float centre(const BatchNormData<T>&, int, const T& first_of_channel) {
    return to_float(first_of_channel);
  }

  __device__ static void accumulate(float x, float, float centre, float& sum, float& square) {
    const float difference = x - centre;
    sum += difference;
    square += difference * difference;
  }

  template <typename T>
  __device__ static void finish(const BatchNormData<T>& data, int channel, float centre, float2 sums) {
    const auto count = static_cast<float>(data.per_channel);
    const float shift = sums.x / count;
    const float variance = fmaxf(sums.y / count - shift * shift, 0.0F);
    const float inv_std = 1.0F / sqrtf(variance + batch_norm_epsilon);
    const ChannelData& of = data.channel;
    of.mean[channel] = centre + shift;
    of.inv_std[channel] = inv_std;
    of.coefficients[channel] = {of.gamma[channel] * inv_std, 0.0F, of.beta[channel], centre + shift};
  }
};

/// dbeta = sum dy, dgamma = sum dy (x - mean) inv_std,
/// dx = gamma inv_std (dy - dbeta / n - (x - mean) inv_std dgamma / n).
struct BatchNormBackward {
  static constexpr bool reads_gradient = true;

  template <typename T>
  __device__ static float centre(const BatchNormData<T>& data, int channel, const T&) {
    return data.channel.mean[channel];
  }

  __device__ static void accumulate(float x, float dy, float centre, float& sum, float& product) {
    sum += dy;
    product += dy * (x - centre);
  }

  template <typename T>
  __device__ static void finish(const BatchNormData<T>& data, int channel, float centre, float2 sums) {
    const auto count = static_cast<float>(data.per_channel);
    const ChannelData& of = data.channel;
    const float inv_std = of.inv_std[channel];
    const float dgamma = sums.y * inv_std;
    const float b = of.gamma[channel] * inv_std;
    of.dgamma[channel] = dgamma;
    of.dbeta[channel] = sums.x;
    of.coefficients[channel] = {-b * inv_std * dgamma / count, b, -b * sums.x / count, centre};
  }
};

/// One value of the second kernel.
template <typename Direction>
__device__ float normalised(float x, float dy, const float4& coefficients) {
  const float result = coefficients.x * (x - coefficients.w) + coefficients.z;
  return Direction::reads_gradient ? result + coefficients.y * dy : result;
}

}  // namespace trainyard::cuda
