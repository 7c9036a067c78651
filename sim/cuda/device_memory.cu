#include "device_memory.cuh"

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace trainyard::cuda {
namespace {

template <typename T>
__device__ T to_stored(float value);
template <>
__device__ float to_stored(float value) {
  return value;
}
template <>
__device__ __half to_stored(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __nv_bfloat16 to_stored(float value) {
  return __float2bfloat16_rn(value);
}

template <typename T>
__global__ void fill(T* data, std::size_t elements, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    data[i] = to_stored<T>(random_value(seed, i));
  }
}

template <typename T>
void launch_fill(void* data, std::size_t elements, std::uint64_t seed) {
  constexpr std::size_t threads = 256;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>((elements + threads - 1) / threads, 4096));
  fill<<<blocks, threads>>>(static_cast<T*>(data), elements, seed);
  CHECK_CUDA(cudaGetLastError());
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  int value = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// `value` rounded to the type, to nearest even.
double rounded(double value, Dtype dtype) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return single;
    case Dtype::fp16:
      return __half2float(__float2half_rn(single));
    case Dtype::bf16:
      return __bfloat162float(__float2bfloat16_rn(single));
  }
  return value;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes > 0) CHECK_CUDA(cudaMalloc(&data_, bytes));
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) (void)cudaFree(data_);
}

void fill_random(void* data, std::size_t elements, Dtype dtype, std::uint64_t seed) {
  if (elements == 0) return;
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      launch_fill<float>(data, elements, seed);
      break;
    case Dtype::fp16:
      launch_fill<__half>(data, elements, seed);
      break;
    case Dtype::bf16:
      launch_fill<__nv_bfloat16>(data, elements, seed);
      break;
  }
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
}

void fill_random(const DeviceBuffer& buffer, Dtype dtype, std::uint64_t seed) {
  fill_random(buffer.data(), buffer.bytes() / size_of(dtype), dtype, seed);
}

void fill_zero(void* data, std::size_t bytes) {
  if (bytes == 0) return;
  CHECK_CUDA(cudaMemset(data, 0, bytes));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
}

double stored_value(Dtype dtype, std::uint64_t seed, std::uint64_t index) {
  return rounded(random_value(seed, index), dtype);
}

double value_at(const void* data, std::size_t index, Dtype dtype) {
  const void* place = static_cast<const char*>(data) + index * size_of(dtype);
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32: {
      float value = 0;
      read_back(&value, place, 1);
      return value;
    }
    case Dtype::fp16: {
      __half value;
      read_back(&value, place, 1);
      return __half2float(value);
    }
    case Dtype::bf16: {
      __nv_bfloat16 value;
      read_back(&value, place, 1);
      return __bfloat162float(value);
    }
  }
  return 0;
}

int compute_capability() {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
}

std::size_t l2_bytes() { return static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize)); }

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

}  // namespace trainyard::cuda
