#pragma once
// Cold operands. In training an op's operands were written long before it runs; a benchmark that repeats one
// call on the same buffers finds them in the L2 cache and reports a bandwidth that training never reaches. So
// every operand exists several times, and repetition r works on copy r % copies.

#include "device_memory.cuh"

namespace trainyard::cuda {

/// The number of copies of one call's operands, `bytes` in all (reads plus writes): enough that together they
/// exceed twice the L2 cache, at least 1, at most 16, and not more than fit in 80 % of the free memory.
int cold_copies(std::size_t bytes);

/// `copies` buffers of the same size, each aligned to 256 bytes. Throws OutOfMemory.
class ColdBuffers {
public:
  ColdBuffers() = default;
  ColdBuffers(std::size_t bytes, int copies);

  /// The buffer for repetition `repetition`.
  [[nodiscard]] void* operator[](int repetition) const;
  template <typename T>
  [[nodiscard]] T* as(int repetition) const {
    return static_cast<T*>((*this)[repetition]);
  }
  [[nodiscard]] int copies() const { return copies_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< of one copy

private:
  DeviceBuffer memory_;
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;
  int copies_ = 1;
};

/// The same random values in every copy: value i is random_value(seed, i), rounded to the type.
void fill_random(const ColdBuffers& buffers, Dtype dtype, std::uint64_t seed);

/// Zeros in every copy.
void fill_zero(const ColdBuffers& buffers);

}  // namespace trainyard::cuda
