#pragma once
// The data of every measurement: a fixed function of an index, the same on the GPU and on the host, so that a
// reference can be computed for any single output value without copying an operand back.

#include <cstdint>

#ifdef __CUDACC__
#define TRAINYARD_HOST_DEVICE __host__ __device__
#else
#define TRAINYARD_HOST_DEVICE
#endif

namespace trainyard::cuda {

/// 64 well mixed bits of `seed` and `index`: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
TRAINYARD_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = index + (seed + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Uniform in [-1, 1), a multiple of 2^-23: exact in fp32. All mantissa bits vary, as in training: with
/// simple numbers a GPU would draw less power and run faster.
TRAINYARD_HOST_DEVICE inline float random_value(std::uint64_t seed, std::uint64_t index) {
  const auto bits = static_cast<std::int32_t>(random_bits(seed, index) >> 40U);  // 24 of them
  return static_cast<float>(bits - (1 << 23)) * 0x1p-23F;
}

}  // namespace trainyard::cuda
