#pragma once
// The work of a convolution or a matrix product of a given shape: the two numbers of every roofline.

#include "compute/dtype.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

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

}  // namespace trainyard
