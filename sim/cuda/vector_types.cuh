#pragma once
// 16-byte loads and stores of values of a data type, for kernels limited by memory bandwidth. Arithmetic is
// done in fp32.

#include "dtype.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace trainyard::cuda {

/// Values in 16 bytes, the widest access that every GPU has.
template <typename T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

/// Values that one instruction loads or stores. The address must be a multiple of 16: buffers are aligned to
/// 256 bytes, so this holds at every multiple of pack_size values.
template <typename T>
struct alignas(16) Pack {
  T values[pack_size<T>];
};

template <typename T>
__device__ const Pack<T>* as_packs(const T* values) {
  return reinterpret_cast<const Pack<T>*>(values);
}
template <typename T>
__device__ Pack<T>* as_packs(T* values) {
  return reinterpret_cast<Pack<T>*>(values);
}

template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls `function` with the TypeTag of the type in which values of `dtype` are stored.
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
