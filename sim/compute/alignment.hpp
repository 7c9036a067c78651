#pragma once
// Lengths of rows of matrices for which libraries have fast kernels: those read 16 bytes at once. Which
// lengths of a product count differs; the callers say why.

#include "units/quantity.hpp"

#include <algorithm>
#include <span>

namespace trainyard {

/// Values of `size` bytes in 16 bytes. Source: NVIDIA cuBLAS, "Tensor Core Usage".
inline int values_per_vector(Bytes size) { return static_cast<int>(Bytes(16) / size); }

/// Whether all lengths are multiples of so many values. Up to 8 values any kernel is fast.
inline bool are_aligned(std::span<const int> lengths, int multiple) {
  constexpr int shortest = 8;
  return std::ranges::all_of(lengths,
                             [&](int length) { return length <= shortest || length % multiple == 0; });
}

}  // namespace trainyard
