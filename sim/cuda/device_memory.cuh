#pragma once
// Memory on the current GPU and its content: buffers that free themselves, random data, single values read
// back for comparison with a reference.

#include "check_cuda.cuh"
#include "dtype.hpp"
#include "random_value.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace trainyard::cuda {

/// Bytes on the GPU that was current at its creation, aligned to at least 256, not initialised. It can be
/// moved, not copied. Throws OutOfMemory.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Writes random_value(seed, i) as value i of `data` for i < elements, rounded to the type (tf32 is stored as
/// fp32). Returns when it is done, whatever streams exist.
void fill_random(void* data, std::size_t elements, Dtype dtype, std::uint64_t seed);
void fill_random(const DeviceBuffer& buffer, Dtype dtype, std::uint64_t seed);

/// Sets `bytes` bytes to 0. Returns when it is done.
void fill_zero(void* data, std::size_t bytes);

/// The value that fill_random stores at `index`, computed on the host: random_value rounded to the type.
double stored_value(Dtype dtype, std::uint64_t seed, std::uint64_t index);

/// Value `index` of `data`, read back. Waits for all work of the GPU first.
double value_at(const void* data, std::size_t index, Dtype dtype);

/// A copy of the whole buffer's `elements` values on the host, for small results.
template <typename T>
void read_back(T* host, const void* device, std::size_t elements) {
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaMemcpy(host, device, elements * sizeof(T), cudaMemcpyDeviceToHost));
}

/// 10 x major + minor of the current GPU.
int compute_capability();

/// Bytes of the current GPU's L2 cache.
std::size_t l2_bytes();

/// Bytes that can be allocated now.
std::size_t free_bytes();

}  // namespace trainyard::cuda
