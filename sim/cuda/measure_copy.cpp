// Copies between host and GPU, inside the GPU, and to another GPU.

#include "host_memory.hpp"
#include "measure.hpp"
#include "on_device.hpp"
#include "rotation.cuh"
#include "stream.cuh"
#include "timer.cuh"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t seed = 1;

/// The host's side of a copy.
class HostBuffer {
public:
  HostBuffer(std::size_t bytes, bool pinned)
      : pinned_(pinned ? bytes : 0), pageable_(pinned ? 0 : bytes), pinned_is_used_(pinned) {}

  [[nodiscard]] char* data() {
    return pinned_is_used_ ? static_cast<char*>(pinned_.data()) : pageable_.data();
  }

private:
  PinnedBuffer pinned_;
  std::vector<char> pageable_;  // its pages exist, because they are written at its creation
  bool pinned_is_used_;
};

/// Throws WrongResult unless the copied bytes equal those of fill_words.
void require_copied(const char* what, const char* got, std::size_t bytes) {
  std::vector<char> expected(bytes);
  fill_words(expected.data(), bytes, seed);
  const auto [wrong, right] = std::mismatch(got, got + bytes, expected.begin());
  if (right == expected.end()) return;
  throw WrongResult(std::string(what) + ": byte " + std::to_string(wrong - got) + " differs from the source");
}

void require_copied_to(const char* what, const void* device, std::size_t bytes) {
  std::vector<char> got(bytes);
  read_back(got.data(), device, bytes);
  require_copied(what, got.data(), bytes);
}

void fill_device(const ColdBuffers& buffers) {
  std::vector<char> words(buffers.bytes());
  fill_words(words.data(), words.size(), seed);
  for (int copy = 0; copy < buffers.copies(); ++copy) {
    CHECK_CUDA(cudaMemcpy(buffers[copy], words.data(), words.size(), cudaMemcpyHostToDevice));
  }
  // for pageable memory it returns when the last part is staged, and this program's streams do not wait for
  // the default one
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
}

Measurement exact(const Timing& timing) {
  Measurement result = to_measurement(timing);
  result.error = 0;
  return result;
}

/// The driver's own copying of pageable memory is part of the time, so the host's part is not hidden there.
HostPart host_part(bool pinned) { return pinned ? HostPart::hidden : HostPart::timed; }

Outcome host_to_device(std::size_t bytes, bool pinned) {
  HostBuffer source(bytes, pinned);
  fill_words(source.data(), bytes, seed);
  const ColdBuffers target(bytes, cold_copies(bytes));
  fill_zero(target);
  const Stream stream;
  const Timing timing = time_on_gpu(
      [&](int repetition, cudaStream_t on) {
        CHECK_CUDA(cudaMemcpyAsync(target[repetition], source.data(), bytes, cudaMemcpyHostToDevice, on));
      },
      stream.get(), host_part(pinned));
  require_copied_to("copy to the GPU", target[0], bytes);
  return exact(timing);
}

Outcome device_to_host(std::size_t bytes, bool pinned) {
  HostBuffer target(bytes, pinned);
  std::fill_n(target.data(), bytes, char{0});
  const ColdBuffers source(bytes, cold_copies(bytes));
  fill_device(source);
  const Stream stream;
  const Timing timing = time_on_gpu(
      [&](int repetition, cudaStream_t on) {
        CHECK_CUDA(cudaMemcpyAsync(target.data(), source[repetition], bytes, cudaMemcpyDeviceToHost, on));
      },
      stream.get(), host_part(pinned));
  require_copied("copy to the host", target.data(), bytes);
  return exact(timing);
}

Outcome device_to_device(std::size_t bytes) {
  const int copies = cold_copies(2 * bytes);
  const ColdBuffers source(bytes, copies);
  const ColdBuffers target(bytes, copies);
  fill_device(source);
  fill_zero(target);
  const Stream stream;
  const Timing timing = time_on_gpu(
      [&](int repetition, cudaStream_t on) {
        CHECK_CUDA(
            cudaMemcpyAsync(target[repetition], source[repetition], bytes, cudaMemcpyDeviceToDevice, on));
      },
      stream.get());
  require_copied_to("copy inside the GPU", target[0], bytes);
  return exact(timing);
}

/// The first GPU in number that `device` reads and writes directly.
std::optional<int> find_peer(int device) {
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  for (int peer = 0; peer < count; ++peer) {
    int reachable = 0;
    if (peer != device) CHECK_CUDA(cudaDeviceCanAccessPeer(&reachable, device, peer));
    if (reachable != 0) return peer;
  }
  return std::nullopt;
}

ColdBuffers buffers_on(int device, std::size_t bytes, int copies) {
  const OnDevice there(device);
  ColdBuffers buffers(bytes, copies);
  fill_zero(buffers);
  return buffers;
}

Outcome to_peer(std::size_t bytes) {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  const std::optional<int> peer = find_peer(device);
  if (!peer) return Skipped{"no other GPU can be reached directly"};
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(*peer, 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();  // an earlier row has enabled it
  } else {
    CHECK_CUDA(enabled);
  }

  const int copies = cold_copies(bytes);
  const ColdBuffers source(bytes, copies);
  fill_device(source);
  const ColdBuffers target = buffers_on(*peer, bytes, copies);
  const Stream stream;
  const Timing timing = time_on_gpu(
      [&](int repetition, cudaStream_t on) {
        CHECK_CUDA(cudaMemcpyPeerAsync(target[repetition], *peer, source[repetition], device, bytes, on));
      },
      stream.get());
  require_copied_to("copy to another GPU", target[0], bytes);
  return exact(timing);
}

}  // namespace

Outcome measure_copy(const Request& request) {
  const auto bytes = static_cast<std::size_t>(request.bytes);
  if (request.variant == "h2d_pinned") return host_to_device(bytes, true);
  if (request.variant == "h2d_pageable") return host_to_device(bytes, false);
  if (request.variant == "d2h_pinned") return device_to_host(bytes, true);
  if (request.variant == "d2h_pageable") return device_to_host(bytes, false);
  if (request.variant == "d2d") return device_to_device(bytes);
  if (request.variant == "peer") return to_peer(bytes);
  throw MeasurementFailed("unknown copy '" + request.variant + "'");
}

}  // namespace trainyard::cuda
