#pragma once
// What a rank sends of a gradient when it sends it to every other rank itself, and what the GPU does for it:
// the update before it goes out, the sum of all updates when they have come.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace trainyard {

enum class Compression { none, fp16, top_k };

/// One rank's update of a bucket. Kernels are the bytes that each moves through the GPU's memory.
struct PeerUpdate {
  Bytes bytes;                ///< that go to each other rank
  std::vector<Bytes> before;  ///< kernels that make the update
  std::vector<Bytes> after;   ///< kernels that add up the updates of all ranks
};

/// Of so many gradient values of `value` bytes each, exchanged between `ranks`; `keep` is the part of the
/// values that top_k sends, rounded to whole values, at least one.
/// - none: the gradients; they are added up in one pass.
/// - fp16: 2 bytes per value; a cast before, the cast back is part of the sum.
/// - top_k: values with indices of 4 bytes. Before: error feedback (what was not sent before is added and
/// kept
///   back: read gradient and rest, write rest), magnitudes, a radix select with 8 bits a pass, one pass that
///   collects the indices, one that takes the values out of the rest. After: zeros, then the values of all
///   ranks added where they belong.
/// Scattered accesses touch sectors of 32 bytes (NVIDIA CUDA C++ best practices guide, "Coalesced access to
/// global memory"), no more than there are.
/// Source of the select: PyTorch aten/src/ATen/native/cuda/TensorTopK.cu, mbtopk (from 1.13 on): RADIX_BITS
/// 8, one pass for each 8 bits of a value, gatherTopK reads once more. That magnitudes are written by a
/// kernel of their own, as torch.topk(tensor.abs(), k) does, and that nothing else is fused is assumed.
PeerUpdate peer_update(double values, Bytes value, int ranks, Compression compression, double keep);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Compression> {
  static constexpr std::string_view what = "compression";
  static constexpr std::array table{
      Name{"none", Compression::none, "gradients as they are"},
      Name{"fp16", Compression::fp16, "2 bytes per value"},
      Name{"top_k", Compression::top_k, "the largest values and where they belong; the others wait"}};
};

}  // namespace trainyard::config
