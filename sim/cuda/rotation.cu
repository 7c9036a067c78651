#include "rotation.cuh"

#include <algorithm>

namespace trainyard::cuda {

int cold_copies(std::size_t bytes) {
  if (bytes == 0) return 1;
  const std::size_t wanted = 2 * l2_bytes() / bytes + 1;
  const std::size_t fitting = free_bytes() / 10 * 8 / bytes;
  return static_cast<int>(std::clamp<std::size_t>(std::min(wanted, fitting), 1, 16));
}

ColdBuffers::ColdBuffers(std::size_t bytes, int copies)
    : bytes_(bytes), stride_((bytes + 255) / 256 * 256), copies_(copies) {
  memory_ = DeviceBuffer(stride_ * static_cast<std::size_t>(copies));
}

void* ColdBuffers::operator[](int repetition) const {
  return memory_.as<char>() + stride_ * static_cast<std::size_t>(repetition % copies_);
}

void fill_random(const ColdBuffers& buffers, Dtype dtype, std::uint64_t seed) {
  for (int copy = 0; copy < buffers.copies(); ++copy) {
    fill_random(buffers[copy], buffers.bytes() / size_of(dtype), dtype, seed);
  }
}

void fill_zero(const ColdBuffers& buffers) {
  for (int copy = 0; copy < buffers.copies(); ++copy) fill_zero(buffers[copy], buffers.bytes());
}

}  // namespace trainyard::cuda
