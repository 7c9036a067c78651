#pragma once
// How PyTorch's nn.DataParallel combines small tensors: the parameters that GPU 0 broadcasts before a step,
// and the gradients that return to it.

#include "strategy/buckets.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// Buffers that close once they reach the limit, so they exceed it by up to one tensor. Source: PyTorch
/// torch/csrc/cuda/comm.cpp, broadcast_coalesced; torch/csrc/utils/tensor_flatten.cpp, take_tensors.
/// `tensors`: in the order of the model's parameters; each value has `value` bytes.
std::vector<Bucket> broadcast_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value);

/// Buffers that stay within the limit; a larger tensor goes alone. Source: PyTorch torch/nn/parallel/comm.py,
/// reduce_add_coalesced; torch/_utils.py, _take_tensors.
std::vector<Bucket> reduce_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value);

}  // namespace trainyard
