#pragma once
// The work of a convolution or a matrix product of a given shape: the two numbers of every roofline.

#include "compute/dtype.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <optional>

namespace trainyard {

struct Work {
  Flops flops;  ///< multiplications and additions counted separately
  Bytes bytes;  ///< operands and result once each
};

/// Height and width of a convolution's output.
struct ImageSize {
  int height = 0, width = 0;
};
ImageSize output_size(const ConvShape& shape);

/// Each of the three passes does the same work: 2 N P Q K C R S / groups operations.
Work work_of(const ConvShape& shape, Dtype dtype);
/// 2 m n k operations, `batch` times.
Work work_of(const GemmShape& shape, Dtype dtype);

/// Passes over a normalisation's or a softmax's values, as layers of models count them (workload/layer.hpp):
/// batch norm reads its input twice and writes, and in backward reads input and gradient twice and writes.
/// Two over the rows of an embedding. Nothing for kinds whose bytes do not follow from one number of values.
std::optional<double> passes_over_values(OpKind kind, Phase phase);

}  // namespace trainyard
