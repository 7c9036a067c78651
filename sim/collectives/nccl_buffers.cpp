#include "collectives/nccl_buffers.hpp"

#include <cmath>

namespace trainyard {
namespace {

constexpr double mebibyte = 1024.0 * 1024;
constexpr Bytes allocation_unit{2 * mebibyte};
constexpr int neighbours = 2;
constexpr int buffer_steps = 8;  // NCCL_STEPS

/// A buffer of each step for every thread.
constexpr Bytes step_buffers(int threads, int values_per_thread, int value) {
  return Bytes(1.0 * buffer_steps * threads * values_per_thread * value);
}

constexpr Bytes simple_buffer{4 * mebibyte};
constexpr Bytes low_latency_2_4 = step_buffers(256, 8, 16);  // 8 lines of 16 bytes
constexpr Bytes low_latency = step_buffers(512, 8, 16);
constexpr Bytes low_latency_128 = step_buffers(640, 120, 8);

Bytes allocated(Bytes size) { return std::ceil(size / allocation_unit) * allocation_unit; }

/// The receiver's buffers and the sender's flags.
Bytes connection(NcclVersion version) {
  if (version == NcclVersion::v2_4)
    return allocated(simple_buffer + low_latency_2_4);  // its flags share a unit
  return allocated(simple_buffer + low_latency + low_latency_128) + allocation_unit;
}

}  // namespace

Bytes nccl_buffers(NcclVersion version, int channels) {
  if (version == NcclVersion::none) return {};
  return static_cast<double>(channels * neighbours) * connection(version);
}

}  // namespace trainyard
