#pragma once
// The updates of the optimizers on flat fp32 buffers, per parameter, and the kernel that applies one.

#include "random_value.hpp"
#include "vector_types.cuh"

#include <cstdint>

namespace trainyard::cuda {

inline constexpr int update_threads = 256;

/// What an update reads and writes; `result` may be `weight`. Unused ones are null.
struct FlatArrays {
  const float* weight;
  const float* gradient;
  float* result;
  float* m;
  float* v;
};

/// m = mu m + g, w = w - rate m. Source: Sutskever et al., "On the importance of initialization and momentum
/// in deep learning", ICML 2013, in the form that PyTorch's SGD documents.
struct Momentum {
  static constexpr int states = 1;
  static constexpr double mu = 0.9;
  static constexpr double rate = 1e-3;

  __device__ void begin() {}
  __device__ float operator()(float weight, float gradient, float& m, float&) const {
    m = static_cast<float>(mu) * m + gradient;
    return weight - static_cast<float>(rate) * m;
  }
};

/// The moments that Adam and LAMB share, with the correction of their bias at step 10: any step costs the
/// same. Source: Kingma and Ba, "Adam", arXiv:1412.6980, algorithm 1.
struct Moments {
  static constexpr double beta1 = 0.9;
  static constexpr double beta2 = 0.999;
  static constexpr double epsilon = 1e-6;
  static constexpr double correction1 = 1 / (1 - 0.34867844010);  // 1 / (1 - beta1^10)
  static constexpr double correction2 = 1 / (1 - 0.99004488020);  // 1 / (1 - beta2^10)

  /// m-hat / (sqrt(v-hat) + epsilon)
  template <typename Real>
  TRAINYARD_HOST_DEVICE static Real advance(Real gradient, Real& m, Real& v) {
    m = Real(beta1) * m + Real(1 - beta1) * gradient;
    v = Real(beta2) * v + Real(1 - beta2) * gradient * gradient;
    return m * Real(correction1) / (sqrt(v * Real(correction2)) + Real(epsilon));
  }
};

struct Adam {
  static constexpr int states = 2;
  static constexpr double rate = 1e-3;

  __device__ void begin() {}
  __device__ float operator()(float weight, float gradient, float& m, float& v) const {
    return weight - static_cast<float>(rate) * Moments::advance(gradient, m, v);
  }
};

/// Sums of squares over the whole buffer, of which LAMB needs the roots.
struct LambSums {
  const float* gradient;
  const float* weight;
  const float* update;
};

struct Lamb {
  static constexpr double rate = 1e-3;
  static constexpr double weight_decay = 0.01;
  static constexpr double largest_gradient = 1;  ///< the norm that gradients are clipped to
};

/// Clips the gradient, advances the moments, result = Adam's quotient + weight_decay w. Source: You et al.,
/// "Large batch optimization for deep learning", arXiv:1904.00962, algorithm 2; the clipping and the order of
/// the passes as in NVIDIA apex, apex/optimizers/fused_lamb.py.
struct LambStage1 {
  static constexpr int states = 2;
  LambSums sums;
  float clip = 1;

  __device__ void begin() {
    clip = 1.0F / fmaxf(sqrtf(*sums.gradient) / static_cast<float>(Lamb::largest_gradient), 1.0F);
  }
  __device__ float operator()(float weight, float gradient, float& m, float& v) const {
    return Moments::advance(gradient * clip, m, v) + static_cast<float>(Lamb::weight_decay) * weight;
  }
};

/// w = w - rate |w| / |u| u, where the gradient's place holds the update u.
struct LambStage2 {
  static constexpr int states = 0;
  LambSums sums;
  float step = 0;

  __device__ void begin() {
    const float weight = sqrtf(*sums.weight);
    const float update = sqrtf(*sums.update);
    const float ratio = weight > 0 && update > 0 ? weight / update : 1.0F;
    step = static_cast<float>(Lamb::rate) * ratio;
  }
  __device__ float operator()(float weight, float update, float&, float&) const {
    return weight - step * update;
  }
};

template <typename Update>
__device__ void update_one(const FlatArrays& arrays, std::int64_t i, const Update& update) {
  float m = Update::states > 0 ? arrays.m[i] : 0.0F;
  float v = Update::states > 1 ? arrays.v[i] : 0.0F;
  arrays.result[i] = update(arrays.weight[i], arrays.gradient[i], m, v);
  if constexpr (Update::states > 0) arrays.m[i] = m;
  if constexpr (Update::states > 1) arrays.v[i] = v;
}

template <typename Update>
__global__ void __launch_bounds__(update_threads)
    apply_update(FlatArrays arrays, std::int64_t elements, Update update) {
  constexpr int size = pack_size<float>;
  update.begin();
  const std::int64_t packs = elements / size;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * update_threads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * update_threads + threadIdx.x;
  for (std::int64_t i = thread; i < packs; i += step) {
    const auto weight = as_packs(arrays.weight)[i];
    const auto gradient = as_packs(arrays.gradient)[i];
    Pack<float, size> m{};
    Pack<float, size> v{};
    if constexpr (Update::states > 0) m = as_packs(arrays.m)[i];
    if constexpr (Update::states > 1) v = as_packs(arrays.v)[i];
    Pack<float, size> result;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      result.values[k] = update(weight.values[k], gradient.values[k], m.values[k], v.values[k]);
    }
    as_packs(arrays.result)[i] = result;
    if constexpr (Update::states > 0) as_packs(arrays.m)[i] = m;
    if constexpr (Update::states > 1) as_packs(arrays.v)[i] = v;
  }
  const std::int64_t tail = packs * size + thread;
  if (tail < elements) update_one(arrays, tail, update);
}

}  // namespace trainyard::cuda
