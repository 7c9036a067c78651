#pragma once
// Batch normalisation of [image][channel][value of the image]. A block works on one channel, on a range of
// its values in the order of the images.

#include "batch_norm.cuh"
#include "grid.cuh"
#include "group_reduce.cuh"

#include <algorithm>

namespace trainyard::cuda {

inline constexpr int nchw_threads = 256;

/// Counts in packs of `size` values: one unless the images are whole 16-byte packs.
struct NchwLayout {
  int channels;
  int splits;               ///< blocks per channel
  std::int64_t plane;       ///< packs of one channel of one image
  std::int64_t of_channel;  ///< of one channel of all images
  std::int64_t chunk;       ///< of one block
};

/// Walks through a channel's packs in steps of nchw_threads without a division per step.
class PlaneCursor {
public:
  __device__ PlaneCursor(const NchwLayout& layout, int channel, std::int64_t pack)
      : plane_(layout.plane), gap_((layout.channels - 1) * layout.plane) {
    const std::int64_t image = pack / plane_;
    position_ = pack - image * plane_;
    offset_ = (image * layout.channels + channel) * plane_ + position_;
    const std::int64_t planes = nchw_threads / plane_;
    step_ = nchw_threads - planes * plane_;
    stride_ = nchw_threads + planes * gap_;
  }
  /// From the start of the tensor, in packs.
  __device__ std::int64_t offset() const { return offset_; }
  __device__ void advance() {
    position_ += step_;
    offset_ += stride_;
    if (position_ >= plane_) {
      position_ -= plane_;
      offset_ += gap_;
    }
  }

private:
  std::int64_t plane_;
  std::int64_t gap_;  ///< packs of the other channels between two images
  std::int64_t position_;
  std::int64_t offset_;
  std::int64_t step_;
  std::int64_t stride_;
};

/// The packs of a channel from `begin` to `end`: calls use(x, dy, offset) for the thread's share of them,
/// with several loads under way at a time.
template <typename Direction, int size, typename T, typename Use>
__device__ void for_packs(const BatchNormData<T>& data, const NchwLayout& layout, int channel,
                          std::int64_t begin, std::int64_t end, Use use) {
  constexpr int unroll = Direction::reads_gradient ? 2 : 4;
  PlaneCursor cursor(layout, channel, begin + threadIdx.x);
  for (std::int64_t first = begin + threadIdx.x; first < end; first += unroll * nchw_threads) {
    Pack<T, size> x[unroll];
    Pack<T, size> dy[unroll];
    std::int64_t offset[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      offset[u] = cursor.offset();
      cursor.advance();
      if (first + u * nchw_threads >= end) continue;
      x[u] = as_packs<T, size>(data.x)[offset[u]];
      if constexpr (Direction::reads_gradient) dy[u] = as_packs<T, size>(data.dy)[offset[u]];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (first + u * nchw_threads >= end) break;
      float x_values[size];
      float dy_values[size] = {};
      unpack(x[u], x_values);
      if constexpr (Direction::reads_gradient) unpack(dy[u], dy_values);
      use(x_values, dy_values, offset[u]);
    }
  }
}

template <typename Direction, int size, typename T>
__global__ void __launch_bounds__(nchw_threads) nchw_sums(BatchNormData<T> data, NchwLayout layout) {
  const int channel = static_cast<int>(blockIdx.x) / layout.splits;
  const int split = static_cast<int>(blockIdx.x) % layout.splits;
  const float centre = Direction::centre(data, channel, data.x[channel * layout.plane * size]);
  float sums[2] = {};
  const std::int64_t begin = split * layout.chunk;
  const std::int64_t end = min(begin + layout.chunk, layout.of_channel);
  for_packs<Direction, size>(data, layout, channel, begin, end,
                             [&](const float(&x)[size], const float(&dy)[size], std::int64_t) {
#pragma unroll
                               for (int v = 0; v < size; ++v) {
                                 Direction::accumulate(x[v], dy[v], centre, sums[0], sums[1]);
                               }
                             });
  block_reduce<nchw_threads>(sums, Sum{});
  float2* partials = data.partials + static_cast<std::int64_t>(channel) * layout.splits;
  if (threadIdx.x == 0) partials[split] = {sums[0], sums[1]};
  if (!is_last_block(data.counters + channel, static_cast<unsigned>(layout.splits))) return;
  sums[0] = sums[1] = 0;
  for (int i = static_cast<int>(threadIdx.x); i < layout.splits; i += nchw_threads) {
    const float2 partial = __ldcg(partials + i);
    sums[0] += partial.x;
    sums[1] += partial.y;
  }
  block_reduce<nchw_threads>(sums, Sum{});
  if (threadIdx.x == 0) Direction::finish(data, channel, centre, {sums[0], sums[1]});
}

template <typename Direction, int size, typename T>
__global__ void __launch_bounds__(nchw_threads) nchw_apply(BatchNormData<T> data, NchwLayout layout) {
  const int channel = static_cast<int>(blockIdx.x) / layout.splits;
  const int split = static_cast<int>(blockIdx.x) % layout.splits;
  const float4 coefficients = data.channel.coefficients[channel];
  const std::int64_t begin = split * layout.chunk;
  const std::int64_t end = min(begin + layout.chunk, layout.of_channel);
  for_packs<Direction, size>(data, layout, channel, begin, end,
                             [&](const float(&x)[size], const float(&dy)[size], std::int64_t offset) {
                               float out[size];
#pragma unroll
                               for (int v = 0; v < size; ++v) {
                                 out[v] = normalised<Direction>(x[v], dy[v], coefficients);
                               }
                               as_packs<T, size>(data.out)[offset] = packed<T>(out);
                             });
}

/// Enough blocks for four waves, and at least four packs for each thread of a block where there are so many.
template <typename Direction, int size, typename T>
NchwLayout nchw_layout(int channels, std::int64_t plane_values, std::int64_t per_channel) {
  constexpr std::int64_t waves = 4;
  const std::int64_t packs = per_channel / size;
  const std::int64_t blocks = waves * resident_blocks(nchw_sums<Direction, size, T>, nchw_threads);
  const std::int64_t most = divide_up(packs, 4 * nchw_threads);
  const std::int64_t splits = std::clamp<std::int64_t>(divide_up(blocks, channels), 1, most);
  const std::int64_t chunk = divide_up(packs, splits);
  return {channels, static_cast<int>(divide_up(packs, chunk)), plane_values / size, packs, chunk};
}

/// Enqueues both kernels.
template <typename Direction, int size, typename T>
void launch_nchw(const BatchNormData<T>& data, const NchwLayout& layout, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(layout.channels * layout.splits);
  nchw_sums<Direction, size><<<blocks, nchw_threads, 0, stream>>>(data, layout);
  CHECK_CUDA(cudaGetLastError());
  nchw_apply<Direction, size><<<blocks, nchw_threads, 0, stream>>>(data, layout);
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace trainyard::cuda
