#pragma once
// Single values of a convolution, computed on the host from the definition.

#include "conv_tensors.hpp"

#include <functional>

namespace trainyard::cuda {

/// A sum of products, and the sum of their absolute values.
struct ConvSum {
  double value = 0;
  double magnitude = 0;
};

/// The value at an index of a tensor's memory.
using ValueAt = std::function<double(std::uint64_t index)>;

/// The operands of a pass. The tensor that the pass computes is never read.
struct ConvOperands {
  ValueAt x;
  ValueAt w;
  ValueAt y;
};

/// The result of the pass at `index` of its memory, in double precision: cross-correlation, as in all
/// frameworks, y[n,k,p,q] = sum over c,r,s of x[n,c,p*stride-pad+r,q*stride-pad+s] w[k,c,r,s] with c in k's
/// group, and its two gradients.
ConvSum conv_reference(ConvPass pass, const ConvShape& shape, const ConvTensors& tensors,
                       const ConvOperands& operands, std::uint64_t index);

/// Largest number of products in such a sum.
std::int64_t terms_of(ConvPass pass, const ConvShape& shape);

}  // namespace trainyard::cuda
