#pragma once
// Host memory for copies from and to the GPU.

#include "check_cuda.cuh"
#include "random_value.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trainyard::cuda {

/// Page-locked bytes, which the GPU's copy engine reads and writes by itself. Throws OutOfMemory.
class PinnedBuffer {
public:
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) CHECK_CUDA(cudaMallocHost(&data_, bytes));
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Fills `bytes` bytes with the bits of random_bits(seed, 0), (seed, 1) ...
inline void fill_words(void* data, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random_bits(seed, at / sizeof(std::uint64_t));
    std::memcpy(static_cast<char*>(data) + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
  }
}

}  // namespace trainyard::cuda
