#pragma once
// What every kernel of ours is made of: 16-byte loads and stores of 2- and 4-byte values, and their
// conversion to fp32, in which all arithmetic is done.

#include "dtype.hpp"

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

namespace trainyard::cuda {

/// `count` values that one instruction loads or stores. Its address must be a multiple of its size: buffers
/// are aligned to 256 bytes, so this holds at every multiple of `count` values.
template <typename T, int count>
struct alignas(sizeof(T) * count) Pack {
  T values[count];
};

template <int count>
struct alignas(2 * count) Pack<__nv_bfloat16, count> {
  std::uint32_t words[count / 2];  ///< the even value in the low half
};
template <>
struct Pack<__nv_bfloat16, 1> {
  __nv_bfloat16 values[1];
};

/// Values in 16 bytes, the widest access that every GPU has.
template <typename T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

template <typename T, int count = pack_size<T>>
__device__ const Pack<T, count>* as_packs(const T* values) {
  return reinterpret_cast<const Pack<T, count>*>(values);
}
template <typename T, int count = pack_size<T>>
__device__ Pack<T, count>* as_packs(T* values) {
  return reinterpret_cast<Pack<T, count>*>(values);
}

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

template <typename T, int count>
__device__ void unpack(const Pack<T, count>& pack, float (&values)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) values[i] = to_float(pack.values[i]);
}
/// By words, which keeps a pack that waits for its use in half the registers.
template <int count>
__device__ void unpack(const Pack<__nv_bfloat16, count>& pack, float (&values)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::uint32_t word = pack.words[i / 2];
    values[i] = __uint_as_float(i % 2 == 0 ? word << 16U : word & 0xffff0000U);
  }
}
__device__ inline void unpack(const Pack<__nv_bfloat16, 1>& pack, float (&values)[1]) {
  values[0] = to_float(pack.values[0]);
}

template <typename T, int count>
__device__ Pack<T, count> packed(const float (&values)[count]) {
  Pack<T, count> pack;
  if constexpr (std::is_same_v<T, __nv_bfloat16> && count > 1) {
#pragma unroll
    for (int i = 0; i < count / 2; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
      pack.words[i] =
          static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.y)) << 16U | __bfloat16_as_ushort(pair.x);
    }
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) pack.values[i] = from_float<T>(values[i]);
  }
  return pack;
}

template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `function` with the TypeTag of the type that values of `dtype` are stored in.
template <typename Function>
auto with_stored_type(Dtype dtype, Function function) {
  switch (dtype) {
    case Dtype::fp16:
      return function(TypeTag<__half>{});
    case Dtype::bf16:
      return function(TypeTag<__nv_bfloat16>{});
    case Dtype::fp32:
    case Dtype::tf32:
      break;
  }
  return function(TypeTag<float>{});
}

}  // namespace trainyard::cuda
