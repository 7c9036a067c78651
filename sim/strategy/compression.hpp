#pragma once
// The data a rank sends per gradient if it sends it to every other rank itself, and the GPU's work for it:
// preparing the update, and summing the updates of all ranks.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace trainyard {

enum class Compression { none, fp16, top_k };

/// One rank's update of a bucket. A kernel is given by the bytes it moves through the GPU's memory.
struct PeerUpdate {
  Bytes bytes;                ///< to each other rank
  std::vector<Bytes> before;  ///< kernels that make the update
  std::vector<Bytes> after;   ///< kernels that sum the updates of all ranks
};

/// The update for `values` gradient values of `value` bytes each, exchanged between `ranks`; `keep` is the
/// part of the values that top_k sends, rounded to whole values, at least one.
/// - none: the gradients; one pass sums them.
/// - fp16: 2 bytes per value; a cast before, the cast back is part of the sum.
/// - top_k: values with indices of 4 bytes. Before: error feedback (values not sent earlier are added and
///   kept back: read gradient and rest, write rest), magnitudes, a radix select with 8 bits a pass, one pass
///   that collects the indices, one that takes the values out of the rest. After: zeros, then the values of
///   all ranks added at their indices.
/// Scattered accesses touch sectors of 32 bytes (NVIDIA CUDA C++ best practices guide, "Coalesced access to
/// global memory"), at most all sectors of the bucket.
/// Source of the select: PyTorch aten/src/ATen/native/cuda/TensorTopK.cu, mbtopk (from 1.13 on): RADIX_BITS
/// 8, one pass for each 8 bits of a value, gatherTopK reads once more. Assumed: a separate kernel writes the
/// magnitudes, as in torch.topk(tensor.abs(), k), and nothing else is fused.
PeerUpdate peer_update(double values, Bytes value, int ranks, Compression compression, double keep);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Compression> {
  static constexpr std::string_view what = "compression";
  static constexpr std::array table{
      Name{"none", Compression::none, "gradients are not compressed"},
      Name{"fp16", Compression::fp16, "2 bytes per value"},
      Name{"top_k", Compression::top_k,
           "the largest values and their indices; the others are kept for later updates"}};
};

}  // namespace trainyard::config
